"""`metal.sample_labels`: draw the sources that people should rate to correct a judge's scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Languages, Option, Seed, StrPath, documented
from metal.data.text import first_few
from metal.questions.design.drawn import DrawnSources, to_draw_from

if TYPE_CHECKING:
    from metal.api.read import Ratings


@documented
def sample_labels(
    data: StrPath,
    *ratings: Ratings,
    labels: Annotated[
        int, Option("Sources per language for people to rate.", "-n", metavar="N", least=1)
    ],
    judge: Annotated[
        str,
        Option(
            "Draw equally from each fifth of this judge's scores, to include rare ones."
            " [default: equal]"
        ),
    ] = "",
    languages: Languages = (),
    seed: Seed = 0,
    force: Annotated[bool, Option("Replace an earlier draw.", rare=True)] = False,
) -> DrawnSources:
    """Draw sources for people to rate, with known probabilities, and record them in the dataset.

    Each source of a language is equally likely to be drawn; with `judge`, sources with rare scores
    are more likely. annotation/drawn.jsonl keeps the probabilities:
    `metal.annotate_export(..., drawn=True)` hands out these sources with all their outputs, and
    `metal.correct` weights people's ratings by them. A larger number of `labels` keeps the sources
    that a smaller one drew. `ratings` are run folders with the judge's ratings.

    Args:
        data: The dataset's folder.

    Returns:
        What was drawn.

    Raises:
        UsageError: If sources from an earlier draw would be lost (unless `force`), or nothing can
            be drawn.
        UnknownName: For an unknown judge or language.

    Example:
        metal.sample_labels("datasets/news", "runs/news-judges", labels=200)
    """
    import pandas as pd

    from metal.building.store import note_drawn, read_drawn
    from metal.data.languages import language_name
    from metal.questions.design.labels.drawing import DRAWN, draw

    folder = Path(data)
    with to_draw_from(folder, ratings, judge, languages) as (dataset, asked):
        records, rows, without = draw(dataset, labels, judge, asked, seed)
        others = [entry for entry in read_drawn(folder).values() if entry["language"] not in asked]
        note_drawn(folder, [*others, *records], "labels", force=force)
    columns = [name for name in DRAWN if judge or not name.startswith("judge")]
    all_drawn = Counter[str]()
    for row in rows:
        all_drawn[row["language"]] += row["drawn"]
    few = [
        f"{language_name(code)} {drawn:,}" for code, drawn in all_drawn.items() if drawn < labels
    ]
    warnings = [f"{without:,} sources that {judge} did not rate cannot be drawn"] if without else []
    warnings += (
        [f"fewer than {labels:,} sources, so that all are drawn: {first_few(few)}"] if few else []
    )
    table = pd.DataFrame(rows, columns=columns)
    return DrawnSources(dataset, folder, "sources", table, tuple(warnings))
