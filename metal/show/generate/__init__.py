"""The page of generated texts."""
