"""Build a dataset: sample, generate, hand out tasks, take in answers."""
