"""The page of a report on probes."""
