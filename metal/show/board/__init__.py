"""The page of a board: a file a section."""
