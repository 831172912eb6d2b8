"""Building a meta-evaluation dataset (METAL section 3): sample, generate, annotate, describe."""
