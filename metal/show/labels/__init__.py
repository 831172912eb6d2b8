"""The page of a plan of labels."""
