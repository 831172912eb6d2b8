"""The page of a language-bias audit."""
