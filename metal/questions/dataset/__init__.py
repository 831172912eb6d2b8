"""What a dataset contains."""
