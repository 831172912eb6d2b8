"""Statistics: arrays in, numbers out; no files, no network, no names of ours but the errors.

Conventions of the whole room:
- A class code is the position of a level on its scale (0, 1, ...); a negative code is no answer.
- Items with equal ratings form a *pattern* (patterns.py). Every statistic is a function of how often each
  pattern occurs: `weights` (..., patterns). The observed counts give the figure, resampled counts (one row a
  bootstrap resample) give its interval, through the same line of code.
- NaN means undefined (0/0), never zero. Each function says when that happens.
"""
