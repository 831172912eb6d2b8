"""A job carried to its end: judge, generate, score."""
