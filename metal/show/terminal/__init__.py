"""The output that people read in a terminal."""
