"""`metal import -i`: what was guessed is asked, and the printed command gives the same dataset anywhere."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import metal as library
from metal.cli.datasets import _parsed, _show_reading
from metal.cli.import_asked import ask_about
from tests.cli.forks import Metal
from tests.formats.test_shapes import SHAPES, random_ratings

TABLE = """id,prompt_key,annotator,criterion,score
a1,p1,mybot,tone,meh
a2,p1,mybot,tone,wow
a3,p2,mybot,tone,ok
a1,p1,Ann,tone,ok
a3,p2,Ann,tone,so
a1,p1,mybot,rambling,3
a2,p1,mybot,rambling,-999.0
a3,p2,mybot,rambling,33
a1,p1,Ann,rambling,5
a2,p1,Ann,rambling,4
a1,p1,Ann,color,red
a3,p2,Ann,color,blue
"""


def printed(said: str) -> list[str]:
    return shlex.split(said.split("The same without questions: metal ")[1].splitlines()[0])


def test_answers_are_read_and_the_command_repeats_them(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "ratings of us.csv").write_text(TABLE)
    answers = [
        "nominal",  # color
        "meh<ok",  # tone, not all words: asked again
        "meh<ok<so<wow",
        "hindi",
        "prompt_key",
        "",  # color: two answers, of which one may be better
        "lower",  # rambling
        "",  # tone: higher
        "mybot=robot",  # no kind: asked again
        "mybot=llm",
        "-999",  # not the 33
        "new",
    ]
    done = metal("import", "ratings of us.csv", "-i", typed="\n".join(answers) + "\n")
    dataset = library.read(tmp_path / "new")
    assert dataset.languages == ("hi",)
    assert set(dataset.sources) == {"p1", "p2"}
    criteria = dataset.criteria
    assert (criteria["rambling"].direction, criteria["tone"].direction) == ("lower", "higher")
    assert [level.label for level in criteria["tone"].scale.levels] == ["meh", "ok", "so", "wow"]
    assert criteria["color"].scale.measure == "nominal"
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {"Ann": "human", "mybot": "llm"}
    assert dataset.ratings["score"].isna().sum() == 1
    assert 33 in dataset.ratings["score"].tolist()
    assert "write each of these once, with < between them" in done.said
    command = printed(done.out)
    (tmp_path / "empty").mkdir()
    for explicit in (
        "rater=annotator",
        "*=human",
        "tone=meh<ok<so<wow",
        "color=nominal",
        "rambling=lower",
        "rambling=-999",
    ):
        assert explicit in command
    metal.at(tmp_path / "empty", metal.env)(*command)
    again = library.read(tmp_path / "empty" / "new")
    assert (again.card.name, again.digest) == (dataset.card.name, dataset.digest)


def test_enter_takes_what_was_guessed_and_nobody_there_is_an_error(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("id,annotator,rating\na,A1,1\na,gpt-4,2\nb,A1,2\n")
    done = metal("import", "ratings.csv", "--ask", "--out", "asked", typed="\n" * 4)
    metal("import", "ratings.csv", "--out", "plain")
    assert library.read(tmp_path / "asked").digest == library.read(tmp_path / "plain").digest
    assert done.out.count("note: language: und") == 1  # shown once: nothing was changed
    assert metal.refused("import", "ratings.csv", "-i") == (
        "metal: --ask asks in a terminal, and nothing was typed; leave it out, or give options\n"
    )
    assert "give --out for a new dataset" in metal.refused("import", "ratings.csv")


def test_columns_that_nothing_names_are_asked_for(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("what,who said,mark\nx,Ann,good\ny,Ann,bad\nx,Bo,bad\n")
    answers = ["who", "who said", "what", *[""] * 5]
    done = metal("import", "t.csv", "-i", "--out", "new", typed="\n".join(answers) + "\n")
    dataset = library.read(tmp_path / "new")
    assert (set(dataset.raters), set(dataset.outputs)) == ({"Ann", "Bo"}, {"x", "y"})
    assert dataset.ratings["score"].tolist() == [1, 0, 0]
    assert {"rater=who said", "output=what"} <= set(printed(done.out))


@pytest.mark.parametrize("shape", SHAPES)
def test_explicit_options_read_every_shape_alike(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SHAPES[shape](random_ratings(1), tmp_path / shape)
    typed = tmp_path / "typed"
    typed.write_text("\n" * 9)
    with typed.open() as answers:
        monkeypatch.setattr(sys, "stdin", answers)
        words = ask_about(tmp_path / shape, "", {}, _parsed, _show_reading)
    dataset = library.read(tmp_path / shape, **_parsed(words))
    assert dataset.digest == library.read(tmp_path / shape).digest
    assert {"--columns", "--kinds", "--directions"} <= set(words)
    assert ("--wide" in words) == (shape.split(".")[0] not in ("long", "words", "tabs", "array", "rows"))


def test_what_a_verb_says_of_a_table_it_cannot_read_can_be_typed(metal: Metal, tmp_path: Path) -> None:
    """The remedy's options are of `metal import`: filled in, its command and then the verb end with an audit."""
    rows = "".join(f"{n},{who},{('meh', 'zut', 'wow')[n % 3]}\n" for n in range(12) for who in ("Ann", "Bob", "gpt-4"))
    (tmp_path / "my ratings.csv").write_text("id,who,answer\n" + rows)
    said = metal.refused("audit", "my ratings.csv")
    assert "no column for the rater" in said
    assert "--columns rater=COLUMN" in said
    command, then = re.fullmatch(r".*with such options: `metal (.*)`, and then this verb on (.*)\n", said).groups()  # type: ignore[union-attr]
    assert shlex.split(then) == ["datasets/my ratings"]
    options = "--columns rater=who --levels overall=meh<zut<wow"
    metal(*shlex.split(command.replace("OPTIONS", options)))
    metal("audit", *shlex.split(then))


def test_what_to_do_next_about_a_table_can_be_typed(metal: Metal, tmp_path: Path) -> None:
    """Handing out its texts needs a dataset folder, which the command makes first."""
    rows = "".join(f"{n},Text {n},{who},task_quality,{n % 3}\n" for n in range(12) for who in ("Ann", "Bob"))
    (tmp_path / "my ratings.csv").write_text("id,text,annotator,criterion,score\n" + rows)
    out = metal("monitor", "my ratings.csv").out
    command = re.search(
        r"^  metal (import .*) && metal (annotate export .*) --test-questions$", out, flags=re.MULTILINE
    )
    assert command, out
    metal(*shlex.split(command[1]))
    metal(*shlex.split(command[2]), "--out", "forms", "--people", "2", "--raters", "1")
    assert list((tmp_path / "forms").rglob("*.html"))
