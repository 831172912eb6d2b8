"""What public functions share, and the verbs that start work or move files."""
