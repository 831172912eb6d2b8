"""The page of a passport."""
