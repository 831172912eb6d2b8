"""A small board in two languages, made by `metal` itself, and its commands within this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from metal.boards.settings import BoardSettings
from metal.boards.store import keep_settings
from metal.cli import metal as command
from metal.cli.flags import command_named, in_flags
from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from, tidy_facts
from metal.data.records import METRIC_SCORE, Criterion, Output, Rater, Rating, Scale, Source
from metal.raters.metrics import find_metric
from metal.raters.metrics.dataset_scores import outputs_to_score, score_outputs
from tests.cli.runs import InProcess
from tests.conftest import write_table

ARABIC = "تفتح المكتبة الجديدة يوم الاثنين أبوابها أمام جميع سكان المدينة القديمة مجانا"
WORDS = {"ar": ARABIC.split(), "zh": [*"图书馆周一上午开放给所有市民免费借书"]}
# of each language; ids that a spreadsheet would make numbers
SOURCES = tuple(f"00{number}" for number in range(7))
GENERATORS = ("near", "middle", "far", "odd")
FLUENCY = Criterion("fluency", Scale("interval", (), 1, 5))
OUTSIDE = "comet"  # a metric of the board whose scores came from elsewhere
ANOTHER = "rouge-l"  # one that is METAL's by name, and had another version
LENGTH = "def score(output):\n    return len(output)\n"  # a metric
QUICK: dict[str, Any] = {"resamples": 100, "permutations": 100}
QUICK_OPTIONS = ("--bootstrap", "100", "--permutations", "100")


def source_name(language: str, number: str) -> str:
    """Arabic sources are zero-padded numbers, Chinese ones have a name."""
    return number if language == "ar" else f"zh-{number}"


ALL_SOURCES = tuple(source_name(language, number) for language in WORDS for number in SOURCES)


def reference_of(source: str) -> str:
    return _text(source, 0.0, "reference") + "."  # so that no output is the reference


def _text(source: str, lost: float, whose: str) -> str:
    """The language's words without some of them."""
    language = "zh" if source.startswith("zh") else "ar"
    random = Random(f"{source} {whose}")
    order = WORDS[language][int(source[-1]) :] + WORDS[language][: int(source[-1])]
    kept = [word for word in order if random.random() >= lost]
    return ("" if language == "zh" else " ").join(kept or order[:1])


def build_board(folder: Path) -> None:
    """Four generators, seven sources per language, three people; METAL's metrics, and two that
    cannot be run.
    """
    sources, outputs, ratings = [], [], []
    people = [Rater(name, "human", "native") for name in ("A1", "A2", "A3")]
    random = Random(7)
    for source in ALL_SOURCES:
        language = "zh" if source.startswith("zh") else "ar"
        sources.append(Source(source, language, "?", references=(reference_of(source),)))
        for place, generator in enumerate(GENERATORS):
            made = Output(
                f"{source}/{generator}",
                source,
                generator,
                language,
                _text(source, place / 5, generator),
            )
            outputs.append(made)
            for person in people:
                score = min(5.0, max(1.0, 5 - place + random.uniform(-1, 1)))
                ratings.append(Rating(made.output, "fluency", person.rater, round(score, 1)))
    made = assemble(
        Card("small"), [FLUENCY, METRIC_SCORE], sources, outputs, people, facts_from(ratings)
    )
    scores = [
        score_outputs(find_metric(name), made, outputs_to_score(made, []))
        for name in ("chrf", "rouge-1", "ter")
    ]
    raters = [one.rater for one in scores]
    by_hand = [
        Rater(OUTSIDE, "metric", "metric"),
        Rater(ANOTHER, "metric", "metric", {"signature": "rouge-l|old"}),
    ]
    raters += by_hand
    more = [
        Rating(
            one.output, "score", rater.rater, random.random() + GENERATORS.index(one.generator) / -4
        )
        for one in outputs
        for rater in by_hand
    ]
    facts = tidy_facts(
        pd.concat([facts_from([*ratings, *more]), *(one.facts.astype(object) for one in scores)])
    )
    save_dataset(
        assemble(made.card, [FLUENCY, METRIC_SCORE], sources, outputs, [*people, *raters], facts),
        folder,
    )
    keep(folder, "rater=none")


def keep(folder: Path, reference: str) -> None:
    """Against whom submissions are ranked; there is no rater `none`, and so no ranking."""
    (folder / "board").mkdir(exist_ok=True)
    keep_settings(folder, BoardSettings(reference=reference))


@dataclass
class Commands(InProcess):
    """`metal` in a folder with the board `small`."""

    @property
    def board(self) -> Path:
        return self.folder / "small"

    def json(self, *arguments: object) -> Any:
        """What it prints with --json; NaN and Infinity are no JSON."""
        return json.loads(self.printed(*arguments, "--json"), parse_constant=_no_json)

    def refused(self, *arguments: object) -> str:
        """The one line it ends with, as the command line prints it."""
        return in_flags(
            super().refused(*arguments), command_named(map(str, arguments), command), command
        )

    def ranked(self) -> None:
        """From now on submissions are ranked."""
        keep(self.board, "group=native")

    def generator(self, name: str, lost: float = 0.3, *options: object) -> str:
        """Submit a generator."""
        path = self.write_outputs(
            f"{len(list(self.folder.glob('*.jsonl')))}.jsonl", texts_of(name, lost)
        )
        return self("submit", "generator", "small", path, "--name", name, *options)

    def program(self, name: str, code: str, *options: object) -> str:
        """Submit a metric."""
        (self.folder / f"{name}.py").write_text(code, encoding="utf-8")
        return self("submit", "metric", "small", f"{name}.py", "--name", name, *options)

    def write_outputs(
        self, name: str, texts: Mapping[str, str], columns: Sequence[str] = ("source", "text")
    ) -> Path:
        path = self.folder / name
        frame = pd.DataFrame({columns[0]: [*texts], columns[1]: [*texts.values()]})
        return write_table(frame, path).relative_to(self.folder)

    def scores(
        self, rater: str, generator: str = "", at: int | None = None
    ) -> dict[str, float | str]:
        """What a rater gives the outputs on the board: a score, or the reason why there is none."""
        from metal.boards.store import open_board

        rows = open_board(self.board, at).dataset.ratings.astype({"reason": str, "output": str})
        mine = rows[(rows["rater"] == rater) & ((rows["generator"] == generator) | (not generator))]
        return {
            row.output: row.reason if row.score != row.score else row.score
            for row in mine.itertuples()
        }

    def history(self) -> list[dict[str, Any]]:
        lines = (self.board / "board" / "history.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def _no_json(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


def texts_of(name: str, lost: float = 0.3, sources: Sequence[str] = ALL_SOURCES) -> dict[str, str]:
    return {source: _text(source, lost, name) for source in sources}
