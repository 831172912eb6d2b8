"""The public functions, a file a subject."""
