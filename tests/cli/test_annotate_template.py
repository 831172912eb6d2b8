"""`metal annotate export --template`: a round trip for each template, with scores of pairs turned
the right way.
"""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from metal.building.tasks import load_template
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.files import bundled
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Scale, Source
from tests.cli.filling import filled
from tests.cli.small_board import Commands
from tests.conftest import TASK_QUALITY
from tests.saying import tells

HOSTILE = "<script>alert(1)</script> ${title} $first 'x'"
# summarization comes with every form
TEMPLATES = ("metal", "question-answering", "commonsense", "translation")
FORMS = ("html", "csv", "xlsx", "label-studio", "mturk", "crowd-csv")
COUNT = 4  # outputs a language; the key is fixed, so that it is no luck that both sides come first


@pytest.fixture
def pairs(commands: Commands, tmp_path: Path) -> Commands:
    """`metal` in a folder where `mine` has outputs with references, and one without."""
    sources, outputs = [], []
    for language in ("en", "ar"):
        for number in range(COUNT):
            name = f"{language}{number}"
            sources.append(
                Source(
                    name,
                    language,
                    f"{number} {HOSTILE}",
                    "",
                    (f"=gold {number} {HOSTILE}", "other"),
                )
            )
            outputs.append(Output(f"o-{name}", name, "g", language, f"@made {number} {HOSTILE}"))
    sources.append(Source("bare", "en", "no reference"))
    outputs.append(Output("o-bare", "bare", "g", "en", "something"))
    save_dataset(
        assemble(Card("mine"), [TASK_QUALITY], sources, outputs, [], facts_from([])),
        tmp_path / "mine",
    )
    (tmp_path / "mine/bare.csv").write_text("output\no-bare\n")
    (tmp_path / "mine/annotation").mkdir()
    (tmp_path / "mine/annotation/key").write_text("0123456789abcdef")
    return commands


def records(folder: Path, name: str) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in (folder / "annotation" / name).read_text("utf-8").split("\n")
        if line
    ]


def opinion(rater: str, output: str, criterion: Criterion) -> float:
    """What a person thinks of an output, however it is shown; a level of the dataset's scale."""
    values = criterion.scale.values
    return values[sum(map(ord, rater + output + criterion.name)) % len(values)]


def made_first(folder: Path) -> dict[str, bool]:
    """Task -> whether the first text is the model's, as people see it in the sheets."""
    result = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                result[row["task"]] = "@made" in row["first"]
                assert "=gold" in row["second" if result[row["task"]] else "first"]
    return result


def filler(folder: Path, sides: Mapping[str, bool]) -> Callable[[str, str], dict[str, str]]:
    """Fills a form in as people who compare what they see: who sees the output first answers the
    other way round.
    """
    outputs = {str(each["task"]): str(each["output"]) for each in records(folder, "tasks.jsonl")}
    criteria = load_dataset(folder).criteria
    asked = {
        task: each["criteria"] for each in records(folder, "given.jsonl") for task in each["tasks"]
    }  # type: ignore[attr-defined]

    def fill(rater: str, task: str) -> dict[str, str]:
        words = {}
        for name in asked[task]:  # type: ignore[attr-defined]
            values = criteria[name].scale.values
            place = values.index(opinion(rater, outputs[task], criteria[name]))
            words[name] = f"{values[-1 - place] if sides.get(task) else values[place]:g}"
        return words

    return fill


def check(folder: Path, names: Mapping[str, Criterion], people: int) -> None:
    """Every rating is the opinion, whatever the order that was shown."""
    dataset = load_dataset(folder)
    table = dataset.ratings
    assert len(table) == people * len(names) * len(set(table["output"]))
    for row in table.itertuples():
        assert row.score == opinion(
            str(row.rater), str(row.output), dataset.criteria[str(row.criterion)]
        )


@pytest.mark.slow
def test_pairs_come_back_turned_the_right_way_from_every_form(pairs: Commands) -> None:
    own = pairs.folder / "mine"
    for form in FORMS:
        pairs(
            "annotate",
            "export",
            "mine",
            "--to",
            form,
            "--out",
            form,
            "--template",
            "summarization",
            "--add-criteria",
        )
    sides = made_first(pairs.folder / "csv")
    assert set(sides.values()) == {True, False}
    shutil.copytree(own, pairs.folder / "before")
    for form in FORMS:
        shutil.rmtree(own)
        shutil.copytree(pairs.folder / "before", own)
        back = filled(form, pairs.folder / form, pairs.folder / f"{form}-back", filler(own, sides))
        done = pairs("annotate", "import", "mine", *back)
        check(own, load_template("summarization", [bundled("prompts")]).criteria, 3)
        assert len(load_dataset(own).ratings) == 2 * COUNT * 6 * 3
        assert {str(each["task"]) for each in records(own, "answers.jsonl")} == set(sides)
        assert ("columns ignored: StartDate" in done) == (form == "crowd-csv")
    again = pairs("annotate", "import", "mine", *back)
    assert f"{2 * COUNT * 6 * 3} ratings there already" in again


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_round_trip(pairs: Commands, template: str) -> None:
    own = pairs.folder / "mine"
    asked = load_template(template, [bundled("prompts")]).criteria
    done = pairs(
        "annotate",
        "export",
        "mine",
        "--to",
        "html",
        "--out",
        "out",
        "--template",
        template,
        "--add-criteria",
    )
    added = [name for name in asked if name != "task_quality"]
    assert f"Added to mine/dataset.toml: {', '.join(added)}" in done
    declared = load_dataset(own).criteria
    assert {name: declared[name] for name in added} == {name: asked[name] for name in added}
    assert tells(done, "1 output not handed out", "no reference") == (
        template in ("question-answering", "translation")
    )
    assert (
        tomllib.loads((pairs.folder / "out/run.toml").read_text())["settings"]["template"]
        == template
    )
    pairs(
        "annotate",
        "import",
        "mine",
        *filled("html", pairs.folder / "out", pairs.folder / "back", filler(own, {})),
    )
    check(own, asked, 3)


def test_criteria_that_are_missing_are_named(pairs: Commands) -> None:
    before = (pairs.folder / "mine/dataset.toml").read_bytes()
    message = pairs.refused("annotate", "html", "mine", "--template", "translation")
    assert (
        "mine lacks the criterion of template translation: adequacy. Pass --add-criteria" in message
    )
    assert (pairs.folder / "mine/dataset.toml").read_bytes() == before
    assert not (pairs.folder / "runs").exists()
    pairs("annotate", "html", "mine", "--template", "translation", "-c", "task_quality")
    assert "adequacy" not in load_dataset(pairs.folder / "mine").criteria
    message = pairs.refused(
        "annotate", "html", "mine", "--template", "summarization", "-c", "task_quality"
    )
    assert "template summarization: criterion 'task_quality' is not known" in message
    message = pairs.refused("annotate", "html", "mine", "--template", "summary")
    assert "template 'summary' is not known; did you mean 'summarization'?" in message


def test_a_criterion_on_another_scale(pairs: Commands) -> None:
    own = pairs.folder / "mine"
    dataset = load_dataset(own)
    fluency = Criterion("fluency", Scale("interval", (), 0, 100))
    other = assemble(
        dataset.card,
        [fluency],
        dataset.sources.values(),
        dataset.outputs.values(),
        [],
        facts_from([]),
    )
    save_dataset(other, own, force=True)
    message = pairs.refused(
        "annotate", "html", "mine", "--template", "summarization", "--add-criteria"
    )
    assert tells(message, "criterion fluency", "(0 to 100)", "template summarization")
    assert "pass --prompt-folders DIR" in message


def test_what_compares_is_asked_of_pairs_only(pairs: Commands) -> None:
    pairs("annotate", "html", "mine", "--template", "summarization", "--add-criteria")
    done = pairs("annotate", "html", "mine", "--out", "plain")
    assert tells(done, "--template summarization", ": redundancy, fluency")
    assert "Tasks for people: TQ" in done
    message = pairs.refused("annotate", "html", "mine", "--out", "x", "-c", "fluency")
    assert tells(message, "criterion fluency", "--template summarization")
    kinds = {("output_first" in each) for each in records(pairs.folder / "mine", "tasks.jsonl")}
    assert kinds == {True, False}


def test_a_dataset_without_references(pairs: Commands) -> None:
    for template in ("question-answering", "summarization"):
        message = pairs.refused(
            "annotate",
            "html",
            "mine",
            "--template",
            template,
            "--add-criteria",
            "--only",
            "mine/bare.csv",
        )
        assert f"template {template} shows references, and mine has none" in message
        assert tells(message, "`references`", "sources.jsonl")
    assert "correctness" not in load_dataset(pairs.folder / "mine").criteria


def test_a_template_of_ones_own(pairs: Commands) -> None:
    (pairs.folder / "own/annotate").mkdir(parents=True)
    (pairs.folder / "own/annotate/two.toml").write_text(
        'reference = "paired"\n[criteria.nearer]\ncompares = true\nquestion = "Nearer?"\nlevels ='
        ' [{value = 0, label = "no", shown = "left"}, {value = 1, label = "yes", shown ='
        ' "right"}]\n'
    )
    pairs(
        "annotate",
        "html",
        "mine",
        "--template",
        "two",
        "--prompts",
        "own",
        "--add-criteria",
        "--out",
        "out",
    )
    page = (pairs.folder / "out/en-1.html").read_text("utf-8")
    assert "Nearer?" in page
    assert ">right<" in page
    assert load_dataset(pairs.folder / "mine").criteria["nearer"].scale.describe() == "0 no, 1 yes"
    assert records(pairs.folder / "mine", "templates.jsonl") == [
        {"template": "two", "compared": {"nearer": ["left", "right"]}}
    ]


def test_a_text_that_returns_is_warned_of(pairs: Commands) -> None:
    own = pairs.folder / "mine"
    dataset = load_dataset(own)
    more = [Output("o2-en0", "en0", "g2", "en", "another")]
    outputs = [*dataset.outputs.values(), *more]
    save_dataset(
        assemble(
            dataset.card, [TASK_QUALITY], dataset.sources.values(), outputs, [], facts_from([])
        ),
        own,
        force=True,
    )
    done = pairs(
        "annotate", "html", "mine", "--template", "summarization", "--add-criteria", "-l", "en"
    )
    assert tells(done, "3 sheets", "one source")
    again = pairs(
        "annotate",
        "html",
        "mine",
        "--template",
        "translation",
        "--add-criteria",
        "-l",
        "en",
        "--out",
        "x",
    )
    assert "several outputs" not in again


def test_levels_that_changed_since(pairs: Commands) -> None:
    pairs(
        "annotate",
        "export",
        "mine",
        "--to",
        "csv",
        "--template",
        "summarization",
        "--add-criteria",
        "--out",
        "out",
    )
    path = pairs.folder / "mine/annotation/templates.jsonl"
    entry = json.loads(path.read_text())
    entry["compared"]["overall"].pop()
    path.write_text(json.dumps(entry) + "\n")
    message = pairs.refused(
        "annotate", "import", "mine", next((pairs.folder / "out").glob("en*.csv"))
    )
    assert tells(message, "criterion overall", "4 levels")
