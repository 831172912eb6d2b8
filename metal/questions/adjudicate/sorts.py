"""The names for what a plan draws."""

DISPUTED = "disputed"  # judge and people differ
AMBIGUOUS = "ambiguous"  # all people differ
BETWEEN = "between"  # two raters score them most differently
