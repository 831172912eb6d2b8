"""Run folders and their tables, and the description of each kind of run."""
