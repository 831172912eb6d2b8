"""A job carried to its end: estimate, ask, resume, collect."""
