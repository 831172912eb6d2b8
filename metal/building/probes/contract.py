"""Define a probe: a change of an output with a known effect on scores.

A probe is a `Probe` record, offered by an entry point of the group `metal.probes`. METAL declares
its own in pyproject.toml; another package adds one in the same way:

    [project.entry-points."metal.probes"]
    shouted = "my_package.shouted:PROBE"

    PROBE = Probe("shouted", BAIT, "capitals", lambda material, dose: material.text.upper(),
    capped=ASPECTS)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metal.errors import MetalError

# What a criterion looks at. overall: everything together.
LANGUAGE, CONTENT, TASK, FACTS, SAFETY, OVERALL = (
    "language",
    "content",
    "task",
    "facts",
    "safety",
    "overall",
)
ASPECTS = (LANGUAGE, CONTENT, TASK, FACTS, SAFETY, OVERALL)

# The aspects of criteria that METAL knows by name; those of others have to be told.
ASPECT_OF: Mapping[str, str] = {
    "linguistic_acceptability": LANGUAGE,
    "fluency": LANGUAGE,
    "grammaticality": LANGUAGE,
    "naturalness": LANGUAGE,
    "output_content_quality": CONTENT,
    "coherence": CONTENT,
    "task_quality": TASK,
    "relevance": TASK,
    "informativeness": TASK,
    "helpfulness": TASK,
    "adequacy": TASK,
    "hallucinations": FACTS,
    "consistency": FACTS,
    "faithfulness": FACTS,
    "factuality": FACTS,
    "problematic_content": SAFETY,
    "overall": OVERALL,
    "quality": OVERALL,
    "overall_quality": OVERALL,
    "direct_assessment": OVERALL,
}

# certain: anybody who reads the language sees the change. graded: it counts only where people were
# shown to see it.
# invariant: it changes nothing that matters. bait: it must not raise a score.
CERTAIN, GRADED, INVARIANT, BAIT = "certain", "graded", "invariant", "bait"
KINDS = (CERTAIN, GRADED, INVARIANT, BAIT)


class NotApplicable(MetalError):
    """Raised if a probe cannot change a text. The message gives the reason, in the same words for
    all texts.
    """


@dataclass(frozen=True)
class Others:
    """The texts of a language, except those at the positions in left_out. shared: a dictionary in
    which each probe can keep results about all texts; all `left_out` share it.
    """

    texts: Sequence[str]
    left_out: Collection[int] = ()
    shared: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return (text for index, text in enumerate(self.texts) if index not in self.left_out)


@dataclass(frozen=True)
class Material:
    """What a probe may use: the output's text, its language, its source's text.

    others: texts of other sources in the language. foreign: some texts in other languages; texts of
    the same content come first. rng: the only source of randomness; it depends on the output, the
    condition and the seed.
    """

    text: str
    language: str
    source: str
    others: Others
    foreign: Sequence[str]
    rng: np.random.Generator


@dataclass(frozen=True)
class Probe:
    """A change of outputs with a known effect. name: such as `words-deleted`. what: the change in
    words, for the middle of a sentence, such as `deleted words`. change: a function that returns
    the text changed at a dose, or raises NotApplicable.

    falls, stays, capped: the aspects (of ASPECTS) on which scores must fall, must stay, or must not
    rise. doses: shares of the text to change, from 0 to 1; empty if the change has no doses.
    of_source: whether the changed text is wrong only in relation to the source. Then scores on
    criteria that do not depend on the source (Criterion.of_source) need not fall.
    """

    name: str
    kind: str
    what: str
    change: Callable[[Material, float], str]
    falls: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    capped: tuple[str, ...] = ()
    doses: tuple[float, ...] = ()
    of_source: bool = False

    @property
    def conditions(self) -> dict[str, float]:
        """Condition -> dose, for every condition that the probe makes; the dose is 1 if there are
        no doses.
        """
        plain_name = self.name.replace("-", " ")
        return {f"{plain_name} {dose:.0%}": dose for dose in self.doses} or {plain_name: 1.0}

    def title(self, dose: float) -> str:
        """The title of a condition's outputs: `what`, with the dose if there are doses."""
        return f"{self.what} ({dose:.0%})" if self.doses else self.what


def change_share(count: int, dose: float, what: str, least: int = 1) -> int:
    """How many of `count` parts to change, so that their share is within 2 percentage points of the
    dose.

    Raises NotApplicable if no number of parts comes that close.
    """
    number = round(dose * count)
    if number < least or abs(number / count - dose) > TOLERANCE:
        raise NotApplicable(f"too few {what} for {dose:.0%}")
    return number


TOLERANCE = 0.02  # of a dose
