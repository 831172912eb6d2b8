"""The mean scores in a harness's results, as its users know them: the scorers' means beside
people's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from metal.data.people import MEANS, people_in
from metal.data.records import Criterion, Rater
from metal.data.text import plural

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.formats import Draft

MOST_CRITERIA = 3  # in the note
MOST_RATERS = 3  # of each criterion, besides people


def note_on_means(draft: Draft) -> str:
    """A note with the mean scores on the first criteria; empty if there are none. For a criterion
    of fail and pass, the mean is the share that passed.
    """
    raters = {rater.rater: rater for rater in draft.raters}
    answered = draft.facts[draft.facts["score"].notna()]
    parts = []
    for criterion in draft.criteria:
        if criterion.scale.levels and criterion.scale.ends is None:
            continue  # labels without an order have no mean
        scores = answered[answered["criterion"] == criterion.name]
        listed = ", ".join(_of_criterion(criterion, scores, raters))
        if listed:
            parts.append(f"{criterion.name}: {listed}")
    more = "; ..." if len(parts) > MOST_CRITERIA else ""
    return f"{MEANS}{'; '.join(parts[:MOST_CRITERIA])}{more}" if parts else ""


def _of_criterion(
    criterion: Criterion, scores: pd.DataFrame, raters: Mapping[str, Rater]
) -> Iterator[str]:
    """The mean of each scorer, and of people together, with the number of outputs."""
    people = people_in(raters)
    scorers = [name for name in dict.fromkeys(scores["rater"]) if name not in people]
    groups = {name: [name] for name in scorers[:MOST_RATERS]} | {"people": people}
    pattern = "{:.0%}" if criterion.scale.values == (0, 1) else "{:.3g}"  # a share, if 0 or 1
    for name, members in groups.items():
        own = scores[scores["rater"].isin(members)]
        if len(own):
            mean = pattern.format(float(own["score"].mean()))
            yield f"{name} {mean} of {plural(own['output'].nunique(), 'output')}"
