"""Statistics: arrays in, numbers out.

Conventions of the package:
- A class code is the position of a level on its scale (0, 1, ...); a negative code means no answer.
- Items with equal ratings form a *pattern* (patterns.py). Every statistic is a function of how
  often each pattern occurs: `weights` (..., patterns). The observed counts give the figure.
  Resampled counts (one row per bootstrap resample) give its interval, from the same line of code.
- NaN means undefined (0/0), never zero. Each function says when that happens.
"""
