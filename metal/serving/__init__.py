"""`metal serve`: studies and boards on the web, for several people at a time."""
