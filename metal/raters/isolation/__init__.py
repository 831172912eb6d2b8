"""A stranger's metric: a Python file (see metal.raters.metrics.own) that is run in a process of its own, shut in.

Each run is a new child: once to learn what the function is, then for the texts to score, all at once. Before the file
is run, the child gives up the network, all files but those it needs, other processes, and memory and time beyond its
limits (confine.py), as far as the system allows; `protections` says what it came to here. What comes back
is text, never objects, and is checked as a stranger's.
"""

from __future__ import annotations

from metal.raters.isolation.limits import Limits
from metal.raters.isolation.metric import isolated_metric, protections

__all__ = ["Limits", "isolated_metric", "protections"]
