"""What `metal describe`, `check` and `compare` print of a dataset."""
