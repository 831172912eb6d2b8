"""The page of judges before and after."""
