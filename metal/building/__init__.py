"""Build a dataset: sample, generate, hand out tasks, import answers."""
