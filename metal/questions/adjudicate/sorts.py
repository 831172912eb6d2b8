"""The names of the ways in which a plan can choose outputs."""

DISPUTED = "disputed"  # judge and people differ
AMBIGUOUS = "ambiguous"  # all people differ
BETWEEN = "between"  # two raters score them most differently
