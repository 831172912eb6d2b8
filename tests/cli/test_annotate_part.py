"""`metal annotate export --generators` and `--sample`: a part of the outputs is handed out."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import replace

from metal.building.store import read_given, read_tasks
from metal.data.dataset import Dataset, load_dataset, save_dataset
from metal.genie.leaderboard.subsample import sources_chosen
from tests.cli.forks import Metal
from tests.cli.test_commands import words


def asked(people: Metal, language: str = "") -> set[str]:
    """The outputs that were handed out."""
    tasks = read_tasks(people.cwd / "mine")
    mine = read_given(people.cwd / "mine").values()
    return {tasks[task] for one in mine for task in one.asked if not language or one.language == language}


def of(dataset: Dataset, generators: Iterable[str], sources: Iterable[str]) -> set[str]:
    found = dataset.outputs.values()
    return {one.output for one in found if one.chosen and one.generator in generators and one.source in sources}


def test_only_some_generators(people: Metal) -> None:
    people("annotate", "export", "mine", "--to", "csv", "--generators", "generatorx-xbadx", "--out", "out")
    mine = load_dataset(people.cwd / "mine")
    assert asked(people) == of(mine, ["generatorx-xbadx"], mine.sources)
    run = tomllib.loads((people.cwd / "out/run.toml").read_text())
    assert run["settings"]["generators"] == ["generatorx-xbadx"]
    assert "sample" not in run["settings"]


def test_several_generators_and_names_with_commas(people: Metal) -> None:
    mine = load_dataset(people.cwd / "mine")
    outputs = {name: replace(one, generator=one.generator.replace("-", ", ")) for name, one in mine.outputs.items()}
    save_dataset(replace(mine, outputs=outputs), people.cwd / "mine", force=True)
    people("annotate", "html", "mine", "-g", "generatorx, xbadx", "--out", "one")
    assert len(asked(people)) == 3
    people("annotate", "html", "mine", "-g", "generatorx, xbadx", "-g", "generatorx, xgoodx", "--out", "two")
    assert len(asked(people)) == 9


def test_a_sample_is_the_leaderboards(people: Metal) -> None:
    people("annotate", "html", "mine", "--sample", "1", "--seed", "4", "--out", "one")
    mine = load_dataset(people.cwd / "mine")
    chosen = sources_chosen(mine.sources.values(), 1, 4)
    assert asked(people) == of(mine, [one.generator for one in mine.outputs.values()], chosen)
    assert tomllib.loads((people.cwd / "one/run.toml").read_text())["settings"]["sample"] == 1
    people("annotate", "html", "mine", "--sample", "2", "--seed", "4", "--out", "two")
    assert len(asked(people, "en")) == 2  # the first of them again, and one more


def test_a_part_that_is_not_there(people: Metal) -> None:
    said = people.refused("annotate", "html", "mine", "-g", "generatorx-bad")
    assert "generator 'generatorx-bad' is not known; did you mean 'generatorx-xbadx'" in words(said)
    chosen = ("--sample", "1", "--seed", "1", "-g", "generatorx-xbadx")
    mine = load_dataset(people.cwd / "mine")
    there = of(mine, ["generatorx-xbadx"], sources_chosen(mine.sources.values(), 1, 1))
    empty = [one for one in mine.languages if not any(mine.outputs[name].language == one for name in there)]
    said = people.refused("annotate", "html", "mine", *chosen, "-l", empty[0])
    assert "mine: no chosen output with a text to rate by generatorx-xbadx in the sample" in words(said)
    assert not (people.cwd / "runs").exists()
