"""What `--force` may replace, verb by verb: what a message proposes is typed, and what is refused
stays as it was.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

import metal
from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Rater, Rating, Source
from metal.errors import UsageError
from tests.cli.forks import Metal, environment
from tests.cli.runs import snapshot
from tests.conftest import TASK_QUALITY
from tests.saying import tells

FAST = ("--resamples", "100")
# Verb -> the words that write `out` from the data, or from other data than before.
FOLDERS = {
    "import": "import {data}.csv --out {out}",
    "sample": "sample --source {data}.jsonl -l en -n 2 --bins 2 --allow-fewer --out {out}",
    "probe plan": "probe plan {data} --out {out} -n 2",
    "bias plan": "bias plan {data} --out {out}",
    "adjudicate plan": "adjudicate plan {data} --out {out}",
    "adjudicate report": "adjudicate report plan-of-{data} --out {out}",
    "annotate export": "annotate export {data} --to csv --out {out}",
    "judge": "judge {data} -j majority --out {out}",
    "generate": "generate {data} -q reference --out {out}",
    "score": "score {data} -m chrf --out {out}",
    "describe": "describe {data} --out {out}",
    "audit": "audit {data} --resamples 100 --out {out}",
    "jury": "jury {data} --out {out}",
    "select": "select {data} --out {out}",
    "correct": "correct {data} --out {out}",
    "monitor": "monitor {data} --out {out}",
    "leaderboard": "leaderboard {data} --out {out}",
    "billboard": "billboard {data} --resamples 100 --permutations 100 --out {out}",
    "billboard crowd": (
        "billboard crowd {data} --reference group=expert --resamples 100 --permutations 100 --out"
        " {out}"
    ),
    "billboard references": "billboard references {data} -m chrf --out {out}",
    "passport": "passport audit-of-{data} --out {out}",
    "verify": "verify audit-of-{data} --out {out}",
    "diff": "diff judged-{data} judged-one --out {out}",
    "export": "export {data} --to hf --out {out}",
    "view bundle": "view bundle {data} --out {out}",
}
FILES = {
    "export csv": "export {data} --to csv --out {out}.csv",
    "export jsonl": "export {data} --to jsonl --out {out}.jsonl",
    "export parquet": "export {data} --to parquet --out {out}.parquet",
    "billboard references": "billboard references {data} -m chrf --out {out}.csv",
}
AGAIN = {
    "audit",
    "jury",
    "select",
    "correct",
    "monitor",
    "leaderboard",
    "billboard",
    "diff",
    "passport",
    "verify",
    "judge",
    "adjudicate report",
}


def write_data(folder: Path, name: str, shift: int) -> None:
    """A dataset, with a table and passages beside it; other ratings by another shift."""
    people = {"A1": "expert", "A2": "expert", "A3": "crowd", "A4": "crowd"}
    raters = [Rater(rater, "human", group) for rater, group in people.items()]
    raters += [Rater(judge, "llm", judge) for judge in ("gpt-4", "llama")]
    sources, outputs, ratings = [], [], []
    for language, number in product(("en", "sw"), range(12)):
        source = f"{language}-{number // 2}"
        if number % 2 == 0:
            sources.append(
                Source(source, language, f"Text {number}.", "", [f"What is right on {number}."])
            )
        output = Output(
            f"{language}/{number}", source, f"g{number % 2}", language, f"Said of {number}."
        )
        if language == "en" or number < 10:
            outputs.append(output)
            for rater in raters:
                score = (number + shift + (rater.rater in ("A2", "llama") and number % 5 == 0)) % 3
                ratings.append(Rating(output.output, "task_quality", rater.rater, score))
    save_dataset(
        assemble(Card(name), [TASK_QUALITY], sources, outputs, raters, facts_from(ratings)),
        folder / name,
    )
    cells = product(range(9), ("A1", "A2", "gpt-4"))
    rows = "".join(f"o{number},{rater},{(number + shift) % 3}\n" for number, rater in cells)
    (folder / f"{name}.csv").write_text(f"id,rater,score\n{rows}", encoding="utf-8")
    passages = [
        {"id": f"p{number}", "language": "en", "text": "word " * (20 + number + shift)}
        for number in range(9)
    ]
    (folder / f"{name}.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in passages), encoding="utf-8"
    )


@pytest.fixture(scope="module")
def folders(processes: Metal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets of data, and runs of them and other folders that tests take copies of."""
    folder = tmp_path_factory.mktemp("made")
    metal = processes.at(folder, environment(folder))
    for shift, name in enumerate(("one", "two")):
        write_data(folder, name, shift)
        metal("audit", name, *FAST, "--out", f"audit-of-{name}")
        metal("judge", name, "-j", "majority,random", "--out", f"judged-{name}")
    metal("judge", "one", "-j", "majority", "--out", "judged")
    shutil.copytree(folder / "judged", folder / "paid")
    (folder / "paid" / "journal.jsonl").write_text('{"key":"00","kind":"verdict"}\n')
    metal("describe", "one", "--out", "described")
    (folder / "photos").mkdir()
    (folder / "photos" / "a.jpg").write_bytes(b"jpg")
    return folder


def bring(folders: Path, folder: Path, *names: str) -> None:
    """Copies of what is there."""
    for name in names:
        if (folders / name).is_dir():
            shutil.copytree(folders / name, folder / name)
        else:
            shutil.copy(folders / name, folder)


@pytest.fixture
def force(processes: Metal, folders: Path, tmp_path: Path) -> Metal:
    """`metal` in a folder with two sets of data."""
    for name in ("one", "two"):
        bring(folders, tmp_path, name, f"{name}.csv", f"{name}.jsonl")
    return processes.at(tmp_path, environment(tmp_path))


def beside(force: Metal, folders: Path, verb: str) -> None:
    """Bring what the verb needs beside the data."""
    if verb in ("passport", "verify"):
        bring(folders, force.cwd, "audit-of-one", "audit-of-two")
    if verb == "adjudicate report":
        for name in ("one", "two"):
            force("adjudicate", "plan", name, "--out", f"plan-of-{name}")
    if verb == "diff":
        bring(folders, force.cwd, "judged-one", "judged-two")


def words(verb: str, data: str) -> list[str]:
    return shlex.split((FOLDERS | FILES)[verb].format(data=data, out="out"))


@pytest.mark.slow
@pytest.mark.parametrize("verb", [*FOLDERS, *FILES])
def test_what_is_replaced_comes_back_with_the_command_that_is_shown(
    force: Metal, folders: Path, verb: str
) -> None:
    beside(force, folders, verb)
    force(*words(verb, "one"))
    out = force.cwd / words(verb, "one")[words(verb, "one").index("--out") + 1]
    first = whole(out)
    if verb != "diff":  # of the same judges by name: the same comparison done again
        said = force.refused(*words(verb, "two"))
        assert "--force" in said or verb in ("judge", "generate"), said
        assert whole(out) == first
    done = force(*words(verb, "two"), "--force")
    kept = out.with_name(f"{out.name}.replaced")
    assert whole(out) != first
    assert whole(kept) == first
    force(*words(verb, "two"), "--force")
    assert whole(kept) != first  # one copy is kept
    last = whole(kept)
    bring_back = re.search(r"to bring it back: (.+)", done.err)
    assert bring_back
    subprocess.run(bring_back[1], shell=True, check=True, cwd=force.cwd)
    assert whole(out) == last
    assert whole(out.with_name(f"{out.name}.new"))  # what was there is not gone either


def whole(place: Path) -> object:
    """All that is in a folder, or in a file."""
    if not place.is_dir():
        return place.read_bytes()
    return {name: content for name, content in snapshot(place).items() if name != ".lock"}


@pytest.mark.slow
@pytest.mark.parametrize("verb", FOLDERS)
def test_a_verb_replaces_nothing_that_another_wrote(force: Metal, folders: Path, verb: str) -> None:
    beside(force, folders, verb)
    bring(folders, force.cwd, "judged", "paid", "described", "photos")
    before = snapshot(force.cwd)
    for name, own in (
        ("one", "import"),
        ("judged", "judge"),
        ("paid", ""),
        ("described", "describe"),
        ("photos", ""),
    ):
        if own == verb:
            continue
        command = [*words(verb, "two")[:-1], name]
        if command[-2] != "--out":
            command = [name if word == "out" else word for word in words(verb, "two")]
        for more in ((), ("--force",)):
            said = force.refused(*command, *more)
            assert "--force" not in said, (name, said)
    assert snapshot(force.cwd) == before


def test_a_run_does_not_replace_peoples_ratings(force: Metal) -> None:
    before = snapshot(force.cwd)
    assert "one is a dataset; it is not replaced" in force.refused(
        "audit", "one.csv", "--out", "one", "--force"
    )
    assert "one is a dataset; to add" in force.refused(
        "score", "two", "-m", "chrf", "--out", "one", "--force"
    )
    assert snapshot(force.cwd) == before


def test_a_dataset_that_was_forgotten_is_asked_for(force: Metal) -> None:
    force("judge", "one", "-j", "majority", "--out", "runs/one-judges")
    said = force.refused("audit", "runs/one-judges")
    assert "--force" not in said
    assert "Give one instead" in said


@pytest.mark.parametrize(
    ("file", "content", "holds"),
    [
        ("annotation/answers.jsonl", "{}\n", "answers of people"),
        ("annotation/given.jsonl", "{}\n", "tasks handed out"),
        ("annotation/campaigns/first/card.toml", "", "campaigns"),
        ("board/history.jsonl", "{}\n", "a board's history"),
        ("gates.jsonl", "{}\n", "what a gate compares"),
    ],
)
def test_an_import_replaces_its_own_dataset_unless_people_or_a_board_added_to_it(
    force: Metal, file: str, content: str, holds: str
) -> None:
    force("import", "one.csv", "--out", "mine")
    force("import", "two.csv", "--out", "mine", "--force")
    place = force.cwd / "mine" / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    before = snapshot(force.cwd)
    for more in ((), ("--force",)):
        said = force.refused("import", "one.csv", "--out", "mine", *more)
        assert f"mine holds {holds}" in said
        assert tells(said, "move", "by hand")
        assert "--force" not in said
    assert snapshot(force.cwd) == before


def test_the_copy_that_is_kept_is_not_removed_where_it_holds_more(force: Metal) -> None:
    force("import", "one.csv", "--out", "mine")
    (force.cwd / "mine" / "notes.txt").write_text("by hand")
    assert "mine was replaced" in force("import", "two.csv", "--out", "mine", "--force").err
    before = snapshot(force.cwd)
    for more in ((), ("--force",)):
        said = force.refused("import", "one.csv", "--out", "mine", *more)
        assert "mine would be kept as mine.replaced, which holds notes.txt" in said
        assert "--force" not in said
    assert snapshot(force.cwd) == before


@pytest.mark.slow
def test_an_audit_done_again_keeps_what_a_user_put_beside_it(force: Metal) -> None:
    for _ in range(2):
        assert not force("audit", "one", *FAST, "--out", "a").err.count("replaced")
    assert not (force.cwd / "a.replaced").exists()
    (force.cwd / "a" / "notes.txt").write_text("by hand")
    assert tells(
        force("audit", "one", *FAST, "--out", "a").err,
        "a was replaced",
        "mv a a.new && mv a.replaced a",
    )
    assert (force.cwd / "a.replaced" / "notes.txt").read_text() == "by hand"


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted(AGAIN - {"judge"}))
def test_the_same_work_done_again_keeps_no_copy(force: Metal, folders: Path, verb: str) -> None:
    beside(force, folders, verb)
    force(*words(verb, "one"))
    first = whole(force.cwd / "out")
    assert "replaced" not in force(*words(verb, "one")).err
    assert whole(force.cwd / "out") == first
    assert not (force.cwd / "out.replaced").exists()


def test_tables_of_other_settings_come_back_after_an_audit_without_force(force: Metal) -> None:
    force("audit", "one", *FAST, "--out", "a")
    first = whole(force.cwd / "a")
    done = force("audit", "one", *FAST, "-c", "task_quality", "-l", "en", "--out", "a")
    assert tells(done.err, "a was replaced", "mv a a.new && mv a.replaced a")
    assert whole(force.cwd / "a") != first
    bring_back(force, done.err)
    assert whole(force.cwd / "a") == first


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["audit", "billboard", "passport"])
def test_a_report_that_you_edited_comes_back_after_the_same_verb_again(
    force: Metal, folders: Path, verb: str
) -> None:
    beside(force, folders, verb)
    force(*words(verb, "one"))
    page = force.cwd / "out" / "report.html"
    page.write_text("my words")
    done = force(*words(verb, "one"))
    assert page.read_text() != "my words"
    bring_back(force, done.err)
    assert page.read_text() == "my words"


def test_a_report_that_you_edited_comes_back_after_it_is_drawn_anew(force: Metal) -> None:
    force("audit", "one", *FAST, "--out", "a")
    assert "replaced" not in force("report", "a").err
    page = force.cwd / "a" / "report.html"
    page.write_text("my words")
    done = force("report", "a")
    assert "my words" not in page.read_text()
    bring_back(force, done.err)
    assert page.read_text() == "my words"


@pytest.mark.slow
def test_an_audit_done_again_does_not_remove_what_the_copy_holds(force: Metal) -> None:
    force("audit", "one", *FAST, "--out", "a")
    (force.cwd / "a" / "notes.txt").write_text("by hand")
    force("audit", "one", *FAST, "--out", "a")
    before = snapshot(force.cwd)
    force("audit", "one", *FAST, "--out", "a")  # nothing changes, and nothing is to be kept
    assert snapshot(force.cwd) == before
    said = force.refused("audit", "one", *FAST, "-l", "en", "--out", "a")
    assert "a would be kept as a.replaced, which holds notes.txt and is not removed" in said
    assert snapshot(force.cwd) == before


def test_sheets_that_people_filled_in_are_not_replaced(force: Metal) -> None:
    force("annotate", "export", "one", "--to", "csv", "--out", "sheets")
    sheet = next(path for path in sorted((force.cwd / "sheets").glob("*.csv")))
    sheet.write_bytes(sheet.read_bytes().replace(b",,\r\n", b",2,\r\n"))
    before = snapshot(force.cwd)
    said = force.refused("annotate", "export", "one", "--to", "csv", "--out", "sheets", "--force")
    assert tells(said, "sheets", f"filled in ({sheet.name})")
    assert snapshot(force.cwd) == before


def test_the_anchors_of_a_gate_are_not_imported_anew(force: Metal) -> None:
    force("import", "one.csv", "--out", "anchors")
    force("judge", "anchors", "-j", "fake:random", "--repeat", "2", "--out", "baseline")
    force("gate", "init", "anchors", "baseline", "--margin", "0.4", "--least", "1")
    assert tells(
        force.refused("import", "one.csv", "--out", "anchors", "--force"),
        "anchors",
        "a gate compares",
    )
    said = force.refused("gate", "init", "anchors", "baseline", "--margin", "0.3", "--least", "1")
    assert "gate.toml exists; give another --out, or --force to replace it" in said
    done = force(
        "gate", "init", "anchors", "baseline", "--margin", "0.3", "--least", "1", "--force"
    )
    assert "mv gate.toml gate.toml.new && mv gate.toml.replaced gate.toml" in done.err
    (force.cwd / "mine.toml").write_text("mine = true\n")
    said = force.refused(
        "gate", "init", "anchors", "baseline", "--out", "mine.toml", "--margin", "0.3", "--force"
    )
    assert tells(said, "mine.toml", "not written", "command")


def test_a_table_of_yours_is_not_replaced_by_an_export(force: Metal) -> None:
    before = (force.cwd / "one.csv").read_bytes()
    for more in ((), ("--force",)):
        said = force.refused("export", "two", "--to", "csv", "--out", "one.csv", *more)
        assert tells(said, "one.csv", "not written", "command")
    assert (force.cwd / "one.csv").read_bytes() == before


@pytest.mark.parametrize(
    "change", ["another order", "a column of theirs", "saved by a spreadsheet"]
)
@pytest.mark.parametrize("place", ["mine.csv", "mine.csv.replaced"])
def test_a_table_of_yours_with_the_heads_of_an_export_is_not_replaced(
    force: Metal, change: str, place: str
) -> None:
    force("export", "one", "--to", "csv", "--out", "mine.csv")
    exported = (force.cwd / "mine.csv").read_text()
    heads, rows = exported.split("\n", 1)
    heads = heads.rstrip("\r")
    changed = {
        "another order": ",".join(reversed(heads.split(","))) + "\n",
        "a column of theirs": f"{heads},my notes\n{rows}",
        "saved by a spreadsheet": f"\ufeff{exported}",
    }
    (force.cwd / place).write_text(changed[change], encoding="utf-8")
    before = snapshot(force.cwd)
    for more in ((), ("--force",)):
        said = force.refused("export", "two", "--to", "csv", "--out", "mine.csv", *more)
        assert "by hand" in said
        assert "--force" not in said
    assert snapshot(force.cwd) == before


@pytest.mark.parametrize("more", [(), ("--texts",)], ids=["bare", "texts"])
@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet"])
def test_an_export_is_known_as_one(force: Metal, to: str, more: tuple[str, ...]) -> None:
    force("export", "one", "--to", to, "--out", "table", *more)
    assert (
        "table was replaced"
        in force("export", "two", "--to", to, "--out", "table", "--force", *more).err
    )


def test_ratings_that_joined_a_dataset_are_not_replaced_by_importing_anew(force: Metal) -> None:
    rows = "".join(f"o{number},B{rater},1\n" for number in range(9) for rater in range(3))
    (force.cwd / "more.csv").write_text(f"id,rater,score\n{rows}")
    force("import", "one.csv", "--out", "mine")
    force("import", "more.csv", "--into", "mine")
    before = snapshot(force.cwd)
    for more in ((), ("--force",), ("--force",)):
        said = force.refused("import", "one.csv", "--out", "mine", *more)
        assert tells(said, "mine", "27 ratings", "(ratings.parquet)", "not replaced")
        assert tells(said, "move", "by hand")
        assert "--force" not in said
    assert snapshot(force.cwd) == before
    force("import", "two.csv", "--name", "mine", "--out", "other")
    shutil.move(force.cwd / "mine", force.cwd / "other.replaced")
    assert "other.replaced, which holds 27 ratings" in force.refused(
        "import", "one.csv", "--out", "other", "--force"
    )
    assert (force.cwd / "other.replaced" / "dataset.toml").is_file()


@pytest.mark.parametrize("verb", ["import", "export csv", "audit", "judge"])
def test_a_link_to_nothing_where_the_copy_would_be_kept(force: Metal, verb: str) -> None:
    force(*words(verb, "one"))
    out = words(verb, "one")[words(verb, "one").index("--out") + 1]
    (force.cwd / f"{out}.replaced").symlink_to(force.cwd / "gone")
    before = whole(force.cwd / out)
    said = force.refused(*words(verb, "two"), "--force")
    assert f"Move {out}.replaced away by hand first" in said
    assert whole(force.cwd / out) == before
    assert (force.cwd / f"{out}.replaced").is_symlink()


@pytest.mark.parametrize("more", [(), ("--force",)], ids=["", "force"])
def test_a_board_that_is_refused_records_nothing(force: Metal, more: tuple[str, ...]) -> None:
    before = snapshot(force.cwd)
    said = force.refused(
        "billboard", "one", "--resamples", "100", "--permutations", "100", "--out", "one", *more
    )
    assert "one is a dataset; it is not replaced" in said
    assert snapshot(force.cwd) == before


@pytest.mark.parametrize("out", ["notes.txt/board", "/proc/board", "o" * 252])
def test_a_board_whose_folder_cannot_be_made_records_nothing(force: Metal, out: str) -> None:
    (force.cwd / "notes.txt").write_text("mine")
    before = snapshot(force.cwd)
    said = force.refused(
        "billboard", "one", "--resamples", "100", "--permutations", "100", "--out", out
    )
    assert "give another --out" in said
    assert snapshot(force.cwd) == before


@pytest.mark.slow
def test_the_only_history_of_a_board_is_not_replaced(force: Metal) -> None:
    """The dataset's own folder cannot be written, so that its runs alone say what the board was
    like.
    """
    (force.cwd / "one" / "board").write_text("in the way of a history")
    command = words("billboard", "one")
    first = force(*command)
    assert "one cannot be written" in first.out
    force(*command)  # the same again
    before = whole(force.cwd / "out")
    for data, more in (("two", ()), ("two", ("--force",)), ("one", ("--force",))):
        said = force.refused(*words("billboard", data), *more)
        assert "--force" not in said
        assert tells(said, "only history", "(history.jsonl)", "not replaced") or not more
    assert whole(force.cwd / "out") == before
    shutil.move(force.cwd / "out", force.cwd / "second.replaced")
    force(*words("billboard", "two")[:-1], "second")
    said = force.refused(*words("billboard", "two")[:-1], "second", "--force")
    assert tells(said, "second.replaced", "only history")


@pytest.mark.slow
def test_an_older_history_of_a_board_outlives_a_change_of_data_that_cannot_be_written(
    force: Metal,
) -> None:
    (force.cwd / "one" / "board").write_text("in the way of a history")
    force(*words("billboard", "one"))
    before = whole(force.cwd / "out")
    write_data(force.cwd, "other", 1)
    for path in (force.cwd / "other").iterdir():
        shutil.copy(path, force.cwd / "one")
    for more in ((), ("--force",)):
        said = force.refused(*words("billboard", "one"), *more)
        assert tells(said, "only history", "(history.jsonl)", "not replaced")
        assert whole(force.cwd / "out") == before
    force(*words("billboard", "one")[:-1], "later")


@pytest.mark.slow
def test_another_look_at_a_board_that_cannot_be_written_keeps_its_history(force: Metal) -> None:
    (force.cwd / "one" / "board").write_text("in the way of a history")
    force(*words("billboard", "one"))
    history = [
        json.loads(line) for line in (force.cwd / "out" / "history.jsonl").read_text().splitlines()
    ]
    for seed in ("1", "2"):
        done = force(*words("billboard", "one"), "--seed", seed)
        assert "out was replaced" in done.err
    again = [
        json.loads(line) for line in (force.cwd / "out" / "history.jsonl").read_text().splitlines()
    ]
    assert [entry["digest"] for entry in again] == [entry["digest"] for entry in history]


def test_a_draw_that_people_rated_by_comes_back_with_the_command_that_is_shown(
    force: Metal,
) -> None:
    force("sample", "labels", "one", "--labels", "3")
    drawn = force.cwd / "one" / "annotation" / "drawn.jsonl"
    before = drawn.read_bytes()
    assert "earlier sources" in force.refused(
        "sample", "labels", "one", "--labels", "2", "--seed", "9"
    )
    assert drawn.read_bytes() == before
    done = force("sample", "labels", "one", "--labels", "2", "--seed", "9", "--force")
    assert drawn.read_bytes() != before
    bring_back = re.search(r"to bring it back: (.+)", done.err)
    assert bring_back
    subprocess.run(bring_back[1], shell=True, check=True, cwd=force.cwd)
    assert drawn.read_bytes() == before


def bring_back(force: Metal, err: str) -> None:
    """Type the command that is said to bring back what was replaced."""
    commands = re.findall(r"to bring (?:it back|them back|back what was there): (.+)", err)
    assert len(commands) == 1, err
    subprocess.run(commands[0], shell=True, check=True, cwd=force.cwd)


def test_scores_that_another_metric_of_the_name_replaced_come_back(force: Metal) -> None:
    rows = [
        json.loads(line)["output"]
        for line in (force.cwd / "one" / "outputs.jsonl").read_text().splitlines()
    ]
    for number in (1, 2):
        table = "".join(f"{output},{number}\n" for output in rows)
        (force.cwd / f"{number}.csv").write_text(f"output,score\n{table}")
    command = ("score", "one", "--name", "comet", "--into", "--from-file")
    force(*command, "1.csv")
    before = whole(force.cwd / "one")
    done = force(*command, "2.csv", "--force")
    assert metal.read(force.cwd / "one").ratings.query("rater == 'comet'")["score"].eq(2).all()
    assert "to bring" not in force(*command, "2.csv", "--force").err  # nothing was lost
    bring_back(force, done.err)
    assert metal.read(force.cwd / "one").ratings.query("rater == 'comet'")["score"].eq(1).all()
    after = whole(force.cwd / "one")
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert {name: after[name] for name in before if name in after} == before


def test_anchors_that_another_draw_replaced_come_back(force: Metal) -> None:
    lines = [
        json.loads(line) for line in (force.cwd / "one" / "sources.jsonl").read_text().splitlines()
    ]
    shared = [json.dumps(line | {"content": line["source"][-1]}) + "\n" for line in lines]
    (force.cwd / "one" / "sources.jsonl").write_text("".join(shared))
    command = ("design", "anchors", "one", "--contents", "2", "--seed")
    force(*command, "1")
    drawn = force.cwd / "one" / "annotation" / "drawn.jsonl"
    before = drawn.read_bytes()
    done = force(*command, "3", "--force")
    assert drawn.read_bytes() != before
    bring_back(force, done.err)
    assert drawn.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--figures", "--latex"])
def test_a_figure_that_you_changed_comes_back_after_a_report(force: Metal, option: str) -> None:
    force("audit", "one", *FAST, "--out", "audited")
    assert "replaced" not in force("report", "audited", option, "paper").err
    mine = sorted((force.cwd / "paper").iterdir())[0]
    mine.write_text("my colours")
    done = force("report", "audited", option, "paper")
    assert mine.read_bytes() != b"my colours"
    assert "replaced" not in force("report", "audited", option, "paper").err  # the same files
    bring_back(force, done.err)
    assert mine.read_text() == "my colours"
    (force.cwd / "paper.replaced" / "notes.txt").write_text("mine")
    assert "paper.replaced holds notes.txt" in force.refused("report", "audited", option, "paper")
    assert mine.read_text() == "my colours"


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--figures", "--latex"])
def test_your_folder_in_the_place_of_copies_keeps_your_files(force: Metal, option: str) -> None:
    """Also where they are called as METAL's are, or were changed since METAL put them there."""
    force("audit", "one", *FAST, "--out", "audited")
    force("report", "audited", option, "paper")
    first, second = sorted((force.cwd / "paper").iterdir())[:2]
    yours = force.cwd / "paper.replaced" / first.name
    yours.parent.mkdir()
    yours.write_text("mine")
    first.write_text("my colours")
    refused = force.refused("report", "audited", option, "paper")
    assert tells(refused, f"paper.replaced holds {first.name}", "Move paper.replaced away")
    assert (yours.read_text(), first.read_text()) == ("mine", "my colours")
    shutil.rmtree(yours.parent)
    force("report", "audited", option, "paper")
    second.write_text("other colours")
    force("report", "audited", option, "paper")  # METAL's own copy makes room for another
    copy = yours.with_name(second.name)
    copy.write_text("edited in the copy")
    second.write_text("other colours")
    assert "is not replaced" in force.refused("report", "audited", option, "paper")
    assert copy.read_text() == "edited in the copy"


def test_a_table_of_yours_with_a_column_of_references_is_not_replaced(force: Metal) -> None:
    (force.cwd / "mine.csv").write_text("id,references\na,b\n")
    said = force.refused(
        "billboard", "references", "one", "-m", "chrf", "--out", "mine.csv", "--force"
    )
    assert tells(said, "mine.csv", "not written", "command")
    assert (force.cwd / "mine.csv").read_text() == "id,references\na,b\n"


def test_other_ratings_are_not_saved_over_a_dataset_as_its_update(force: Metal) -> None:
    force("import", "one.csv", "--out", "mine")
    before = snapshot(force.cwd)
    other = metal.read(force.cwd / "two.csv")
    with pytest.raises(
        UsageError, match=r"mine has another score for 27 ratings; nothing was written.*into="
    ):
        other.save(force.cwd / "mine", update=True)
    assert snapshot(force.cwd) == before
    metal.read(force.cwd / "mine").save(force.cwd / "mine", update=True)
