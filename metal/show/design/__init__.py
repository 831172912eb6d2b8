"""The page of a design study."""
