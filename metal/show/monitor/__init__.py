"""The page of `metal monitor`, one file per section."""
