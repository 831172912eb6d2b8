"""The page of what judges may answer alone."""
