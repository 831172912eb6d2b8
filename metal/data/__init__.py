"""Records, the ratings table and dataset folders, and how any table is read."""
