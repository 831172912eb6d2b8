"""Small boards of several kinds, and the table folder of a very large one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metal.boards.board import billboard
from metal.boards.history import Entry
from metal.boards.settings import BoardSettings
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Rating, Scale, Source
from metal.questions.board.run import Billboard
from metal.runs.parts import manifest
from metal.show.pages import page

HISTORY = (
    Entry(1, "2026-01-01T10:00:00+00:00", "data", "aaaaaaaaaaaa"),
    Entry(
        2,
        "2026-01-02T10:00:00+00:00",
        "metric",
        "aaaaaaaaaaaa",
        "m0",
        "Ada",
        {"direction": "higher"},
    ),
    Entry(3, "2026-01-03T10:00:00+00:00", "generator", "aaaaaaaaaaaa", "g1"),
    Entry(
        4, "2026-01-04T10:00:00+00:00", "withdrawn", "aaaaaaaaaaaa", "m0", "Ada", {"was": "metric"}
    ),
)


def dataset(
    *,
    languages: tuple[str, ...] = ("en",),
    criteria: tuple[str, ...] = ("fluency",),
    metrics: tuple[str, ...] = ("m0", "m1", "m2", "m3"),
    judges: tuple[str, ...] = ("judge",),
    generators: tuple[str, ...] = ("g0", "g1", "g2", "g3"),
    human: str = "",
    family: str = "own",
    people: tuple[str, ...] = ("A1", "A2"),
    sources: int = 12,
    title: str = "Made",
) -> Dataset:
    """People and raters who see a hidden quality with more and more noise; judges have the family
    `own`.
    """
    rng = np.random.default_rng(0)
    raters = [Rater(name, "human", "expert") for name in people]
    raters += [
        Rater(name, "llm", name, {"family": "own", "dollars_per_thousand": 1.5}) for name in judges
    ]
    raters += [Rater(name, "metric", "metric") for name in metrics]
    made, outputs, ratings = [], [], []
    for language in languages:
        for number in range(sources):
            made.append(Source(f"{language}-{number}", language, "text"))
            for place, generator in enumerate(generators):
                output = f"{language}-{number}-{place}"
                outputs.append(Output(output, made[-1].source, generator, language, "text"))
                good = rng.normal() + place / 2
                for criterion in criteria:
                    for person in people:
                        ratings.append(Rating(output, criterion, person, good + rng.normal() / 2))
                    for judge in judges:
                        ratings.append(Rating(output, criterion, judge, good + rng.normal()))
                for step, metric in enumerate(metrics):
                    ratings.append(
                        Rating(output, "score", metric, good + (step + 1) * rng.normal())
                    )
    declared = [Criterion(name, Scale("interval", (), -10, 10)) for name in criteria]
    facts = {name: {"family": family} for name in generators[:1]} | (
        {human: {"kind": "human"}} if human else {}
    )
    return assemble(
        Card("made", title),
        [METRIC_SCORE, *declared],
        made,
        outputs,
        raters,
        facts_from(ratings),
        extra={"generators": facts},
    )


def written(made: Dataset, folder: Path, history: tuple[Entry, ...] = HISTORY) -> Path:
    """The run folder of the dataset's board."""
    settings = BoardSettings(resamples=100, permutations=100, version=len(history) or 1)
    board = billboard(made, settings)
    about = manifest(
        "billboard", made, [Path("made")], settings.to_dict(), board.raters, board.signature
    )
    Billboard.of(
        board, made, about, board.raters, tuple(history), tuple(board.ensembles.values())
    ).write(folder, page)
    return folder
