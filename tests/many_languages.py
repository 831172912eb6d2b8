"""A judge in many languages, like a person in some: what a list of them names. For tests/audit and
`make bench`.
"""

from __future__ import annotations

from collections.abc import Sequence

from metal.auditing.together import ERROR
from metal.stats.significance import benjamini_hochberg
from tests.hard_worlds import EQUAL, HardWorld

LANGUAGES = 40
# in turn, where the judge is not good
WORSE = ("-.20", "-.15, refuses the hardest", "constant", "80% constant")


def listed(world: HardWorld, good: int, seed: int, worse: Sequence[str] = WORSE) -> tuple[int, int]:
    """How many of the languages with a worse judge are listed, and how many of the first `good`."""
    p = []
    for language in range(LANGUAGES):
        kind = EQUAL if language < good else worse[language % len(worse)]
        p.append(world.verdicts(LANGUAGES * seed + language, (kind,))[kind].p_like)
    named = benjamini_hochberg(p) <= ERROR
    return int(named[good:].sum()), int(named[:good].sum())
