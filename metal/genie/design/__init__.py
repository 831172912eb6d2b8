"""Design studies: what labels are best spent on, how many are needed, and what they cost."""
