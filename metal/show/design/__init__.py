"""The page of a design study: a file a section."""
