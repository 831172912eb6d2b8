"""Sources with golds, and people who answer test questions as told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from metal.building.store import read_tasks
from metal.data.dataset import Card, Dataset, assemble, save_dataset
from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Source

WORDS = (
    "river",
    "council",
    "market",
    "stone",
    "light",
    "winter",
    "harbour",
    "garden",
    "school",
    "bridge",
    "train",
)
GENERATORS = ("good", "bad")
METAL = {name: metal_criterion(name) for name in METAL_CRITERIA}
TOP = {name: len(one.scale.levels) - 1 for name, one in METAL.items()}
# What somebody says of an output on a criterion: (rater, output, criterion) -> score.
Opinion = Callable[[str, str, str], int]


def source(name: str, *golds: str, language: str = "") -> Source:
    return Source(name, language or name.partition("-")[0], f"text of {name}", references=golds)


def outputs_of(sources: Iterable[Source], generators: Sequence[str] = GENERATORS) -> list[Output]:
    found = list(sources)
    return [
        Output(f"{one.source}/{name}", one.source, name, one.language, f"{name} {one.source}")
        for one in found
        for name in generators
    ]


def by_name(sources: Iterable[Source]) -> dict[str, Source]:
    return {one.source: one for one in sources}


def with_golds(
    count: int = 20,
    languages: Sequence[str] = ("en", "sw"),
    criteria: Iterable[Criterion] = METAL.values(),
    raters: Iterable[Rater] = (),
    generators: Sequence[str] = GENERATORS,
) -> Dataset:
    """So many sources per language, each with a gold of its own and an output of each generator;
    nothing is rated.
    """
    sources = []
    for language in languages:
        for number in range(count):
            words = Random(f"{language} {number}").choices(WORDS, k=30)
            gold = f"{' '.join(words[:8])} {number}"
            name = f"{language}-{number}"
            sources.append(Source(name, language, " ".join(words), f"Title {number}", (gold,)))
    return assemble(
        Card("sim"), criteria, sources, outputs_of(sources, generators), raters, facts_from([])
    )


def careful(rater: str, output: str, criterion: str) -> int:
    """What is right to say on METAL's criteria: of golds in their place and `good` outputs the
    best, of golds of other sources that they are well written and about something else."""
    well = "/good" in output or ":positive:" in output
    written = well or ":negative:" in output
    best = {
        "linguistic_acceptability": 2 * written,
        "output_content_quality": 2 * written,
        "task_quality": 2 * well,
        "problematic_content": 0,
        "hallucinations": int(not well),
    }
    return best[criterion]


def always_best(rater: str, output: str, criterion: str) -> int:
    return 0 if METAL[criterion].direction == "lower" else TOP[criterion]


def like(others: Mapping[str, Opinion]) -> Opinion:
    """Everybody is careful but those who are named."""
    return lambda rater, output, criterion: others.get(rater, careful)(rater, output, criterion)


def fill_csv(dataset: Path, folder: Path, opinion: Opinion) -> list[Path]:
    """The csv sheets in the folder, filled in where they lie."""
    task_of = read_tasks(dataset)
    files = sorted(folder.glob("*.csv"))
    for file in files:
        rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))
        for row in rows:
            for name in METAL.keys() & row.keys():
                row[name] = str(opinion(row["rater"], task_of[row["task"]], name))
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        file.write_bytes(text.getvalue().encode())
    return files


def save(folder: Path, **made: object) -> Path:
    """A dataset folder of `with_golds`."""
    save_dataset(with_golds(**made), folder)  # type: ignore[arg-type]
    return folder


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def metal(*arguments: object) -> None:
    """A command within this process."""
    from metal.cli import metal as command

    command.main([*map(str, arguments)], prog_name="metal", standalone_mode=False)


def examined(folder: Path, others: Mapping[str, Opinion], **made: object) -> Path:
    """A dataset whose people answered everything in two rounds, test questions among it; all but
    others are careful.
    """
    save(folder, **made)
    out = folder.with_name(f"{folder.name}-out")
    metal("annotate", "export", folder, "--to", "csv", "--out", out, "--test-questions=25%+25%")
    files = fill_csv(folder, out, like(others))
    metal("annotate", "import", folder, *files[:1])
    metal("annotate", "import", folder, *files)
    return folder
