"""The house: imports point one way, heavy libraries stay out of `metal --help`, no Python in datasets/ or prompts/."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "metal"

# Later floors may import earlier ones; rooms on one floor never import each other.
FLOORS = [
    {"errors"},
    {"bundled", "languages", "records", "csv_cells", "folders", "json_files", "network", "signature", "spool"},
    {"tokens"},
    {"ratings"},
    {"ratings_files"},
    {"dataset_lines"},
    {"dataset"},
    {"merge", "metrics", "formats", "people"},
    {"isolation"},
    {"judges"},
    {"build"},
    {"crowdsourcing"},
    {"audit", "billboard", "genie"},
    {"report"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Modules that read or write files, or look at the clock, the network or the environment.
TOUCHES_THE_WORLD = {
    "ratings_files",
    "dataset",
    "dataset_lines",
    "folders",
    "json_files",
    "bundled",
    "network",
    "spool",
    "tokens",
    "merge",
    "formats",
    "isolation",
    "crowdsourcing",
    "cli",
    "serve",
    "judges",
}
WORLD = {"os", "shutil", "socket", "subprocess", "time", "tempfile", "urllib", "requests", "httpx", "sys"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def imports(path: Path) -> set[str]:
    """Every module imported anywhere in the file, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    mine = room_of(path)
    rooms = {name.split(".")[1] for name in imports(path) if name.startswith("metal.")} - {"__version__", mine}
    if mine == "stats":
        assert rooms <= {"errors"}
        return
    for room in rooms:
        assert room in FLOOR or room == "stats", f"{room} has no floor"
        assert room == "stats" or FLOOR[room] < FLOOR[mine], f"{mine} must not import {room}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_edges_touch_the_world(path: Path) -> None:
    if room_of(path) in TOUCHES_THE_WORLD:
        return
    assert not {name.split(".")[0] for name in imports(path)} & WORLD


def test_every_room_has_its_floor() -> None:
    assert {room_of(path) for path in modules()} <= set(FLOOR) | {"stats"}


def test_files_stay_readable() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {str(path): lines for path, lines in lengths.items() if lines > 400} == {}


def test_datasets_and_prompts_hold_no_python() -> None:
    assert not [*ROOT.glob("datasets/**/*.py"), *ROOT.glob("prompts/**/*.py")]


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return result.stdout.strip()


def test_import_datasets_finds_the_library_from_the_root() -> None:
    assert run("import datasets; print(hasattr(datasets, 'load_dataset'))") == "True"


HEAVY = ["pandas", "numpy", "pyarrow", "scipy", "sklearn", "datasets", "krippendorff", "rich", "openpyxl"]


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["import", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
sys.argv = ["metal", *{arguments!r}]
from metal.cli import main
try:
    main()
except SystemExit:
    pass
print("LOADED", [name for name in {HEAVY!r} if name in sys.modules])
"""
    assert run(code).splitlines()[-1] == "LOADED []"
