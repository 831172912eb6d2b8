"""Verbs that take a table take the options that say how it is read; what they print next takes them
too.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import metal as library
from metal.cli.datasets import import_
from metal.errors import UnknownName, UsageError
from tests.api.reference import verbs
from tests.cli.forks import Metal
from tests.saying import tells

WORDS = ("meh", "zut", "wow")
ROWS = [
    {"id": n, "who": who, "answer": WORDS[(n + turn) % 3], "text": f"Answer {n}."}
    for n in range(12)
    for turn, who in ((0, "Ann"), (n % 2, "Bob"), (n % 4, "gpt-4"))
]
OPTIONS = ("--columns", "rater=who", "--levels", "meh<zut<wow", "--language", "Hindi")
NO_TABLE = (
    "annotate",
    "sample",
    "submit",
    "prompt",
    "criterion",
    "metric",
    "bias plan",
    "design anchors",
    "gate",
)


def write_table(folder: Path) -> str:
    pd.DataFrame(ROWS).to_csv(folder / "my ratings.csv", index=False)
    return "my ratings.csv"


def next_command(out: str) -> list[str]:
    return shlex.split(re.findall(r"^  metal (.*)$", out, flags=re.MULTILINE)[-1])


@pytest.mark.slow
def test_a_refused_table_is_read_with_the_option_that_the_verb_names(
    metal: Metal, tmp_path: Path
) -> None:
    table = write_table(tmp_path)
    said = metal.refused("audit", table)
    assert (
        said
        == "metal: my ratings.csv: no column for the rater. Columns found: id, who, answer, text."
        " Name it: --columns rater=COLUMN; a wide table: --wide RATERS\n"
    )
    said = metal.refused("audit", table, "--columns", "rater=who")
    assert "--levels 'overall=WORST<...<BEST'" in said
    metal("audit", table, "--columns", "rater=who", "--levels", "overall=meh<zut<wow")


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        ("check",),
        ("describe",),
        ("audit",),
        ("leaderboard",),
        ("monitor",),
        ("billboard",),
        ("export", "--to", "csv", "--out", "x.csv"),
        ("design", "--rounds", "100"),
        ("bias", "language"),
        ("correct",),
        ("select",),
        ("probe", "plan"),
        ("adjudicate", "plan"),
        ("score", "--metric", "words"),
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
def test_every_verb_of_a_table_reads_it_with_the_options(
    verb: tuple[str, ...], metal: Metal, tmp_path: Path
) -> None:
    table = write_table(tmp_path)
    done = metal.start(*verb, table, *OPTIONS).wait(120)
    assert done.code == 0 or "no column" not in done.err + done.out
    assert "No such option" not in done.err
    assert done.code in (0, 2)
    assert "METAL does not know" not in done.err


def test_a_run_knows_how_its_table_was_read(metal: Metal, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    done = metal("audit", table, *OPTIONS)
    about = tomllib.loads((tmp_path / "runs" / "my ratings" / "run.toml").read_text())
    assert about["datasets"][0]["reading"] == {
        "columns": {"rater": "who"},
        "levels": {"*": "meh<zut<wow"},
        "language": "Hindi",
    }
    command = next_command(done.out)
    assert command[:2] == ["design", table]
    assert "rater=who" in command
    metal(*command, "--rounds", "100")
    metal("report", "runs/my ratings")


def test_a_judges_run_over_a_table_goes_on_and_is_audited(metal: Metal, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    done = metal("judge", table, "-j", "majority", "--out", "runs/q", *OPTIONS)
    metal(*shlex.split(done.out.split("Next: metal ")[1].splitlines()[0]))
    metal("judge", "--resume", "runs/q", "-j", "random")
    assert "to change --wide" in metal.refused("judge", "--resume", "runs/q", "--wide", "a,b")


def test_options_of_a_table_are_refused_where_there_is_none(metal: Metal, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    metal("import", table, *OPTIONS)
    assert tells(
        metal.refused("audit", "datasets/my ratings", "--wide", "a,b"),
        "metal: --wide",
        "datasets/my ratings",
        "leave it out",
    )
    metal("audit", "datasets/my ratings")
    refused = metal.refused("audit", "runs/my ratings", "--wide", "a")
    assert tells(refused, "a run of `metal audit`", "no dataset")
    dataset = library.read(tmp_path / "datasets" / "my ratings")
    with pytest.raises(UsageError, match=r"`wide` is for.*a dataset"):
        library.check(dataset, wide="a,b")


def test_a_frame_is_read_with_the_same_names_in_python() -> None:
    frame = pd.DataFrame(ROWS)
    audit = library.audit(
        frame, columns={"rater": "who"}, levels="meh<zut<wow", language="hi", resamples=100
    )
    assert set(audit.verdicts["language"]) == {"hi"}
    with pytest.raises(UnknownName, match="option 'colums' is not known; did you mean 'columns'"):
        library.audit(frame, colums={"rater": "who"})  # type: ignore[call-arg]
    with pytest.raises(UnknownName, match="did you mean 'resamples'"):
        library.audit(frame, resampels=100)  # type: ignore[call-arg]


def test_levels_and_ranges_given_as_python_values_are_recorded(tmp_path: Path) -> None:
    rows = [
        {"id": n, "annotator": who, "rating": n % 3}
        for n in range(12)
        for who in ("Ann", "Bob", "gpt-4")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    library.audit(tmp_path / "t.csv", levels={0: "Bad", 1: "So", 2: "Good"}, resamples=100).save(
        tmp_path / "run"
    )
    about = tomllib.loads((tmp_path / "run" / "run.toml").read_text())
    assert about["datasets"][0]["reading"] == {"levels": {"*": "0=Bad,1=So,2=Good"}}


def test_pairs_with_commas_between_them_are_pairs(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("what,who,mark\nx,Ann,1\nx,bot,2\ny,Ann,2\ny,bot,1\n")
    metal("import", "t.csv", "--columns", "rater=who,output=what", "--kinds", "bot=llm,Ann=human")
    dataset = library.read(tmp_path / "datasets" / "t")
    assert set(dataset.outputs) == {"x", "y"}
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {
        "Ann": "human",
        "bot": "llm",
    }


def test_a_column_whose_name_looks_like_two_pairs_is_that_column(
    metal: Metal, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text('id,"who,output=what",what,mark\nx,Ann,1,1\ny,Ann,2,2\n')
    metal("import", "t.csv", "--columns", "rater=who,output=what")
    assert set(library.read(tmp_path / "datasets" / "t").outputs) == {"x", "y"}


def test_help_names_the_options_in_a_line_and_lists_them_on_request() -> None:
    """One declaration: every verb that takes a table has all of import's, in a group of their
    own.
    """
    shared = {option.name for option in import_.params if getattr(option, "commas", False)} | {
        "columns",
        "wide",
    }
    for words, command in verbs().items():
        names = {option.name for option in command.params}
        if "levels" in names and words != ("import",):
            assert shared < names
            assert {
                option.name for option in command.params if getattr(option, "shared", False)
            } >= {
                *(
                    "columns",
                    "wide",
                    "levels",
                    "language",
                    "criterion",
                    "generator",
                    "kinds",
                    "groups",
                    "missing",
                ),
                *("ranges", "directions", "shifts", "measures", "sheet", "only", "format"),
            }
