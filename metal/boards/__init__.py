"""Raters ranked by their agreement with people, and generators ranked by such raters."""
