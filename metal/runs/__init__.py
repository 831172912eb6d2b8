"""Run folders and their tables; what a kind of run is."""
