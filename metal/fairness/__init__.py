"""Whether a judge is fair between languages, and what sways it."""
