"""A dataset folder: round trips, and one clear message for each fault; which people are the
reference.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metal.data import ratings_files
from metal.data.dataset import (
    Card,
    Dataset,
    assemble,
    dataset_to_change,
    load_dataset,
    read_run,
    save_dataset,
    update_dataset,
    with_ratings,
)
from metal.data.files import read_json, read_jsonl
from metal.data.people import people_named
from metal.data.ratings import facts_from
from metal.data.ratings_files import read_facts, write_facts
from metal.data.records import Criterion, Output, Rater, Rating, Scale, Source
from metal.errors import DataError, MetalError, UnknownName, UsageError

TOML = """
name = "small"
[criteria.task_quality]
measure = "ordinal"
levels = [{ value = 0, label = "Bad" }, { value = 1, label = "Medium" }, { value = 2, label = "Good" }]
[criteria.length]
measure = "interval"
"""  # noqa: E501
HEADER = "output,criterion,rater,score,reason,comment\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "dataset.toml").write_text(TOML)
    (folder / "sources.jsonl").write_text('{"source": "s1", "language": "hi", "text": "नदी"}\n')
    (folder / "outputs.jsonl").write_text(
        '{"output": "o1", "source": "s1", "generator": "g", "language": "hi", "text": "x"}\n'
        '{"output": "o2", "source": "s1", "generator": "h", "language": "hi"}\n'
    )
    (folder / "raters.jsonl").write_text(
        '{"rater": "A1", "kind": "human", "group": "native"}\n'
        '{"rater": "gpt-4/simple", "kind": "llm", "model": "gpt-4", "prompt": "simple"}\n'
    )
    (folder / "ratings.csv").write_text(
        HEADER + 'o1,task_quality,A1,2,,"good,'
        ' really"\no2,task_quality,A1,,skipped,\no1,length,gpt-4/simple,0.25,,\n'
    )
    return folder


def test_reads_and_writes_the_same(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(folder)
    assert list(dataset.ratings["kind"]) == ["human", "human", "llm"]
    assert dataset.ratings["comment"][0] == "good, really"
    assert np.isnan(dataset.ratings["score"][1])
    assert dataset.raters["gpt-4/simple"].about["prompt"] == "simple"
    save_dataset(dataset, tmp_path / "again")
    again = load_dataset(tmp_path / "again")
    assert again.digest == dataset.digest
    assert again.criteria == dataset.criteria
    assert again.sources == dataset.sources
    assert again.outputs == dataset.outputs
    assert again.raters == dataset.raters
    pd.testing.assert_frame_equal(
        again.ratings.astype({"score": float}).astype(str),
        dataset.ratings.astype({"score": float}).astype(str),
    )


def test_a_dataset_is_shown_in_a_line_and_a_small_table(folder: Path) -> None:
    dataset = load_dataset(str(folder))
    assert (
        repr(dataset)
        == "Dataset('small': 1 source, 2 outputs, 2 raters, 3 ratings; hi; 2 criteria)"
    )
    cells = re.findall("<t[hd]>(.*)</t", dataset._repr_html_())
    assert cells == ["", "task_quality", "length", "hi", "2", "1"]
    (folder / "ratings.csv").write_text(HEADER)
    assert "<td>0</td>" in load_dataset(folder)._repr_html_()


def test_hostile_names_are_shown_as_text(folder: Path) -> None:
    name = "<script>alert(1)</script>"
    for file in ("dataset.toml", "ratings.csv"):
        text = (folder / file).read_text().replace('"small"', f'"{name}\\n\\u202e"')
        text = text.replace("[criteria.length]", f'[criteria."{name}"]').replace("length", name)
        (folder / file).write_text(text)
    dataset = load_dataset(folder)
    assert "\n" not in repr(dataset)
    assert "\u202e" not in repr(dataset)
    assert name in dataset.criteria
    assert "<script" not in dataset._repr_html_()


def test_a_dataset_saves_itself(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(folder)
    dataset.save(str(tmp_path / "mine"))
    with pytest.raises(UsageError, match="exists"):
        dataset.save(str(tmp_path / "mine"))
    dataset.save(tmp_path / "mine", force=True)
    (tmp_path / "mine" / "notes.txt").touch()
    dataset.save(str(tmp_path / "mine"), update=True)
    assert (tmp_path / "mine" / "notes.txt").is_file()
    assert load_dataset(tmp_path / "mine").digest == dataset.digest


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_three_formats_hold_the_same(folder: Path, ending: str) -> None:
    dataset = load_dataset(folder)
    facts = read_facts(folder / "ratings.csv").astype({"reason": str})
    (folder / "ratings.csv").unlink()
    if ending == ".csv":
        facts.to_csv(folder / "ratings.csv", index=False)
    elif ending == ".jsonl":
        facts.to_json(folder / "ratings.jsonl", orient="records", lines=True)
    else:
        write_facts(facts, folder / "ratings.parquet")
    assert load_dataset(folder).digest == dataset.digest


def test_digest_does_not_depend_on_the_order_of_rows(folder: Path) -> None:
    before = load_dataset(folder).digest
    lines = (folder / "ratings.csv").read_text().splitlines()
    (folder / "ratings.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert load_dataset(folder).digest == before
    (folder / "ratings.csv").write_text("\n".join(lines).replace(",2,", ",1,") + "\n")
    assert load_dataset(folder).digest != before


def test_digest_changes_with_what_is_known_of_a_rater(folder: Path) -> None:
    """A board's figures depend on who is in the reference group, and on whose family a judge is."""
    before = load_dataset(folder).digest
    lines = [json.loads(line) for line in (folder / "raters.jsonl").read_text().splitlines()]
    for change in ({"group": "another"}, {"family": "another"}, {"dollars_per_thousand": 5}):
        changed = [lines[0] | change, *lines[1:]]
        (folder / "raters.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in changed))
        assert load_dataset(folder).digest != before


def ratings(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "ratings.csv").write_text(HEADER + text) and None


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def appended(name: str, line: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text((folder / name).read_text() + line) and None


FAULTS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "off the scale": (
        ratings("o1,task_quality,A1,3,,\n"),
        [
            "ratings.csv row 2",
            "score 3",
            "0 Bad, 1 Medium, 2 Good",
            "begins at 3",
            "`shifts={'task_quality': '-3'}`",
        ],
    ),
    "infinite": (ratings("o1,length,A1,inf,,\n"), ["row 2", "score inf"]),
    "no score and no reason": (
        ratings("o1,task_quality,A1,1,,\no2,task_quality,A1,,,\n"),
        ["row 3", "reason"],
    ),
    "rated twice": (
        ratings("o1,task_quality,A1,1,,\no2,task_quality,A1,1,,\no1,task_quality,A1,1,,\n"),
        ["row 4", "'A1'", "'o1'", "a second time", "first in row 2"],
    ),
    "unknown output": (
        ratings("o3,task_quality,A1,1,,\n"),
        ["row 2", "output 'o3'", "did you mean 'o2' or 'o1'?", "outputs.jsonl"],
    ),
    "unknown criterion": (
        ratings("o1,task_qualty,A1,1,,\n"),
        ["row 2", "'task_qualty'", "did you mean 'task_quality'"],
    ),
    "unknown rater": (ratings("o1,task_quality,Q,1,,\n"), ["row 2", "rater 'Q'", "raters.jsonl"]),
    "empty name": (ratings(",task_quality,A1,1,,\n"), ["row 2", "output is empty"]),
    "unknown column": (
        replaced("ratings.csv", "rater", "ratr"),
        ["unknown column 'ratr'", "'rater'", "metal.read"],
    ),
    "missing column": (
        replaced("ratings.csv", ",score", ""),
        ["no column 'score'", "output, criterion, rater"],
    ),
    "no number": (ratings("o1,task_quality,A1,good,,\n"), ["row 2", "'good' is not a number"]),
    "ragged row": (ratings("o1,task_quality,A1,1,,\no2,task_quality,A1\n"), ["row 3", "3 fields"]),
    "empty ratings": (
        lambda folder: (folder / "ratings.csv").write_bytes(b"") and None,
        ["ratings.csv", "empty"],
    ),
    "not UTF-8": (
        lambda folder: (
            (folder / "ratings.csv").write_bytes(
                (HEADER + "o1,task_quality,A1,1,,\no2,task_quality,A1,1,,caf\xe9\n").encode(
                    "latin-1"
                )
            )
            and None
        ),
        ["line 3", "not UTF-8", "0xe9", "CSV UTF-8"],
    ),
    "not UTF-8 JSONL": (
        lambda folder: (folder / "sources.jsonl").write_bytes(b'{"source": "\xff"}\n') and None,
        ["sources.jsonl line 1", "not UTF-8"],
    ),
    "unknown language": (
        replaced("outputs.jsonl", '"hi"', '"hindi"'),
        ["outputs.jsonl row 1", "'hindi' is not a language code", "Write 'hi'"],
    ),
    "unknown source": (
        replaced("outputs.jsonl", '"s1"', '"s9"'),
        ["outputs.jsonl row 1", "source 's9'", "does not exist"],
    ),
    "output twice": (
        replaced("outputs.jsonl", '"o2"', '"o1"'),
        ["outputs.jsonl row 2", "'o1'", "twice"],
    ),
    "rater twice": (
        appended("raters.jsonl", '{"rater": "A1", "kind": "human"}\n'),
        ["raters.jsonl row 3", "twice"],
    ),
    "unknown kind": (
        replaced("raters.jsonl", "human", "person"),
        ["raters.jsonl row 1", "'person'", "human, llm"],
    ),
    "unknown key": (
        replaced("outputs.jsonl", "generator", "genrator"),
        ["outputs.jsonl row 1", "'generator'"],
    ),
    "not JSON": (appended("raters.jsonl", "{oops\n"), ["raters.jsonl line 3", "not JSON"]),
    "not an object": (
        appended("raters.jsonl", "[1]\n"),
        ["raters.jsonl line 3", "not a JSON object"],
    ),
    "file missing": (
        lambda folder: (folder / "raters.jsonl").unlink(),
        ["raters.jsonl", "missing"],
    ),
    "no ratings": (lambda folder: (folder / "ratings.csv").unlink(), ["no ratings file"]),
    "two ratings files": (
        lambda folder: (folder / "ratings.jsonl").touch(),
        ["ratings.csv", "ratings.jsonl", "Keep one"],
    ),
    "no dataset": (
        lambda folder: (folder / "dataset.toml").unlink(),
        ["dataset.toml is missing", "metal.read"],
    ),
    "not TOML": (replaced("dataset.toml", "name =", "name"), ["dataset.toml", "not TOML"]),
    "no name": (replaced("dataset.toml", 'name = "small"', ""), ["no name"]),
    "no criteria": (
        lambda folder: (folder / "dataset.toml").write_text('name = "x"\n') and None,
        ["no criteria"],
    ),
    "unknown criterion key": (
        replaced("dataset.toml", 'measure = "ordinal"', 'mesure = "ordinal"'),
        ["'measure'"],
    ),
    "levels do not rise": (
        replaced("dataset.toml", "value = 0", "value = 9"),
        ["task_quality", "do not rise"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_one_clear_line(folder: Path, fault: str) -> None:
    change, message = FAULTS[fault]
    change(folder)
    with pytest.raises(MetalError) as error:
        load_dataset(folder)
    text = str(error.value)
    assert "\n" not in text
    for part in message:
        assert part in text


def test_no_folder_and_no_parquet(folder: Path) -> None:
    with pytest.raises(MetalError, match="no such dataset folder"):
        load_dataset(folder / "nothing")
    (folder / "ratings.csv").rename(folder / "ratings.parquet")
    with pytest.raises(MetalError, match="not a Parquet file"):
        load_dataset(folder)


def test_existing_folders_are_replaced_only_when_asked(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(folder)
    with pytest.raises(MetalError, match="`force=True`"):
        save_dataset(dataset, folder)
    save_dataset(dataset, folder, force=True)
    foreign = tmp_path / "letters"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear")
    with pytest.raises(MetalError, match="not replaced"):
        save_dataset(dataset, foreign, force=True)
    assert (foreign / "letter.txt").read_text() == "dear"
    assert [path.name for path in tmp_path.glob(".*")] == [".small.lock"]


@pytest.fixture
def restless(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Dataset]:
    """What a writer that never rests puts in the folder's place: each time while a reader is
    between two files, unless it has to wait for the reader.
    """
    one = load_dataset(folder)
    (folder / "ratings.csv").write_text((folder / "ratings.csv").read_text().replace("A1", "B1"))
    (folder / "raters.jsonl").write_text((folder / "raters.jsonl").read_text().replace("A1", "B1"))
    two, find, written = load_dataset(folder), ratings_files.find_ratings, []

    def find_ratings(place: Path) -> Path:
        handle = os.open(folder, os.O_RDONLY)
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(handle, fcntl.LOCK_UN)
            assert len(written) < 9, "this reader would never end"
            written.append((one, two)[len(written) % 2])
            save_dataset(written[-1], folder, force=True)
        os.close(handle)
        return find(place)

    monkeypatch.setattr("metal.data.dataset.ratings_files.find_ratings", find_ratings)
    return written


def test_old_and_new_files_never_mix_and_a_reader_comes_to_its_end(
    folder: Path, restless: list[Dataset]
) -> None:
    read = load_dataset(folder)
    assert len(restless) == 2  # then the writer has to wait
    assert read.digest == restless[-1].digest


def test_the_same_of_a_run(folder: Path, restless: list[Dataset]) -> None:
    raters, facts, _ = read_run(folder)
    assert len(restless) == 2
    assert {rater.rater for rater in raters} == set(facts["rater"])


def test_a_folder_that_is_replaced_is_there_at_any_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace_and_look(one: Path, other: Path) -> None:
        rename(one, other)
        assert folder.is_dir()

    rename = os.replace
    monkeypatch.setattr(os, "replace", replace_and_look)
    before = folder.stat().st_ino
    save_dataset(load_dataset(folder), folder, force=True)
    assert folder.stat().st_ino != before


def test_where_folders_cannot_be_exchanged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who comes in the instant without the folder waits for it."""
    dataset = load_dataset(folder)
    monkeypatch.setattr("ctypes.CDLL", lambda _: None)
    save_dataset(dataset, folder, force=True)
    assert load_dataset(folder).digest == dataset.digest
    old = folder.with_name(f".small.{os.getpid()}.old")
    folder.rename(old)
    monkeypatch.setattr("metal.data.files.time.sleep", lambda _: shutil.copytree(old, folder))
    assert load_dataset(folder).digest == dataset.digest


def test_the_lock_lies_beside_the_dataset(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For any user who may write there; it stays the same file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = os.umask(0o077)
    try:
        update_dataset(load_dataset(folder), folder)
    finally:
        os.umask(before)
    lock = (folder.parent / ".small.lock").stat()
    assert stat.S_IMODE(lock.st_mode) == 0o666
    update_dataset(load_dataset(folder), folder)
    assert (folder.parent / ".small.lock").stat().st_ino == lock.st_ino
    assert not list(temporary.iterdir())
    with (
        pytest.raises(UsageError, match="no such dataset folder"),
        dataset_to_change(folder.with_name("typo")),
    ):
        pass
    assert not list(folder.parent.glob(".typo*"))


def test_a_folder_that_may_not_be_written_to_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = load_dataset(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    with pytest.raises(UsageError, match="change its rights"):
        save_dataset(dataset, folder, force=True)
    assert (folder / "ratings.csv").is_file()


def test_what_is_secret_stays_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replaced folder keeps its rights; until then nobody else can look into the new one."""
    folder.chmod(0o750)
    (folder / "key").touch(0o600)
    rights = []
    write = ratings_files.write_facts
    monkeypatch.setattr(
        ratings_files,
        "write_facts",
        lambda facts, path: (rights.append(path.parent.stat()), write(facts, path)),
    )
    update_dataset(load_dataset(folder), folder)
    modes = [
        stat.S_IMODE(each.st_mode) for each in (*rights, folder.stat(), (folder / "key").stat())
    ]
    assert modes == [0o700, 0o750, 0o600]


def test_what_a_killed_process_left_is_cleared_and_nothing_is_lost(folder: Path) -> None:
    """Killed between moving the old folder away and the new one in: the old one comes back."""
    dead = 2**22 + 1  # above the largest process id Linux gives
    digest = load_dataset(folder).digest
    old, part = (folder.parent / f".{folder.name}.{dead}.{ending}" for ending in ("old", "part"))
    folder.rename(old)
    part.mkdir()
    alive = folder.parent / f".{folder.name}.{os.getpid()}.part"
    alive.mkdir()
    assert load_dataset(folder).digest == digest
    assert not old.exists()
    assert not part.exists()
    assert alive.exists()


def test_hostile_text_survives_a_round_trip(folder: Path, tmp_path: Path) -> None:
    text = 'tab\t "quote" </script> \u202e \u2028 =1+1 \x00 end'
    record = {
        "output": "o1",
        "source": "s1",
        "generator": "g",
        "language": "hi",
        "text": text,
        "note": "\ud800",
    }
    (folder / "outputs.jsonl").write_text(json.dumps(record) + "\n")
    (folder / "ratings.csv").write_text(HEADER + "o1,task_quality,A1,1,,\n")
    save_dataset(load_dataset(folder), tmp_path / "out")
    output = load_dataset(tmp_path / "out").outputs["o1"]
    assert output.text == text
    assert "\ud800" not in output.note


# ---------------------------------------------------------------- tokens, what is chosen, what is
# wrong


def test_tokens_choice_and_flags_survive_a_round_trip(folder: Path, tmp_path: Path) -> None:
    source = {
        "source": "s1",
        "language": "hi",
        "text": "नदी",
        "references": ["a", "ب"],
        "tokens": 0,
    }
    outputs = [
        {
            "output": "o1",
            "source": "s1",
            "generator": "g",
            "language": "hi",
            "tokens": 7,
            "flags": ["cut", "قصير"],
        },
        {"output": "o2", "source": "s1", "generator": "h", "language": "hi", "chosen": False},
    ]
    (folder / "sources.jsonl").write_text(json.dumps(source) + "\n")
    (folder / "outputs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in outputs))
    save_dataset(load_dataset(folder), tmp_path / "again")
    again = load_dataset(tmp_path / "again")
    assert (again.sources["s1"].tokens, again.sources["s1"].references) == (0, ("a", "ب"))
    first, second = again.outputs["o1"], again.outputs["o2"]
    assert (first.tokens, first.chosen, first.flags) == (7, True, ("cut", "قصير"))
    assert (second.tokens, second.chosen, second.flags) == (None, False, ())


def test_what_is_not_known_is_not_written(folder: Path, tmp_path: Path) -> None:
    save_dataset(load_dataset(folder), tmp_path / "again")
    for name in ("sources.jsonl", "outputs.jsonl"):
        for line in (tmp_path / "again" / name).read_text().splitlines():
            assert not json.loads(line).keys() & {"tokens", "chosen", "flags", "note", "title"}


@pytest.mark.parametrize(
    ("file", "key", "value", "message"),
    [
        *(
            (file, "tokens", value, f"tokens is {value!r}. Write a whole number")
            for file in ("sources.jsonl", "outputs.jsonl")
            for value in (-1, 1.5, "5", True)
        ),
        *(
            ("outputs.jsonl", "chosen", value, "chosen is neither true")
            for value in ("no", 0, None)
        ),
        *(
            ("outputs.jsonl", "flags", value, "flags is not a list of texts")
            for value in ("cut", [1], {"a": 1})
        ),
        ("sources.jsonl", "references", ["a", None], "references is not a list of texts"),
        *(("sources.jsonl", key, 5, f"{key} is not a text") for key in ("text", "title")),
        *(("outputs.jsonl", key, ["a"], f"{key} is not a text") for key in ("text", "note")),
    ],
)
def test_lines_that_say_something_else(
    folder: Path, file: str, key: str, value: object, message: str
) -> None:
    first, *rest = (folder / file).read_text().splitlines()
    (folder / file).write_text(
        "\n".join([json.dumps(json.loads(first) | {key: value}), *rest]) + "\n"
    )
    with pytest.raises(MetalError) as caught:
        load_dataset(folder)
    assert f"{file} row 1: {message}" in str(caught.value)


# ---------------------------------------------------------------- further files


def test_further_files_are_written_with_the_dataset(folder: Path, tmp_path: Path) -> None:
    save_dataset(
        load_dataset(folder),
        tmp_path / "again",
        files={"a.svg": b"<svg/>", "prompts/criteria/x.toml": b""},
    )
    assert (tmp_path / "again" / "a.svg").read_bytes() == b"<svg/>"
    assert (tmp_path / "again" / "prompts" / "criteria" / "x.toml").is_file()
    assert load_dataset(tmp_path / "again").digest == load_dataset(folder).digest


def test_an_update_keeps_what_else_lies_there(folder: Path) -> None:
    (folder / "prompts" / "empty").mkdir(parents=True)
    (folder / "prompts" / "mine.txt").write_text("mine")
    (folder / "notes.txt").write_text("old")
    (folder / "link").symlink_to("prompts/mine.txt")
    dataset = load_dataset(folder)
    update_dataset(dataset, folder, {"notes.txt": b"new", "prompts/more.txt": b"more"})
    assert load_dataset(folder).digest == dataset.digest  # and not two ratings files
    assert not (folder / "ratings.csv").exists()
    assert (folder / "prompts" / "mine.txt").read_text() == "mine"
    assert (folder / "prompts" / "empty").is_dir()
    assert (folder / "prompts" / "more.txt").read_text() == "more"
    assert (folder / "notes.txt").read_text() == "new"
    assert (folder / "link").readlink() == Path("prompts/mine.txt")
    assert sorted(path.name for path in folder.parent.iterdir()) == [".small.lock", "small"]


def test_an_update_through_a_link_changes_what_it_points_to(folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder.name)
    update_dataset(load_dataset(link), link, {"notes.txt": b"new"})
    assert link.is_symlink()
    assert (folder / "notes.txt").read_text() == "new"
    assert sorted(path.name for path in folder.parent.iterdir()) == [".small.lock", "link", "small"]


def test_a_folder_can_be_updated_from_inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    update_dataset(load_dataset(Path()), Path(), {"notes.txt": b"new"})
    assert (folder / "notes.txt").read_text() == "new"


def test_ratings_that_came_meanwhile_are_not_lost(folder: Path) -> None:
    older = load_dataset(folder)
    with (folder / "ratings.csv").open("a") as file:
        file.write("o2,length,A1,7,,\n")
    newer = load_dataset(folder)
    with pytest.raises(UsageError, match="nothing was written"):
        update_dataset(older, folder)
    assert load_dataset(folder).digest == newer.digest
    update_dataset(newer, folder)
    assert load_dataset(folder).digest == newer.digest


def test_a_dataset_without_ratings_is_updated(folder: Path) -> None:
    full = load_dataset(folder)
    (folder / "ratings.csv").write_text(HEADER)
    empty = load_dataset(folder)
    update_dataset(empty, folder)  # none to none, written as Parquet
    update_dataset(empty, folder)
    update_dataset(full, folder)  # none to some
    assert load_dataset(folder).digest == full.digest


@pytest.mark.parametrize(("write", "name"), [(save_dataset, "out"), (update_dataset, "small")])
def test_a_write_that_fails_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Dataset, Path], None], name: str
) -> None:
    (folder / "notes.txt").write_text("mine")
    dataset = load_dataset(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("metal.data.ratings_files.write_facts", fail)
    with pytest.raises(OSError, match="disk full"):
        write(dataset, folder.with_name(name))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert {path.name for path in folder.parent.iterdir()} <= {".small.lock", "small"}


def run_folder(folder: Path, raters: str, facts: str) -> Path:
    run = folder.parent / "run"
    run.mkdir()
    (run / "raters.jsonl").write_text(raters)
    (run / "ratings.csv").write_text(HEADER + facts)
    return run


def test_more_ratings_from_a_run(folder: Path) -> None:
    run = run_folder(
        folder,
        '{"rater": "new", "kind": "llm"}\n',
        "o1,task_quality,new,0,,\no2,task_quality,new,,refused,\n",
    )
    dataset = with_ratings(load_dataset(folder), run)
    assert len(dataset.ratings) == 5
    assert set(dataset.raters) == {"A1", "gpt-4/simple", "new"}


@pytest.mark.parametrize(
    ("raters", "facts", "message"),
    [
        ('{"rater": "new", "kind": "llm"}\n', "o7,task_quality,new,0,,\n", "row 2: output 'o7'"),
        ('{"rater": "A1", "kind": "llm"}\n', "o1,task_quality,A1,0,,\n", "a different rater"),
        ("", "o1,task_quality,A1,0,,\n", "in the dataset already"),
    ],
)
def test_runs_that_do_not_fit(folder: Path, raters: str, facts: str, message: str) -> None:
    run = run_folder(folder, raters, facts)
    with pytest.raises(MetalError, match=message):
        with_ratings(load_dataset(folder), run)


def test_a_million_ratings_are_columns_not_objects(tmp_path: Path) -> None:
    """Reading works on whole columns: names are categories, so that memory holds each name once."""
    items = 200_000
    frame = pd.DataFrame(
        {
            "output": np.repeat([f"o{i}" for i in range(items // 20)], 20),
            "criterion": "task_quality",
            "rater": np.tile([f"r{i}" for i in range(20)], items // 20),
            "score": 1.0,
        }
    )
    frame.to_parquet(tmp_path / "ratings.parquet")
    facts = read_facts(tmp_path / "ratings.parquet")
    assert {facts[name].dtype.name for name in ("output", "criterion", "rater", "reason")} == {
        "category"
    }
    assert facts.memory_usage(deep=True).drop("comment").sum() / items < 40  # bytes a rating


def of(*raters: Rater) -> Dataset:
    return assemble(
        Card("made"),
        [Criterion("q", Scale("interval"))],
        [Source("s", "en")],
        [Output("o", "s", "g", "en")],
        raters,
        facts_from(Rating("o", "q", rater.rater, 1) for rater in raters),
    )


PEOPLE = of(
    Rater("E2", "human", "expert"),
    Rater("E1", "human", "expert"),
    Rater("W1", "human", "crowd"),
    Rater("X", "human"),
    Rater("a=b", "human", "x=y"),
    Rater("judge", "llm", "expert"),
)


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("", ("E1", "E2", "W1", "X", "a=b")),
        ("expert", ("E1", "E2")),
        ("group=expert", ("E1", "E2")),
        ("crowd", ("W1",)),
        ("group=x=y", ("a=b",)),
        ("rater=W1", ("W1",)),
        ("rater=X, E1 ,X,", ("E1", "X")),
        ("rater=a=b", ("a=b",)),
    ],
)
def test_people_by_group_and_by_name(reference: str, named: tuple[str, ...]) -> None:
    assert people_named(PEOPLE, reference) == named


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        ("experts", UnknownName, "group of people 'experts' is not known; did you mean 'expert'?"),
        ("group=judge", UnknownName, "group of people 'judge' is not known"),
        ("rater=judge", UnknownName, "person 'judge' is not known; known: E1, E2, W1, X, a=b"),
        ("rater=E1,E9", UnknownName, "person 'E9' is not known; did you mean"),
        ("rater=expert", UnknownName, "person 'expert' is not known"),
        (
            "rater=",
            UsageError,
            "`reference` rater=: nobody is named; write rater=NAME",
        ),
        ("rater= , ", UsageError, "nobody is named"),
        ("group=", UsageError, "`reference` group=: nobody is named; write group=NAME"),
        ("kind=human", UsageError, "`reference` kind=human: write group=NAME"),
    ],
)
def test_people_who_do_not_exist(reference: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        people_named(PEOPLE, reference)
    assert message in str(raised.value)


def test_no_people_at_all() -> None:
    alone = of(Rater("judge", "llm"))
    with pytest.raises(UsageError, match="dataset made has no human raters"):
        people_named(alone, "")
    with pytest.raises(UnknownName, match="group of people 'expert' is not known; there are none"):
        people_named(alone, "expert")
    with pytest.raises(UnknownName, match="person 'A' is not known; there are none"):
        people_named(alone, "rater=A")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("9" * 5000, "a number of .* digits"),
    ],
    ids=["deep", "long"],
)
def test_json_beyond_measure(tmp_path: Path, value: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": "a"}\n{"id": ' + value + "}\n")
    with pytest.raises(DataError, match=rf"t\.jsonl line 2: not JSON \({message}\)"):
        list(read_jsonl(path))
    path.write_text('{"id": ' + value + "}")
    with pytest.raises(DataError, match=message):
        read_json(path, "an object")
