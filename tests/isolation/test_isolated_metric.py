"""A metric in a process of its own is the metric it would be in this one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from metal.errors import DataError, UsageError
from metal.raters.isolation import Limits, isolated_metric, protections
from metal.raters.metrics import Item, find_metric, scored
from tests.isolation.conftest import Run

METRIC = '''
def distance(output, *, references, source, language="en"):
    """How far the lengths are apart.

    More."""
    if output == "raise":
        raise ValueError("no such text\\nsecond line")
    if output in {"none", "nan", "list"}:
        return {"none": None, "nan": float("nan"), "list": []}[output]
    return min(abs(len(output) - len(one)) for one in references) + len(source) + len(language)

distance.direction = "lower"
distance.range = (0, 100)
distance.version = "3"
'''
Write = Callable[[str], Path]


def test_it_is_the_same_metric_with_the_same_scores(program: Write) -> None:
    path = program(METRIC)
    here, present = find_metric(f"{path}:distance"), isolated_metric(path, "distance")
    assert present == here
    assert present.signature.endswith("|version:3")
    items = [
        *(
            Item(text, ("a", "ab\u0628"), "xy", "hi")
            for text in ("abc", "\u0639\u0631\u0628\u064a", "line\u2028\nbreak")
        ),
        *(Item(text, ("a",), "xy", "hi") for text in ("raise", "none", "list", "nan", "\ud800")),
        Item("abc", (), "xy"),
    ]
    assert scored(present, items) == scored(here, items)
    assert [item.score for item in scored(present, items)[:2]] == [4, 5]


def test_prints_are_no_answers(run: Run) -> None:
    code = """
import os, sys
print("1e9")
def score(output):
    print("5\\n" * 10)
    sys.stderr.write('{"error": "no"}\\n')
    os.write(1, b"7\\n")
    return len(output)
"""
    assert [item.score for item in run(code, ("a", "ab"))] == [1, 2]


def test_much_print_is_let_go(run: Run) -> None:
    assert run("def score(output):\n    print('x' * 100_000_000)\n    return 1")[0].score == 1


def test_its_environment_is_not_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = (
        "import os\ndef score(output):\n    return ' '.join(sorted(os.environ)) +"
        " os.environ['HOME']"
    )
    reason = run(code)[0].reason
    assert "OPENAI" not in reason
    assert str(Path.home()) not in reason.split()
    assert "metal-metric-" in reason


def test_hashes_are_the_same_each_time(run: Run) -> None:
    code = "def score(output):\n    return hash(output) % 1000"
    assert run(code) == run(code)


def test_installed_packages_and_metal_can_be_used(run: Run) -> None:
    code = """
import numpy as np
def score(output):
    import sacrebleu
    from metal.raters.metrics import find_metric, Item, score_all
    return float(np.ones(3).sum()) + score_all(find_metric("chrf"), [Item(output, (output,))])[0]
"""
    assert run(code, ("some text",))[0].score == 103


def test_a_file_beside_it_is_read_when_it_is_given(program: Write, landlock: int) -> None:
    code = """
from pathlib import Path
def score(output):
    return len(Path(__file__).with_name("words.txt").read_text())
"""
    path = program(code)
    words = path.with_name("words.txt")
    words.write_text("abc", encoding="utf-8")
    assert "PermissionError" in scored(isolated_metric(path), [Item("a")])[0].reason
    assert scored(isolated_metric(path, readable=(words,)), [Item("a")])[0].score == 3
    assert scored(isolated_metric(path, readable=(words.parent,)), [Item("a")])[0].score == 3


def test_its_folder_is_its_own_and_is_deleted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = """
import os, pathlib, tempfile
def score(output):
    assert not os.listdir(".")
    pathlib.Path("kept.txt").write_text("x" * 10)
    os.symlink("/", "root")
    for depth in range(1100):
        os.mkdir("deep"); os.chdir("deep")
        open("file", "w").close()
    with tempfile.TemporaryFile() as file:
        return file.write(b"abc")
"""
    assert run(code)[0].score == 3
    assert [path.name for path in tmp_path.iterdir()] == ["submitted"]


def test_threads_and_asyncio_work(run: Run) -> None:
    code = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
async def twice(text):
    return 2 * await asyncio.to_thread(len, text)
def score(output):
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(len, [output] * 4)) + asyncio.run(twice(output))
"""
    assert run(code, ("abc",))[0].score == 18


@pytest.mark.parametrize(
    "code, problem",
    [
        ("def other(output): return 0", "'score' is not known; known: other"),
        ("def score(output, gold): return 0", "parameter 'gold' is not known"),
        ("raise ValueError('no\\nsecond')", "cannot be run: ValueError: no"),
        ("def score(output:", "cannot be run: SyntaxError"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import os; os._exit(0)", r"it ended itself \(code 0\) after 0 of 1 answers"),
        ("import os; print('dying'); os.abort()", "it was ended by SIGABRT"),
        ("x = bytearray(10 << 30)", r"MemoryError: .*it may use 4,096 MB"),
        ("def score(output): return 0\nscore.range = 1", "TypeError"),
        (
            "def score(output): return 0\nscore.range = ('a', 'b')",
            "not two numbers",
        ),
        ("def score(output): return 0\nscore.direction = 'up'", "direction 'up'"),
        ("def score(output): return 0\nscore.direction = {1}", "direction"),
    ],
)
def test_what_cannot_be_a_metric_is_one_line(program: Write, code: str, problem: str) -> None:
    with pytest.raises((UsageError, DataError), match=problem) as raised:
        isolated_metric(program(code))
    assert "\n" not in str(raised.value)
    assert "metric.py:score: " in str(raised.value)


def test_a_file_that_is_not_there_and_no_function(program: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        isolated_metric(tmp_path / "none.py")
    with pytest.raises(UsageError, match="name of a function"):
        isolated_metric(program("def score(output): return 0"), "x y")
    with pytest.raises(UsageError, match=r"there is no .*words.txt, which it should read"):
        isolated_metric(program("def score(output): return 0"), readable=(tmp_path / "words.txt",))


def test_a_file_that_changed_is_not_run(program: Write) -> None:
    metric = isolated_metric(program("def score(output): return 0"))
    program("def score(output): return 1")
    with pytest.raises(DataError, match="its file has changed"):
        scored(metric, [Item("a")])


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0}, {"memory_mb": -1}, {"seconds": float("nan")}, {"file_mb": 0}]
)
def test_limits_are_more_than_nothing(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="above 0"):
        Limits(**wrong)  # type: ignore[arg-type]


def test_protections_are_said(landlock: int, filtered: None) -> None:
    message = protections(Limits(seconds=30, memory_mb=2048))
    assert message[0] == "network: none"
    assert [line.partition(":")[0] for line in message[1:6]] == [
        "files",
        "owners, permissions and dates of files stay as they are",
        "processes",
        "signals",
        "memory",
    ]
    assert "2,048 MB" in message[5]
    assert "30 s" in message[6]
    assert not [line for line in message if "like its user" in line]


def test_no_open_file_is_left(program: Write) -> None:
    path = program("def score(output): return 0")
    isolated_metric(path)  # whatever is opened once and kept
    before = os.listdir("/dev/fd")
    isolated_metric(path)
    assert os.listdir("/dev/fd") == before
