"""Raters ranked by how they agree with people, generators by such raters."""
