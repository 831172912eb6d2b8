"""The page of corrected scores."""
