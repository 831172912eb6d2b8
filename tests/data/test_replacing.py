"""A folder that `force` replaces: whatever is killed when, the old or the new one is whole, and so
is its copy.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from metal.data import files, replacing
from metal.data.files import recover
from metal.data.replacing import kept_parts, new_folder
from metal.errors import UsageError

NAMES = ("a", "b")
logging.getLogger("metal").addHandler(logging.NullHandler())


def write_state(folder: Path, state: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "run.toml").write_text('command = "audit"\n')
    for name in NAMES:
        (folder / f"{name}.parquet").write_text(state)


def state_of(folder: Path) -> str:
    """What write_state wrote; a folder that is not whole has more than one, or none."""
    return "".join({(folder / f"{name}.parquet").read_text() for name in NAMES})


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an older copy beside it, in which these files are METAL's."""
    monkeypatch.setattr(
        "metal.data.holdings._IN_RUNS", {"run.toml", *(f"{name}.parquet" for name in NAMES)}
    )
    return tmp_path / "place"


def killed_at(step: int, work: Callable[[], None], *, in_one_step: bool) -> bool:
    """Run the work in a process that is killed at its step-th rename or removal; whether it was."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    steps = count()

    def stopping(change: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **more: object) -> object:
            if next(steps) == step:
                os._exit(9)
            done = change(*arguments, **more)
            if next(steps) == step:
                os._exit(9)
            return done

        return run

    os.rename, os.replace, shutil.rmtree = map(stopping, (os.rename, os.replace, shutil.rmtree))
    exchanged = stopping(files.in_one_step) if in_one_step else lambda folder, other: False
    files.in_one_step = replacing.in_one_step = exchanged  # type: ignore[assignment]
    try:
        work()
    finally:
        os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("in_one_step", [True, False])
@pytest.mark.parametrize("with_copy", [True, False])
def test_a_kill_at_any_moment_loses_neither_the_old_nor_the_new(
    places: Path, in_one_step: bool, with_copy: bool
) -> None:
    def replace() -> None:
        with new_folder(places, "audit", force=True) as partial:
            write_state(partial, "new")

    kept = places.with_name("place.replaced")
    for step in count():
        for left in places.parent.iterdir():
            shutil.rmtree(left)
        write_state(places, "old")
        if with_copy:
            write_state(kept, "older")
        killed = killed_at(step, replace, in_one_step=in_one_step)
        recover(places)
        if state_of(places) == "old":
            assert not kept.exists() or state_of(kept) == "older"
            assert kept.exists() == with_copy
        else:
            assert (state_of(places), state_of(kept)) == ("new", "old")
        assert {path.name for path in places.parent.iterdir()} <= {"place", "place.replaced"}
        if not killed:
            assert state_of(places) == "new"
            break
    assert step > 4


def test_a_kill_while_a_run_is_begun_anew_in_its_folder_keeps_the_old_one(places: Path) -> None:
    def begin_anew() -> None:
        with kept_parts(places, ("a.parquet", "b.parquet")):
            for name in NAMES:
                os.replace(places / f"{name}.parquet", places / f"gone-{name}")

    for step in count():
        for left in places.parent.iterdir():
            shutil.rmtree(left)
        write_state(places, "old")
        killed = killed_at(step, begin_anew, in_one_step=True)
        recover(places)
        copy = places.with_name("place.replaced")
        assert state_of(copy if copy.exists() else places) == "old"
        if not killed:
            break
    assert step > 4


def test_what_is_brought_back_has_names_that_a_shell_divides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Told to the log where no command line listens; `NAME.new` is a name that is free."""
    place = tmp_path / "my run"
    write_state(place, "old")
    (tmp_path / "my run.new").mkdir()
    with new_folder(place, "audit", force=True) as partial:
        write_state(partial, "new")
    (line,) = caplog.messages
    assert line.endswith(f"mv '{place}' '{place}.new-2' && mv '{place}.replaced' '{place}'")


def test_a_link_is_replaced_where_it_leads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_state(tmp_path / "disk", "old")
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with new_folder(tmp_path / "link", "audit", force=True) as partial:
        write_state(partial, "new")
    assert (tmp_path / "link").is_symlink()
    assert state_of(tmp_path / "disk.replaced") == "old"
    assert f"mv {tmp_path}/disk.replaced {tmp_path}/disk" in caplog.messages[0]


def test_a_copy_that_is_something_else_is_not_removed(places: Path) -> None:
    write_state(places, "old")
    places.with_name("place.replaced").write_text("a letter")
    with (
        pytest.raises(UsageError, match="which holds work of another kind and is not removed"),
        new_folder(places, "audit", force=True),
    ):
        pass
    assert state_of(places) == "old"
