"""Ratings to come: what labels are best spent on, how many a verdict or a score needs, and what they cost."""
