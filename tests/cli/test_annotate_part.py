"""`metal annotate export --generators` and `--sample`: a part of the outputs is handed out."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import replace

from metal.building.store import read_given, read_tasks
from metal.data.dataset import Dataset, load_dataset, save_dataset
from metal.genie.leaderboard.output_scores import sources_chosen
from tests.cli.forks import Metal
from tests.cli.test_commands import words


def asked(people: Metal, language: str = "") -> set[str]:
    """The outputs that were handed out."""
    tasks = read_tasks(people.cwd / "mine")
    own = read_given(people.cwd / "mine").values()
    return {tasks[task] for each in own for task in each.asked if not language or each.language == language}


def of(dataset: Dataset, generators: Iterable[str], sources: Iterable[str]) -> set[str]:
    result = dataset.outputs.values()
    return {each.output for each in result if each.chosen and each.generator in generators and each.source in sources}


def test_only_some_generators(people: Metal) -> None:
    people("annotate", "export", "mine", "--to", "csv", "--generators", "generatorx-xbadx", "--out", "out")
    own = load_dataset(people.cwd / "mine")
    assert asked(people) == of(own, ["generatorx-xbadx"], own.sources)
    run = tomllib.loads((people.cwd / "out/run.toml").read_text())
    assert run["settings"]["generators"] == ["generatorx-xbadx"]
    assert "sample" not in run["settings"]


def test_several_generators_and_names_with_commas(people: Metal) -> None:
    own = load_dataset(people.cwd / "mine")
    outputs = {name: replace(each, generator=each.generator.replace("-", ", ")) for name, each in own.outputs.items()}
    save_dataset(replace(own, outputs=outputs), people.cwd / "mine", force=True)
    people("annotate", "html", "mine", "-g", "generatorx, xbadx", "--out", "one")
    assert len(asked(people)) == 3
    people("annotate", "html", "mine", "-g", "generatorx, xbadx", "-g", "generatorx, xgoodx", "--out", "two")
    assert len(asked(people)) == 9


def test_a_sample_is_the_leaderboards(people: Metal) -> None:
    people("annotate", "html", "mine", "--sample", "1", "--seed", "4", "--out", "one")
    own = load_dataset(people.cwd / "mine")
    chosen = sources_chosen(own.sources.values(), 1, 4)
    assert asked(people) == of(own, [each.generator for each in own.outputs.values()], chosen)
    assert tomllib.loads((people.cwd / "one/run.toml").read_text())["settings"]["sample"] == 1
    people("annotate", "html", "mine", "--sample", "2", "--seed", "4", "--out", "two")
    assert len(asked(people, "en")) == 2  # the first of them again, and one more


def test_a_part_that_is_not_there(people: Metal) -> None:
    text = people.refused("annotate", "html", "mine", "-g", "generatorx-bad")
    assert "generator 'generatorx-bad' is not known; did you mean 'generatorx-xbadx'" in words(text)
    chosen = ("--sample", "1", "--seed", "1", "-g", "generatorx-xbadx")
    own = load_dataset(people.cwd / "mine")
    present = of(own, ["generatorx-xbadx"], sources_chosen(own.sources.values(), 1, 1))
    empty = [each for each in own.languages if not any(own.outputs[name].language == each for name in present)]
    text = people.refused("annotate", "html", "mine", *chosen, "-l", empty[0])
    assert "mine: no chosen output with a text to rate by generatorx-xbadx in the sample" in words(text)
    assert not (people.cwd / "runs").exists()
