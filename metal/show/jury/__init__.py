"""The page of several judges as one."""
