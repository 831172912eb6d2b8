"""Records, the ratings table, dataset folders, and reading any table."""
