"""Test questions through the command line: nobody sees them, and their answers never mix with
ratings.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import signal
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.building.store import read_compared, read_given, read_rounds, read_tasks
from metal.data.dataset import load_dataset, update_dataset, with_parts
from metal.data.ratings_files import read_facts
from metal.data.records import Output
from metal.genie.gold_questions import NEGATIVE, POSITIVE, side_of
from metal.genie.store import read_answers, read_questions
from tests.cli.filling import filled
from tests.cli.forks import Metal, environment
from tests.cli.runs import snapshot, until
from tests.cli.small_board import Commands
from tests.cli.test_annotate_export import contents
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.genie.people import METAL, careful, fill_csv, like, lines, save, source
from tests.saying import tells

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk", "crowd-csv")
TWO = (TASK_QUALITY, HALLUCINATIONS)
SHARES = "--test-questions=25%+15%"


@pytest.fixture
def sim(commands: Commands) -> Commands:
    """`metal` in a folder where `sim` is a dataset of twenty outputs in each of two languages."""
    save(commands.folder / "sim", count=10, criteria=TWO)
    return commands


def export(sim: Commands, form: str = "csv", *more: object, out: str = "out") -> Path:
    sim("annotate", "export", "sim", "--to", form, "--out", out, *(more or (SHARES,)))
    return sim.folder / out


def sides(names: Any) -> dict[str, int]:
    found = [side_of(str(name)) for name in names]
    return {side: found.count(side) for side in (POSITIVE, NEGATIVE)}


def shown(form: str, folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(person or language, the tasks as people see them) of each file that has tasks."""
    for path in sorted(folder.iterdir()):
        if form == "html" and path.suffix == ".html":
            text = path.read_text("utf-8")
            [data] = re.findall(
                r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL
            )
            yield path.stem, json.loads(data)["tasks"]
        elif path.suffix == ".csv":
            text = path.read_bytes().decode("utf-8-sig")
            yield path.stem, list(csv.DictReader(io.StringIO(text, newline="")))
        elif form == "label-studio" and path.suffix == ".json":
            yield path.stem, [entry["data"] for entry in json.loads(path.read_bytes())]
        elif path.suffix == ".xlsx":
            import openpyxl

            rows = list(openpyxl.load_workbook(path)["Tasks"].values)
            yield path.stem, [dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_tells_test_questions_from_the_rest(sim: Commands, form: str) -> None:
    folder = export(sim, form)
    output_of = read_tasks(sim.folder / "sim")
    found = 0
    for who, rows in shown(form, folder):
        assert len({tuple(row) for row in rows}) == 1, "the same fields for all"
        hidden = [place for place, row in enumerate(rows) if side_of(output_of[row["task"]])]
        found += len(hidden)
        assert hidden, who
        assert hidden != list(range(len(rows) - len(hidden), len(rows)))
        assert hidden != list(range(len(hidden)))
        assert all(re.fullmatch("t[0-9a-f]{12}", row["task"]) for row in rows)
        text = next(name for name in ("output", "output_text") if name in rows[0])
        about = {str(sorted((name, str(cell)) for name,
            cell in row.items() if name not in ("task", text)))
                 for row in rows if not side_of(output_of[row["task"]])}  # fmt: skip
        if form in ("mturk", "crowd-csv"):  # these have every source also with an output
            for place in hidden:
                row = rows[place]
                assert (
                    str(
                        sorted(
                            (name, str(cell))
                            for name, cell in row.items()
                            if name not in ("task", text)
                        )
                    )
                    in about
                )
    files = 2 if form in ("mturk", "crowd-csv") else 6
    assert found == 2 * (5 + 3) * (1 if files == 2 else 3)
    for name, content in contents(folder).items():
        for word in (
            "test:",
            "test_question",
            "test question",
            POSITIVE,
            NEGATIVE,
            "gold of another",
            'gold"',
            ">gold",
        ):
            assert word not in content.decode().lower() or name == "run.toml", (
                f"{name} says {word!r}"
            )


def test_everybody_gets_as_many_of_a_kind(sim: Commands) -> None:
    export(sim, "csv", "--people", "5", SHARES)
    output_of = read_tasks(sim.folder / "sim")
    for language in ("en", "sw"):
        counts = [sides(output_of[task] for task in one.asked) for name,
            one in read_given(sim.folder / "sim").items()
                  if one.language == language]  # fmt: skip
        assert len(counts) == 5
        for side, total in ((POSITIVE, 15), (NEGATIVE, 9)):
            assert sum(count[side] for count in counts) == total
            assert max(count[side] for count in counts) - min(count[side] for count in counts) <= 1


def test_export_says_how_many_and_keeps_them(sim: Commands) -> None:
    said = sim("annotate", "export", "sim", "--to", "csv", "--out", "out", SHARES)
    assert tells(said, "16 test questions")
    kept = read_questions(sim.folder / "sim")
    assert sides(kept) == {POSITIVE: 10, NEGATIVE: 6}
    assert (
        tomllib.loads((sim.folder / "out/run.toml").read_text())["settings"]["test_questions"]
        == "25%+15%"
    )
    assert load_dataset(sim.folder / "sim").outputs.keys() & kept.keys() == set()


def test_without_the_option_there_are_none(sim: Commands) -> None:
    said = sim("annotate", "export", "sim", "--to", "csv", "--out", "out")
    assert "test question" not in said
    assert not (sim.folder / "sim/test_questions").exists()
    assert (
        "test_questions" not in tomllib.loads((sim.folder / "out/run.toml").read_text())["settings"]
    )


def test_a_second_export_asks_the_same_and_more(sim: Commands) -> None:
    export(sim)
    first = read_questions(sim.folder / "sim")
    tasks = read_tasks(sim.folder / "sim")
    export(sim, "html", "--test-questions=50%+25%", out="again")
    again = read_questions(sim.folder / "sim")
    assert {name: again[name] for name in first} == first
    assert sides(again) == {POSITIVE: 20, NEGATIVE: 10}
    assert {task: read_tasks(sim.folder / "sim")[task] for task in tasks} == tasks


def test_few_golds_are_told(sim: Commands) -> None:
    said = sim(
        "annotate", "export", "sim", "--to", "csv", "--out", "out", "--test-questions=5%+100%"
    )
    assert tells(said, "English: 10 fewer negative", "too few", "references")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--test-questions=5%",),
            "shares '5%': write",
        ),
        (("--test-questions", "sim"), "put --test-questions after sim, or give it a value"),
    ],
)
def test_shares_that_say_nothing(sim: Commands, options: tuple[str, ...], said: str) -> None:
    assert said in sim.refused(
        "annotate", "export", "--to", "csv", *options, *(() if options[-1] == "sim" else ("sim",))
    )
    assert [path.name for path in sim.folder.iterdir()] == ["sim"]


def test_a_dataset_that_cannot_be_asked_about(sim: Commands) -> None:
    dataset = load_dataset(sim.folder / "sim")
    sources = [source(one.source, language=one.language) for one in dataset.sources.values()]
    update_dataset(with_parts(dataset, sources=sources), sim.folder / "sim")
    before = snapshot(sim.folder)
    refused = sim.refused(
        "annotate", "export", "sim", "--to", "csv", "--out", "out", "--test-questions=100%+5%"
    )
    assert "have no references" in refused
    assert snapshot(sim.folder) == before


def opinion(sim: Commands) -> Callable[[str, str], Mapping[str, str]]:
    output_of = read_tasks(sim.folder / "sim")
    return lambda rater, task: {
        one.name: str(careful(rater, output_of[task], one.name)) for one in TWO
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", [form for form in FORMS if form != "crowd-csv"])
def test_answers_are_kept_apart_from_ratings(sim: Commands, form: str) -> None:
    folder = export(sim, form)
    said = sim(
        "annotate", "import", "sim", *filled(form, folder, sim.folder / "back", opinion(sim))
    )
    rated = load_dataset(sim.folder / "sim")
    assert len(rated.ratings) == 40 * 3 * 2
    assert sides(rated.ratings["output"]) == {POSITIVE: 0, NEGATIVE: 0}
    assert sides(rated.outputs) == {POSITIVE: 0, NEGATIVE: 0}
    answers = read_facts(sim.folder / "sim/test_questions/ratings.parquet")
    assert sides(answers["output"]) == {POSITIVE: 10 * 3 * 2, NEGATIVE: 6 * 3 * 2}
    assert set(answers["output"]) == set(read_questions(sim.folder / "sim"))
    assert ("mturk:A1 20 of 20 12 of 12" if form == "mturk" else "en-1 10 of 10 6 of 6") in said
    assert "noisy" not in said


def test_the_same_files_again_change_nothing_and_a_second_round_is_added(sim: Commands) -> None:
    folder = export(sim)
    files = fill_csv(sim.folder / "sim", folder, careful)
    sim("annotate", "import", "sim", *files[:2])
    before = snapshot(sim.folder / "sim")
    said = sim("annotate", "import", "sim", *files[:2])
    assert snapshot(sim.folder / "sim") == before
    assert "ratings there already" in said
    sim("annotate", "import", "sim", *files)
    one, two = read_rounds(sim.folder / "sim")
    assert (one["round"], two["round"]) == (1, 2)
    assert one["raters"] == {
        name: {"ratings": 40, POSITIVE: [10, 10], NEGATIVE: [6, 6]} for name in ("en-1", "en-2")
    }
    assert set(two["raters"]) == {
        f"{language}-{number}" for language in ("en", "sw") for number in (1, 2, 3)
    }
    assert two["answers"] == 4 * 28
    history = lines(sim.folder / "sim/annotation/answers.jsonl")
    assert [line["round"] for line in history] == [1] * 56 + [2] * 112
    assert len(read_answers(sim.folder / "sim")) == 16 * 3 * 2


def test_the_first_answer_to_a_test_question_counts(sim: Commands) -> None:
    folder = export(sim)
    sim("annotate", "import", "sim", *fill_csv(sim.folder / "sim", folder, careful))
    before = snapshot(sim.folder / "sim")

    def wrong_tests(rater: str, output: str, criterion: str) -> int:
        wrong = rater == "en-1" and side_of(output) and criterion == "hallucinations"
        return 1 - careful(rater, output, criterion) if wrong else careful(rater, output, criterion)

    files = fill_csv(sim.folder / "sim", folder, wrong_tests)
    said = sim("annotate", "import", "sim", *files)
    assert tells(said, "8 test questions", "first answers count")
    assert "en-1 10 of 10 6 of 6" in said
    now = snapshot(sim.folder / "sim")
    assert now["test_questions/ratings.parquet"] == before["test_questions/ratings.parquet"]
    assert now["ratings.parquet"] == before["ratings.parquet"]
    said = sim("annotate", "import", "sim", *files, "--replace")
    assert "8 ratings replaced" in said
    assert "en-1 5 of 10 3 of 6" in said
    after = snapshot(sim.folder / "sim")
    assert after["ratings.parquet"] == before["ratings.parquet"]
    assert [one["raters"]["en-1"][POSITIVE] for one in read_rounds(sim.folder / "sim")] == [
        [10, 10],
        [10, 10],
        [5, 10],
    ]


def killed_import(metal: Metal, files: list[Path], moment: str) -> None:
    started = metal.start("annotate", "import", "sim", *files)
    if moment != "at once":
        until(lambda: started.over or any(metal.cwd.glob(".sim.*")))
    started.send(signal.SIGKILL)
    until(lambda: started.over)


def test_a_killed_import_is_whole_or_not_there(processes: Metal, tmp_path: Path) -> None:
    metal = processes.at(tmp_path, environment(tmp_path))
    folder = save(tmp_path / "sim", count=10, criteria=TWO)
    metal("annotate", "export", "sim", "--to", "csv", "--out", "out", SHARES)
    files = fill_csv(folder, tmp_path / "out", careful)
    untouched = snapshot(folder)
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    for moment in ("at once", "while it writes", "while it writes"):
        killed_import(metal, files, moment)
        load_dataset(folder)  # clears away what is left
        now = snapshot(folder)
        if now != untouched:
            assert len(read_answers(folder)) == 16 * 3 * 2
            assert len(load_dataset(folder).ratings) == 240
            assert len(read_rounds(folder)) == 1
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
    metal("annotate", "import", "sim", *files)
    assert len(read_answers(folder)) == 16 * 3 * 2


def test_who_fails_is_named_on_import(commands: Commands) -> None:
    save(Path("sim"), count=20, languages=("en",))
    folder = export(commands, "csv", "--test-questions=25%+25%")
    files = fill_csv(
        Path("sim"), folder, like({"en-2": lambda *what: int(METAL[what[2]].direction == "lower")})
    )
    said = commands("annotate", "import", "sim", *files)
    assert "en-2 is noisy: " in said
    assert "--exclude-noisy leaves" in said
    assert "en-1 is noisy" not in said


def test_ratings_of_an_output_with_an_odd_id_stay_where_they_are(sim: Commands) -> None:
    """`test:positive:mine` is no test question; nobody asked it."""
    odd = Output("test:positive:mine", "en-0", "odd", "en", "text")
    dataset = load_dataset(sim.folder / "sim")
    update_dataset(
        with_parts(dataset, outputs=[*dataset.outputs.values(), odd]), sim.folder / "sim"
    )
    folder = export(sim)
    sim("annotate", "import", "sim", *fill_csv(sim.folder / "sim", folder, careful))
    table = load_dataset(sim.folder / "sim").ratings
    assert (table["output"] == odd.output).sum() == 6
    assert odd.output not in set(read_answers(sim.folder / "sim")["output"])


def test_pairs_are_tested_too(commands: Commands, tmp_path: Path) -> None:
    """Where outputs stand beside the gold, a positive question shows it twice: to call them alike
    is right.
    """
    save(tmp_path / "sim", count=12, languages=("en",), criteria=TWO)
    folder = export(
        commands, "csv", "--template", "summarization", "--add-criteria", "--test-questions=25%+25%"
    )
    tasks = {str(line["task"]): line for line in lines(tmp_path / "sim/annotation/tasks.jsonl")}
    golds = {
        text for one in load_dataset(tmp_path / "sim").sources.values() for text in one.references
    }
    compared = read_compared(tmp_path / "sim")
    files = sorted(folder.glob("*.csv"))
    for path, (_, rows) in zip(files, shown("csv", folder), strict=True):
        for row in rows:
            task = tasks[row["task"]]
            side = side_of(str(task["output"]))
            assert len(golds & set(row.values())) == {POSITIVE: 1, NEGATIVE: 2}.get(side, 1)
            # how the second text compares with the first
            worse = "5" if task["output_first"] else "1"
            on = {"fluency", "redundancy", "conciseness"} if side == NEGATIVE else compared
            row.update(
                {name: "3" if side == POSITIVE or name in on else worse for name in compared}
            )
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    said = commands("annotate", "import", "sim", *files)
    of_source = [
        name for name in compared if load_dataset(tmp_path / "sim").criteria[name].of_source
    ]
    # a gold is fluent wherever it stands
    assert of_source == ["no_hallucination", "informativeness", "overall"]
    answers = {POSITIVE: 6 * len(compared), NEGATIVE: 6 * len(of_source)}
    assert (
        f"en-1 {answers[POSITIVE]} of {answers[POSITIVE]} {answers[NEGATIVE]} of"
        f" {answers[NEGATIVE]}" in said
    )
    assert "noisy" not in said


def imported(sim: Commands) -> Path:
    """The file of answers, after everybody has answered."""
    sim("annotate", "import", "sim", *fill_csv(sim.folder / "sim", export(sim), careful))
    return sim.folder / "sim" / "test_questions" / "ratings.parquet"


def test_answers_are_checked_as_ratings_are(sim: Commands) -> None:
    """Once they counted: a score of 99 as a right answer, and what stood there twice as two
    answers.
    """
    path = imported(sim)
    answers = pd.read_parquet(path)
    for spoilt, said in (
        (pd.concat([answers, answers.iloc[:1]], ignore_index=True), "a second time"),
        (answers.assign(score=99.0), "score 99 is not on the scale"),
        (answers.assign(rater="ghost"), "rater 'ghost' does not exist"),
        (
            answers.assign(output="test:positive:en:nowhere"),
            "output 'test:positive:en:nowhere' does not exist",
        ),
    ):
        spoilt.to_parquet(path, index=False)
        for command in (("monitor", "sim"), ("leaderboard", "sim", "--exclude-noisy")):
            refused = sim.refused(*command, "--out", "page")
            assert said in refused
            assert "ratings.parquet row" in refused
    assert not (sim.folder / "page").exists()


def test_judges_alone_make_nobody_noisy(sim: Commands) -> None:
    """--exclude-noisy would have left out nobody, and signed that the noisy were left out."""
    imported(sim).unlink()
    sim("judge", "sim", "-j", "random", "--test-questions", "--out", "judged")
    refused = sim.refused("leaderboard", "sim", "judged", "--exclude-noisy", "--out", "page")
    assert tells(refused, "answers of judges", "not count")
