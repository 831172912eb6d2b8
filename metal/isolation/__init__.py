"""A stranger's metric: a Python file (see metal.metrics.own) that is run in a process of its own, shut in.

Each run is a new child: once to learn what the function is, then for the texts to score, all at once. Before the file
is run, the child gives up the network, all files but those it needs, other processes, and memory and time beyond its
limits (metal.isolation.confine), as far as the system allows; `protections` says what it came to here. What comes back
is text, never objects, and is checked as a stranger's.
"""

from __future__ import annotations

from metal.isolation.limits import Limits
from metal.isolation.metric import isolated_metric, protections

__all__ = ["Limits", "isolated_metric", "protections"]
