"""The page of an audit of judges."""
