"""A board's history on disk: only added to, shown again as it was, whole after whatever
happened.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from metal.boards import store as board_folder
from metal.boards.history import Entry
from metal.boards.store import (
    add_entry,
    kept_settings,
    open_board,
    read_history,
    record,
    stored_ensembles,
)
from metal.data.dataset import Dataset, load_dataset, update_dataset, with_parts
from metal.data.records import Output
from metal.errors import DataError, MetalError, UsageError
from tests.cli.forks import Done, Metal, by_itself, environment
from tests.cli.runs import snapshot
from tests.cli.small_board import LENGTH, QUICK_OPTIONS, Commands, texts_of
from tests.saying import tells


def whole(folder: Path) -> list[Entry]:
    """The history, after a look at whether the board is whole: a folder for each line that needs
    one, and no other.
    """
    entries = list(read_history(folder))
    assert [entry.version for entry in entries] == list(range(1, len(entries) + 1))
    joined = {f"{entry.version:04d}" for entry in entries if entry.what in ("generator", "metric")}
    place = folder / "board" / "submissions"
    assert ({path.name for path in place.iterdir()} if place.exists() else set()) == joined
    assert {path.name for path in (folder / "board" / "data").iterdir()} == {
        entry.digest for entry in entries
    }
    for version in range(1, len(entries) + 1):
        assert open_board(folder, version).dataset.outputs
    return entries


def tables(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run / "tables").iterdir())} | {
        "ensembles.json": (run / "ensembles.json").read_bytes(),
        "history.jsonl": (run / "history.jsonl").read_bytes(),
    }


def rank(small: Commands, out: str, *options: object) -> dict[str, bytes]:
    small("billboard", "small", "--out", out, *QUICK_OPTIONS, "-c", "fluency", *options)
    return tables(small.folder / out)


# ---------------------------------------------------------------- every past version


def test_opening_a_board_writes_nothing(small: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is recorded when something came of it, from the files that were read, once."""
    read: list[Path] = []

    def counted(folder: Path) -> Dataset:
        read.append(folder)
        return load_dataset(folder)

    monkeypatch.setattr(board_folder, "load_dataset", counted)
    board = open_board(small.board)
    assert (len(read), board.version, read_history(small.board)) == (1, 1, ())
    text = (small.board / "dataset.toml").read_text(encoding="utf-8")
    (small.board / "dataset.toml").write_text("# looked at\n" + text, encoding="utf-8")
    assert not record(board)  # another command has changed it
    assert read_history(small.board) == ()
    again = open_board(small.board)
    assert record(again)
    assert read_history(small.board) == again.entries == open_board(small.board).entries


@pytest.mark.parametrize(
    "wrong",
    [
        ("billboard", "small", "-c", "nosuch"),
        ("billboard", "small", "-r", "nosuch"),
        ("billboard", "small", "--reference", "group=nosuch"),
        ("billboard", "small", "--at", "9"),
        ("billboard", "small", "--human", "none"),
        ("billboard", "small", "--family", "near"),
        ("billboard", "small", "gone"),
        ("submit", "generator", "small", "nosuch.csv", "--name", "x"),
        ("submit", "metric", "small", "nosuch.py", "--name", "x"),
        ("submit", "withdraw", "small", "nosuch"),
    ],
)
def test_what_fails_leaves_nothing_behind(small: Commands, wrong: tuple[str, ...]) -> None:
    shutil.rmtree(small.board / "board")
    before = snapshot(small.folder)
    small.refused(*wrong)
    assert snapshot(small.folder) == before
    assert not (small.board / "board").exists()


@pytest.mark.slow
def test_every_version_shows_what_it_showed(small: Commands) -> None:
    """Submissions, withdrawals, and every command that changes the dataset in between."""
    first = open_board(small.board).base
    shown = [rank(small, "1")]
    small.generator("new", 0.5, "--human")
    shown.append(rank(small, "2"))
    small.program("length", LENGTH)
    shown.append(rank(small, "3"))
    small("score", "small", "--metric", "rouge-2", "--into")
    shown.append(rank(small, "4"))
    small("submit", "withdraw", "small", "new")
    # what is known of a generator
    with (small.board / "dataset.toml").open("a", encoding="utf-8") as file:
        file.write('\n[generators.far]\nkind = "human"\n')
    shown += [{}, rank(small, "6")]
    people = small.board / "raters.jsonl"
    people.write_text(
        people.read_text(encoding="utf-8").replace("native", "expert"), encoding="utf-8"
    )
    shown.append(rank(small, "7"))
    entries = whole(small.board)
    assert [entry.what for entry in entries] == [
        *("data", "generator", "metric", "data", "withdrawn", "data", "data")
    ]
    assert len({tuple(one.items()) for one in shown}) == 7  # each differs from all others
    for version, wanted in enumerate(shown, 1):
        assert not wanted or rank(small, f"again-{version}", "--at", version) == wanted
    assert open_board(small.board, 1).base.extra == first.extra
    assert "far" not in open_board(small.board, 5).dataset.extra.get("generators", {})


@pytest.mark.slow
def test_outputs_that_the_dataset_gets_are_a_version_of_their_own(small: Commands) -> None:
    small.program("length", LENGTH)
    before = rank(small, "1")
    dataset = load_dataset(small.board)
    later = Output("000/later", "000", "later", "ar", "later")
    update_dataset(with_parts(dataset, outputs=[*dataset.outputs.values(), later]), small.board)
    assert rank(small, "2") != before
    assert rank(small, "3", "--at", "2") == before
    assert [entry.what for entry in whole(small.board)] == ["data", "metric", "data"]


def test_what_was_withdrawn_is_gone_and_still_in_the_old_versions(small: Commands) -> None:
    small.generator("new")
    small.program("length", LENGTH)
    small("submit", "withdraw", "small", "new", "--by", "me")
    small("submit", "withdraw", "small", "length")
    now = open_board(small.board).dataset
    assert "new" not in {output.generator for output in now.outputs.values()}
    assert "length" not in now.raters
    assert len(small.scores("length", "new", at=3)) == 14
    assert not small.scores("length", at=2)
    assert small.json("billboard", "history", "small")[3]["about"] == {
        "was": "generator",
        "version": 2,
    }
    assert "'new' is not known" in small.refused("submit", "withdraw", "small", "new")
    # it came with the dataset
    assert "'chrf' is not known" in small.refused("submit", "withdraw", "small", "chrf")
    assert "came with the dataset" in small.refused("submit", "withdraw", "small", "near")
    assert "versions 1 to 5" in small.refused("billboard", "small", "--at", "6")
    assert small.refused("billboard", "small", "--at", "0")
    assert len(whole(small.board)) == 5


@pytest.mark.slow
def test_a_name_used_again_has_nothing_of_what_had_it_before(small: Commands) -> None:
    """The outputs of both generators have the same ids, and the metrics the same name."""
    small.generator("new", 0.2)
    small.program("length", LENGTH)
    old = small.scores("length", "new")
    small("submit", "withdraw", "small", "new")
    small.generator("new", 0.7)
    texts = {f"{source}/new": text for source, text in texts_of("new", 0.7).items()}
    assert small.scores("length", "new") == {name: len(text) for name, text in texts.items()}
    assert small.scores("length", "new", at=3) == old
    small("submit", "withdraw", "small", "length")
    small.program("length", "def score(output):\n    return -1\n")
    assert set(small.scores("length", "new").values()) == {-1.0}
    small("submit", "withdraw", "small", "length")
    Path("t.csv").write_text("output,score\n000/near,5\n", encoding="utf-8")
    small("submit", "metric", "small", "t.csv", "--name", "length")
    assert small.scores("length") == {"000/near": 5.0}
    assert small.scores("length", "new", at=5) == {name: len(text) for name, text in texts.items()}


def test_scores_by_another_version_of_a_metric_are_left_out(small: Commands) -> None:
    small.generator("new")
    assert len(small.scores("chrf", "new")) == 14
    lines = small.board / "raters.jsonl"
    known = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    other = [one | ({"signature": "other"} if one["rater"] == "chrf" else {}) for one in known]
    lines.write_text("".join(json.dumps(one) + "\n" for one in other), encoding="utf-8")
    assert len(small.scores("chrf")) == 56
    assert not small.scores("chrf", "new")
    assert len(small.scores("chrf", "new", at=2)) == 14


def test_a_dataset_that_gets_what_had_joined_can_be_put_right(small: Commands) -> None:
    small.program("rouge-2", LENGTH)
    small("score", "small", "--metric", "rouge-2", "--into")
    said = small.refused("billboard", "small", *QUICK_OPTIONS)
    assert tells(
        said, "version 2, metric rouge-2", "'rouge-2'", "already in the dataset", "Withdraw"
    )
    assert "is at version 4: withdrawn rouge-2" in small("submit", "withdraw", "small", "rouge-2")
    assert "rouge-2: 14 scored" in small.generator("new")


# ---------------------------------------------------------------- the folder and other commands


def test_other_commands_keep_the_board_and_old_ratings(small: Commands) -> None:
    small.program("length", LENGTH)
    ratings = small.board / "ratings.parquet"
    (kept,) = (small.board / "board" / "data").glob("*/ratings.parquet")
    assert kept.read_bytes() == ratings.read_bytes()
    # what writes into the one does not write into the other
    assert kept.stat().st_ino != ratings.stat().st_ino
    before = snapshot(small.board / "board")
    content = ratings.read_bytes()
    small("score", "small", "--metric", "rouge-2", "--into")
    assert ratings.read_bytes() != content
    assert snapshot(small.board / "board") == before


@pytest.mark.slow
def test_a_board_can_be_named_in_any_way_and_moved(
    small: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.generator("one")
    path = (small.folder / small.write_outputs("new.csv", texts_of("new"))).resolve()
    Path("link").symlink_to(small.board, target_is_directory=True)
    small("submit", "generator", "link", path, "--name", "two")
    small("submit", "generator", f"{small.board}/", path, "--name", "three")
    monkeypatch.chdir(small.board)
    small("submit", "generator", ".", path, "--name", "four")
    assert "five" in small("submit", "generator", "../small/.", path, "--name", "five")
    monkeypatch.chdir(small.folder)
    assert Path("link").is_symlink()
    shutil.move(small.board, small.folder / "elsewhere")
    assert "six" in small("submit", "generator", "elsewhere", path, "--name", "six")
    names = [entry.name for entry in whole(small.folder / "elsewhere")]
    assert names[1:] == ["one", "two", "three", "four", "five", "six"]


def as_a_user(*arguments: object, cwd: Path) -> Done:
    """`metal` without the rights of an administrator, whom permissions do not hold back."""
    give_up = "from metal.raters.isolation.kernel import give_up_privileges; give_up_privileges()"
    return by_itself(
        *arguments, cwd=cwd, env=environment(cwd), first=give_up if os.geteuid() == 0 else ""
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="rights are given up on Linux")
@pytest.mark.parametrize("known", [False, True])
def test_a_folder_that_cannot_be_written(small: Commands, known: bool) -> None:
    path = small.write_outputs("new.csv", texts_of("new"))
    if known:
        small("billboard", "small", "--out", "a", *QUICK_OPTIONS)
    else:
        shutil.rmtree(small.board / "board")
    before = snapshot(small.board)
    folders = [small.board, *(one for one in small.board.rglob("*") if one.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        if known:
            done = as_a_user(
                "submit", "generator", "small", path, "--name", "new", cwd=small.folder
            )
        else:
            done = as_a_user(
                "billboard",
                "small",
                "--out",
                "b",
                *QUICK_OPTIONS,
                "-c",
                "fluency",
                cwd=small.folder,
            )
            assert done.code == 0, done.err
            assert "saved only in b" in " ".join(done.out.split())
            done = as_a_user("submit", "withdraw", "small", "x", cwd=small.folder)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.code == 2
    assert done.err.startswith("metal: small cannot be written"), done.err
    assert "small cannot be written" in done.err
    assert snapshot(small.board) == before


# ---------------------------------------------------------------- several at once, and sudden ends


@pytest.mark.slow
def test_eight_submissions_at_once(small: Commands, processes: Metal) -> None:
    several = 8
    metal = processes.at(small.folder, environment(small.folder))
    started = []
    for number in range(several):
        if number in METRICS:
            Path(f"{number}.py").write_text(LENGTH, encoding="utf-8")
            started.append(
                metal.start("submit", "metric", "small", f"{number}.py", "--name", f"m{number}")
            )
        else:
            path = small.write_outputs(f"{number}.csv", texts_of(f"g{number}"))
            started.append(
                metal.start("submit", "generator", "small", path, "--name", f"g{number}")
            )
    done = [one.wait() for one in started]
    assert [one.code for one in done] == [0] * several, [one.err for one in done]
    entries = whole(small.board)
    assert sorted(entry.name for entry in entries[1:]) == sorted(
        f"{'m' if number in METRICS else 'g'}{number}" for number in range(several)
    )
    dataset = open_board(small.board).dataset
    for number in range(several):
        if number not in METRICS:
            mine = [
                output.text
                for output in dataset.outputs.values()
                if output.generator == f"g{number}"
            ]
            assert mine == list(texts_of(f"g{number}").values())
            assert len(small.scores("chrf", f"g{number}")) == 14
    for metric in (name for name in dataset.raters if name.startswith("m")):
        # also of those that joined while it was at work
        assert len(small.scores(metric)) == len(dataset.outputs)


def test_two_of_the_same_name_at_once(small: Commands, processes: Metal) -> None:
    metal = processes.at(small.folder, environment(small.folder))
    path = small.write_outputs("new.csv", texts_of("new"))
    started = [metal.start("submit", "generator", "small", path, "--name", "new") for _ in range(2)]
    done = [one.wait() for one in started]
    assert sorted(one.code for one in done) == [0, 2]
    assert "generator 'new' is on the board" in "".join(one.err for one in done)
    assert len(whole(small.board)) == 2


METRICS = (3,)
KILLS = {
    "before the folder": ("_write_submission", "before"),
    "within the folder": ("_sync", "before"),
    "between folder and line": ("_append", "before"),
    "after the line": ("_append", "after"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "how"),
    [
        *((one, signal.SIGKILL) for one in (*KILLS, "in the line")),
        ("between folder and line", signal.SIGINT),
    ],
)
def test_an_end_at_any_moment(small: Commands, moment: str, how: signal.Signals) -> None:
    small.generator("first")
    pid = os.fork()
    if not pid:  # the child: what it does ends here
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _end_at(moment, how)
            path = small.write_outputs("second.csv", texts_of("second"))
            small("submit", "generator", "small", path, "--name", "second")
        finally:
            os._exit(7)
    status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (-9, 7)
    joined = moment == "after the line"
    assert [entry.name for entry in read_history(small.board)] == [
        "",
        "first",
        *(["second"] if joined else []),
    ]
    assert len(open_board(small.board).dataset.outputs) == 56 + 14 * (1 + joined)
    if how is signal.SIGKILL:
        small("submit", "withdraw", "small", "first")  # its version has no folder
    else:
        small.generator("third")
    assert len(whole(small.board)) == 3 + joined
    assert not list(small.board.rglob("*.part"))


def _end_at(moment: str, how: signal.Signals) -> None:
    """Have this process end itself when it comes to a moment."""

    def end() -> None:
        os.kill(os.getpid(), how)

    name, when = KILLS.get(moment, ("_append", "within"))
    function = getattr(board_folder, name)

    def replaced(path: Path, *arguments: Any) -> Any:
        if when == "within":
            with path.open("ab") as file:
                file.write(b'{"version": 3, "at": "20')
            end()
        if when == "before":
            end()
        found = function(path, *arguments)
        if when == "after":
            end()
        return found

    setattr(board_folder, name, replaced)


# ---------------------------------------------------------------- damaged files


@pytest.mark.slow
def test_an_unfinished_last_line_does_not_count(small: Commands) -> None:
    small.ranked()
    small.generator("first")
    shutil.copytree(small.board, small.folder / "kept")
    for tail in (b'{"version": 3, "at": "20', b"\0" * 40, b"\xff\xfe", b"5"):
        shutil.rmtree(small.board)
        shutil.copytree(small.folder / "kept", small.board)
        for name in ("history.jsonl", "ensembles.jsonl"):
            with (small.board / "board" / name).open("ab") as file:
                file.write(tail)
        assert [entry.version for entry in read_history(small.board)] == [1, 2]
        assert stored_ensembles(small.board)
        assert small.json("billboard", "history", "small")[-1]["name"] == "first"
        small("submit", "withdraw", "small", "first")
        assert [entry.what for entry in whole(small.board)] == ["data", "generator", "withdrawn"]
        lines = (small.board / "board" / "history.jsonl").read_bytes().splitlines()
        assert [json.loads(line)["version"] for line in lines] == [1, 2, 3]


def test_a_whole_last_line_without_its_line_break_counts(small: Commands) -> None:
    small.generator("first")
    path = small.board / "board" / "history.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    small("submit", "withdraw", "small", "first")
    assert [entry.what for entry in whole(small.board)] == ["data", "generator", "withdrawn"]


def _entry(**changed: Any) -> bytes:
    line = {
        "version": 2,
        "at": "2024",
        "what": "withdrawn",
        "digest": "0123456789abcdef",
        "name": "x",
    } | changed
    return json.dumps(line).encode() + b"\n"


DAMAGED = [
    b"{\n",
    b"[]\n",
    b"\xff\n",
    b"[" * 100_000 + b"\n",
    b'{"version": ' + b"9" * 5000 + b"}\n",
    b"{}\n",
    *(_entry(version=version) for version in (1, 3, 0, -1, "2", 2.0, True, None, [2])),
    *(_entry(what=what) for what in ("", "other", None, 5, ["data"], {})),
    *(_entry(digest=digest) for digest in ("", "../../etc", None, 5, "0123456789ABCDEF\n", ["a"])),
    *(
        _entry(name=5),
        _entry(by=["x"]),
        _entry(at=5),
        _entry(about=[1]),
        _entry(about="x"),
        _entry(extra=1),
    ),
    _entry(about={"seconds": float("nan")}),
]


def test_a_damaged_line_is_an_error_with_its_row(small: Commands) -> None:
    small("billboard", "history", "small")
    path = small.board / "board" / "history.jsonl"
    first = path.read_bytes()
    for line in DAMAGED:
        path.write_bytes(first + line + _entry(version=3))
        said = small.refused("submit", "withdraw", "small", "x")
        assert said.startswith("small/board/history.jsonl row 2: "), said
        assert "from a backup" in said


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"[]",
        b"{",
        b'{"reference": 3}',
        b'{"human_generators": 5}',
        b'{"human_generators": [5]}',
        b'{"families": []}',
        b'{"families": {"a": 5}}',
        b'{"exclude_noisy": true}',
    ],
)
def test_damaged_settings(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "settings.json").write_bytes(content)
    with pytest.raises(MetalError):
        kept_settings(tmp_path, 1)


def test_random_damage_gives_one_line_or_nothing(small: Commands) -> None:
    """Bytes changed, cut out and put in, in every file that a board keeps: an error of ours, or
    none at all.
    """
    small.generator("new")
    small.program("length", LENGTH)
    random, said = Random(3), []
    files = sorted(path for path in (small.board / "board").rglob("*") if path.is_file())
    for _ in range(30):
        path = random.choice(files)
        content = path.read_bytes()
        place = random.randrange(len(content) + 1)
        new = random.choice(
            [b"", b"\xff", b"null", b"{", b'"', b"\0\0", b"-1", random.randbytes(3)]
        )
        path.write_bytes(content[:place] + new + content[place + random.randrange(4) :])
        version = random.choice((None, 1, 2))
        try:
            assert open_board(small.board, version).dataset.outputs
            stored_ensembles(small.board)
            kept_settings(small.board, 1)
        except MetalError as error:
            said.append(str(error))
        path.write_bytes(content)
        history = small.board / "board" / "history.jsonl"
        history.write_bytes(b"".join(history.read_bytes().splitlines(keepends=True)[:3]))
    assert len(said) > 3
    assert "\n" not in "".join(said)


def test_no_entry_for_a_board_that_is_not_what_was_seen(small: Commands) -> None:
    seen = open_board(small.board)
    small.generator("new")
    assert add_entry(small.board, seen, Entry(0, "", "withdrawn", ""), {}) is None


def test_data_that_changed_between_reading_and_keeping(
    small: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command replaces the dataset after this one has read it: nothing is kept, or what the
    version is.
    """
    load, calls = board_folder.load_dataset, []

    def slow(folder: Path) -> Any:
        found = load(folder)
        if not calls:
            calls.append(folder)
            card = folder / "dataset.toml"
            card.write_text(
                card.read_text(encoding="utf-8") + '\n[generators.far]\nkind = "human"\n',
                encoding="utf-8",
            )
        return found

    monkeypatch.setattr(board_folder, "load_dataset", slow)
    assert not record(open_board(small.board))
    assert not read_history(small.board)
    small.generator("new")
    assert open_board(small.board, 1).base.extra["generators"] == {"far": {"kind": "human"}}


def test_folders_that_are_no_boards(small: Commands) -> None:
    assert "no such dataset folder" in small.refused("submit", "withdraw", "gone", "x")
    assert "not a dataset folder" in small.refused("billboard", "history", ".")
    Path("file").write_text("x", encoding="utf-8")
    assert small.refused("submit", "withdraw", "file", "x")
    shutil.rmtree(small.board / "board")
    (small.board / "board").write_text("a file in its place", encoding="utf-8")
    assert "cannot be written" in small.refused("submit", "withdraw", "small", "x")
    with pytest.raises((DataError, UsageError)):
        open_board(small.board, 2)
