"""People as raters: test questions, careless people, scores of outputs."""
