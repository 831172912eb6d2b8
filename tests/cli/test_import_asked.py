"""`metal import`, with and without `-i`: what was guessed is asked; the printed command gives the
same dataset.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import metal as library
from metal.cli.datasets import import_options, show_reading
from metal.cli.import_asked import ask_about
from tests.cli.forks import Metal
from tests.formats.test_shapes import SHAPES, random_ratings
from tests.saying import tells

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
    return shlex.split(said.split("without questions: metal ")[1].splitlines()[0])


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
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {
        "Ann": "human",
        "mybot": "llm",
    }
    assert dataset.ratings["score"].isna().sum() == 1
    assert 33 in dataset.ratings["score"].tolist()
    assert "with < between them" in done.said
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


@pytest.mark.slow
def test_enter_takes_what_was_guessed_and_nobody_there_is_an_error(
    metal: Metal, tmp_path: Path
) -> None:
    (tmp_path / "ratings.csv").write_text("id,annotator,rating\na,A1,1\na,gpt-4,2\nb,A1,2\n")
    done = metal("import", "ratings.csv", "--ask", "--out", "asked", typed="\n" * 4)
    metal("import", "ratings.csv", "--out", "plain")
    assert library.read(tmp_path / "asked").digest == library.read(tmp_path / "plain").digest
    assert done.out.count("note: language: und") == 1  # shown once: nothing was changed
    assert tells(metal.refused("import", "ratings.csv", "-i"), "--ask")


def test_columns_that_nothing_names_are_asked_for(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("what,who said,mark\nx,Ann,good\ny,Ann,bad\nx,Bo,bad\n")
    answers = ["who", "who said", "what", *[""] * 5]
    done = metal("import", "t.csv", "-i", "--out", "new", typed="\n".join(answers) + "\n")
    dataset = library.read(tmp_path / "new")
    assert (set(dataset.raters), set(dataset.outputs)) == ({"Ann", "Bo"}, {"x", "y"})
    assert dataset.ratings["score"].tolist() == [1, 0, 0]
    assert {"rater=who said", "output=what"} <= set(printed(done.out))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_explicit_options_read_every_shape_alike(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SHAPES[shape](random_ratings(1), tmp_path / shape)
    typed = tmp_path / "typed"
    typed.write_text("\n" * 9)
    with typed.open() as answers:
        monkeypatch.setattr(sys, "stdin", answers)
        words, _ = ask_about(tmp_path / shape, "", {}, import_options, show_reading)
    dataset = library.read(tmp_path / shape, **import_options(words))
    assert dataset.digest == library.read(tmp_path / shape).digest
    assert {"--columns", "--kinds", "--directions"} <= set(words)
    assert ("--wide" in words) == (
        shape.split(".")[0] not in ("long", "words", "tabs", "array", "rows")
    )


def test_import_without_out_writes_a_new_folder_of_the_files_name(
    metal: Metal, tmp_path: Path
) -> None:
    (tmp_path / "my ratings.csv").write_text("id,annotator,rating\na,A1,1\na,gpt-4,2\nb,A1,2\n")
    assert "in datasets/my ratings\n" in metal("import", "my ratings.csv").out
    before = library.read(tmp_path / "datasets" / "my ratings").digest
    (tmp_path / "my ratings.csv").write_text("id,annotator,rating\na,A1,2\na,gpt-4,2\nb,A1,2\n")
    assert tells(
        metal.refused("import", "my ratings.csv"),
        "datasets/my ratings",
        "--out",
        "--into 'datasets/my ratings'",
    )
    assert "pass that as well" in metal.refused("import", "my ratings.csv", "--force")
    assert library.read(tmp_path / "datasets" / "my ratings").digest == before


ONE_ONE = "question,answer,lang,human_rate,robot_rate\n" + "".join(
    f"q{n}?,answer {n},en,{1 + n % 5},{1 + n * n % 5}\n" for n in range(30)
)


def test_each_column_of_answers_is_a_rater_at_enter(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "one_one.csv").write_text(ONE_ONE)
    done = metal("import", "one_one.csv", "-i", typed="\n" * 9)
    assert "each: each of human_rate, robot_rate is a rater [each]" in done.out
    assert set(library.read(tmp_path / "datasets" / "one_one").raters) == {
        "human_rate",
        "robot_rate",
    }
    assert "--wide human_rate,robot_rate" in done.out


def test_one_of_two_columns_of_answers_taken_for_the_rater_can_be_taken_back(
    metal: Metal, tmp_path: Path
) -> None:
    (tmp_path / "one_one.csv").write_text(ONE_ONE)
    answers = ["human_rate", "b", "human_rate,nothing", "human_rate,robot_rate", *[""] * 9]
    done = metal("import", "one_one.csv", "-i", typed="\n".join(answers))
    assert done.out.count("Column of the rater") == 3
    assert "each of which is a rater" in done.out
    assert set(library.read(tmp_path / "datasets" / "one_one").raters) == {
        "human_rate",
        "robot_rate",
    }


def test_columns_of_a_rater_on_a_criterion_are_offered_as_such(
    metal: Metal, tmp_path: Path
) -> None:
    names = [
        f"{name}_{criterion}" for name in ("anna", "bob") for criterion in ("fluency", "adequacy")
    ]
    rows = [f"i{n}," + ",".join(str(1 + (n * k) % 5) for k in (1, 2, 3, 4)) for n in range(20)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(["id", *names]), *rows]) + "\n")
    assert "--wide '{rater}_{criterion}'" in metal.refused("import", "t.csv")
    done = metal("import", "t.csv", "-i", typed="\n" * 9)
    dataset = library.read(tmp_path / "datasets" / "t")
    assert (set(dataset.raters), set(dataset.criteria)) == (
        {"anna", "bob"},
        {"fluency", "adequacy"},
    )
    assert "{rater}_{criterion}" in printed(done.out)


def test_rows_that_are_raters_are_offered_and_b_and_q_hold_there(
    metal: Metal, tmp_path: Path
) -> None:
    head = ",".join(f"summary {n}" for n in range(1, 21))
    rows = [",".join(str(1 + (n + k) % 5) for n in range(20)) for k in range(5)]
    (tmp_path / "t.csv").write_text("\n".join([head, *rows]) + "\n")
    done = metal(
        "import", "t.csv", "-i", typed="\n".join(["each", "{output}", "b", "{output}", *[""] * 9])
    )
    assert done.out.count("each column an output [each]") == 3
    dataset = library.read(tmp_path / "datasets" / "t")
    assert (len(dataset.raters), len(dataset.outputs)) == (5, 20)
    assert "{output}" in printed(done.out)
    assert "nothing was written" in metal("import", "t.csv", "-i", typed="q\n", expect=130).out


@pytest.mark.slow
def test_an_answer_with_which_the_table_cannot_be_read_is_asked_for_again(
    metal: Metal, tmp_path: Path
) -> None:
    """Nobody is asked for ever, nor thrown out: what is wrong is said, and another answer taken."""
    table = "thing,hue,by,mark\n1,red,Ann,1\n2,blue,Ann,2\n1,green,Bo,1\n2,grey,Bo,2\n"
    (tmp_path / "t.csv").write_text(table)
    done = metal("import", "t.csv", "-i", typed="\n".join(["each", "by", "hue", *[""] * 9]))
    assert "rates output 'Ann' on overall a second time" in " ".join(done.out.split())
    assert set(library.read(tmp_path / "datasets" / "t").outputs) == {
        "red",
        "blue",
        "green",
        "grey",
    }
    (tmp_path / "none.csv").write_text(table.replace("green", "red"))
    said = metal.start("import", "none.csv", "-i", typed="each\nby\nhue\n" + "\n" * 9).wait(60)
    assert said.code == 2
    assert said.err.startswith(
        "metal: none.csv row 4: rater 'thing' rates output 'red' on overall a second time"
    )


def test_b_goes_back_a_question_and_q_quits(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("id,annotator,rating\na,A1,1\na,gpt-4,2\nb,A1,2\n")
    answers = ["b", "German", "b", "hi", "lower", "", "back", "b", "higher", "", "human", ""]
    done = metal("import", "ratings.csv", "-i", typed="\n".join(answers) + "\n")
    assert "is the first question" in done.out
    dataset = library.read(tmp_path / "datasets" / "ratings")
    assert dataset.languages == ("hi",)
    assert dataset.criteria["overall"].direction == "higher"
    assert {name: rater.kind for name, rater in dataset.raters.items()} == {
        "A1": "human",
        "gpt-4": "human",
    }
    quitted = metal("import", "ratings.csv", "-i", typed="hi\nq\n", expect=130)
    assert "nothing was written" in quitted.out
    assert [folder.name for folder in (tmp_path / "datasets").iterdir()] == ["ratings"]


def test_enter_at_a_question_without_a_likely_answer_says_that_one_is_needed(metal: Metal) -> None:
    ended = metal("init", typed="ratings\n\n\n", expect=2)
    assert (ended.out + ended.err).count("an answer is needed here") == 2


def test_an_audit_asks_how_its_table_is_read(metal: Metal, tmp_path: Path) -> None:
    (tmp_path / "one_one.csv").write_text(ONE_ONE)
    done = metal("audit", "one_one.csv", "-i", typed="\n" * 9)
    command = shlex.split(done.out.split("without questions: metal ")[1].splitlines()[0])
    assert command[0] == "audit"
    again = metal(*command, "--out", "again")
    assert done.out.splitlines()[-8:-4] == again.out.splitlines()[-8:-4]


@pytest.mark.slow
def test_what_to_do_next_about_a_table_can_be_typed(metal: Metal, tmp_path: Path) -> None:
    """Handing out its texts needs a dataset folder, which the command makes first."""
    rows = "".join(
        f"{n},Text {n},{who},task_quality,{n % 3}\n" for n in range(12) for who in ("Ann", "Bob")
    )
    (tmp_path / "my ratings.csv").write_text("id,text,annotator,criterion,score\n" + rows)
    out = metal("monitor", "my ratings.csv").out
    command = re.search(
        r"^  metal (import .*) && metal (annotate export .*) --test-questions$",
        out,
        flags=re.MULTILINE,
    )
    assert command, out
    metal(*shlex.split(command[1]))
    metal(*shlex.split(command[2]), "--out", "forms", "--people", "2", "--raters", "1")
    assert list((tmp_path / "forms").rglob("*.html"))
