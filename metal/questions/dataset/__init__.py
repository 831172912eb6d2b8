"""What stands in a dataset."""
