"""The public functions, one file per subject."""
