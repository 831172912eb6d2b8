"""The page of `metal monitor`, a file a section."""
