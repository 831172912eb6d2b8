"""Which parts of a dataset can be ranked, and by which usual table of its field. A page uses this
to name commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from metal.boards.official.layout import Layout, find_layout, layout_names
from metal.data.dataset import Dataset
from metal.data.languages import sides
from metal.data.records import METRIC_SCORE

LEAST_GENERATORS = 3  # fewer have no correlation
LEAST_CRITERIA = 2  # of those by which a field is known


@dataclass(frozen=True)
class Rankable:
    """Which parts of a dataset can be ranked.

    metrics: how many raters give scores of their own instead of answers on people's scale.
    generators: how many people rated one by one, not in pairs. texts: whether any output has a
    text, which a judge can rate.
    layout, title: the name and the title of METAL's layout (`metal.billboard_layout`) that makes
    the usual table of the field; empty if none is known to fit.
    """

    metrics: int = 0
    generators: int = 0
    texts: bool = True
    layout: str = ""
    title: str = ""

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """What of this dataset can be ranked."""
        ratings = dataset.ratings
        pairs = [output.output for output in dataset.outputs.values() if output.is_pair]
        by_people = (ratings["kind"] == "human") & ratings["score"].notna()
        by_people &= ~ratings["output"].isin(pairs)
        generators = int(ratings.loc[by_people.to_numpy(), "generator"].nunique())
        own = ratings["criterion"] == METRIC_SCORE.name
        metrics = ratings.loc[own.to_numpy(), "rater"].nunique()
        texts = any(output.has_text for output in dataset.outputs.values())
        layout = fitting_layout(dataset) if generators >= LEAST_GENERATORS else None
        if layout is None:
            return cls(int(metrics), generators, texts)
        return cls(int(metrics), generators, texts, layout.name, layout.title)

    @classmethod
    def read(cls, described: object) -> Self:
        """The same from run.toml. What is missing or of another type counts as unknown."""
        values = described if isinstance(described, Mapping) else {}
        unknown = asdict(cls())
        return cls(
            **{
                name: values[name] if type(values.get(name)) is type(default) else default
                for name, default in unknown.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml."""
        return asdict(self)


def fitting_layout(dataset: Dataset) -> Layout | None:
    """METAL's layout that makes the usual table for data like these; None if there is none."""
    if all(rater.kind in ("human", "baseline") for rater in dataset.raters.values()):
        return None
    layouts = map(find_layout, layout_names())
    return next((layout for layout in layouts if fits(layout, dataset)), None)


def fits(layout: Layout, dataset: Dataset) -> bool:
    """Whether a layout is about these data.

    The layout of a shared task fits if people rated its criterion in one of its languages, and the
    data have either the task's name (`wmt23-metrics`) or half of its metrics. Any other layout fits
    if people rated two of the criteria by which its field is known, in languages that are no
    translation pairs.
    """
    ratings = dataset.ratings
    by_people = ratings[(ratings["kind"] == "human").to_numpy()]
    rated = set(by_people["criterion"].unique())
    if not layout.languages:
        of_field = [name for name in rated if str(name).casefold() in layout.known_by]
        pairs = any(source != target for source, target in map(sides, dataset.languages))
        return len(of_field) >= LEAST_CRITERIA and not pairs
    shared = set(by_people["language"].unique()) & set(layout.languages)
    golds = {gold for code in shared for gold in [layout.language(code).gold or layout.gold[0]]}
    if not golds & rated:
        return False
    names = {str(rater.about.get("metric", name)) for name, rater in dataset.raters.items()}
    half = bool(layout.raters) and 2 * len(names & set(layout.raters)) >= len(layout.raters)
    return half or layout.name in dataset.card.name.lower()
