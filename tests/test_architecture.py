"""The house: imports point one way, heavy libraries stay out of `metal --help`, no Python in
datasets/ or prompts/.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "metal"

# Later floors may import earlier ones; rooms on one floor never import each other. All may import
# `stats`, which
# imports `errors` only.
FLOORS = [
    {"errors", "version"},
    {"data"},
    {"raters"},
    {"building"},
    {"auditing", "boards", "genie"},
    {"runs"},
    {"running"},
    {"show"},
    {"api"},
    {"questions"},
    {"app"},
    {"serving"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Files that read or write files, or look at the clock, the network or the environment. All others
# are pure.
TOUCHES_THE_WORLD = (
    *(
        "store.py",
        "*/store.py",
        "data/*",
        "runs/*",
        "running/*",
        "api/*",
        "app/*",
        "serving/*",
        "cli/*",
        "show/terminal/*",
    ),
    *("raters/judges/*", "raters/isolation/*", "building/crowdsourcing/*"),
    "questions/*/verb*.py",
    "building/sample.py",  # counts of a split lie on disk meanwhile
)
WORLD = {
    "os",
    "shutil",
    "socket",
    "subprocess",
    "time",
    "tempfile",
    "urllib",
    "requests",
    "httpx",
    "sys",
}

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the file's program."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> set[str]:
    """Every module imported anywhere in the file, also inside functions."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def rooms_imported(path: Path) -> set[str]:
    rooms = {name.split(".")[1] for name in imports(path) if name.startswith("metal.")}
    return rooms - {room_of(path)}


def test_imports_point_one_way() -> None:
    upward = {
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in MODULES
        for room in rooms_imported(path) - {"stats"}
        if FLOOR[room] >= FLOOR.get(room_of(path), 1)
    }
    assert upward == set()


FACES = {"page", "answer", "words", "sections", "brief", "headline"}


def test_a_question_asks_another_for_figures_never_for_its_page() -> None:
    borrowed = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in MODULES
        if room_of(path) == "questions"
        for name in imports(path)
        if (parts := name.split("."))[:2] == ["metal", "questions"] and len(parts) > 3
        if parts[2] != path.relative_to(PACKAGE).parts[1] and parts[3] in FACES
    }
    assert borrowed == set()


def test_the_house_is_small() -> None:
    rooms = {room_of(path) for path in MODULES}
    arrows = {(room_of(path), room) for path in MODULES for room in rooms_imported(path)}
    assert len(rooms) <= 18
    assert len(arrows) <= 100


def circles(folder: str) -> set[tuple[str, str]]:
    """Two modules below the folder that import each other, by way of others too."""
    asked: dict[str, set[str]] = {}
    for path in MODULES:
        module = ".".join(("metal", *path.relative_to(PACKAGE).with_suffix("").parts))
        if module.startswith(f"metal.{folder}."):
            asked[module.removesuffix(".__init__")] = imports(path)
    reached = {module: names & asked.keys() for module, names in asked.items()}
    for _ in asked:
        for names in reached.values():
            names |= {far for name in [*names] for far in reached[name]}
    mutual = set()
    for module, names in reached.items():
        mutual |= {(module, other) for other in names if other != module}
    return {(one, two) for one, two in mutual if (two, one) in mutual and one < two}


def test_files_of_different_folders_make_no_circle() -> None:
    """Folders of questions; everything else is kept apart by the floors."""
    apart = [pair for pair in circles("questions") if len({n.split(".")[2] for n in pair}) > 1]
    assert apart == []


def test_files_that_read_tables_make_no_circle() -> None:
    within = {
        ("metal.data.files", "metal.data.missing")
    }  # where to look for a file that is missing
    assert circles("data") <= within


def test_only_the_edges_touch_the_world() -> None:
    touching = {
        name: sorted(modules)
        for path in MODULES
        if not any(
            fnmatch(name := str(path.relative_to(PACKAGE)), pattern)
            for pattern in TOUCHES_THE_WORLD
        )
        if (modules := {name.split(".")[0] for name in imports(path)} & WORLD)
    }
    assert touching == {}


def test_every_room_has_its_floor() -> None:
    assert {room_of(path) for path in MODULES} <= set(FLOOR) | {"stats"}


def test_files_stay_readable() -> None:
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > 510} == {}


UNSPEAKING = {"found", "one", "said", "told", "known", "there", "mine", "whole"}
UNSPEAKING |= {"made", "given", "about", "where"}
# messages name the place that is wrong; other packages pass it by name
SPEAKING = {"errors.py": {"where"}}
# Names that say more only among others of their kind, and how often; the numbers may only fall.
VAGUE = {"place": 16, "words": 23}


def local_names(path: Path) -> Iterator[str]:
    """Names that functions give to values: variables, loop variables, parameters; no fields."""
    classes = [node for node in nodes(path) if isinstance(node, ast.ClassDef)]
    steps = [step for node in classes for step in node.body]
    fields = {id(name) for step in steps for name in ast.iter_child_nodes(step)}
    for node in nodes(path):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "" if id(node) in fields else node.id


def test_locals_say_what_they_hold() -> None:
    named: dict[str, set[str]] = {}
    for path in MODULES:
        file = str(path.relative_to(PACKAGE))
        if names := UNSPEAKING.intersection(local_names(path)) - SPEAKING.get(file, set()):
            named |= {file: names}
    assert named == {}


def test_vague_names_of_locals_become_fewer() -> None:
    times = Counter(name for path in MODULES for name in local_names(path))
    assert {name: times[name] for name in VAGUE if times[name] > VAGUE[name]} == {}


def test_no_room_bears_the_name_of_a_public_function() -> None:
    import metal

    rooms = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert rooms & set(metal.__all__) == set()


def test_classes_have_names_of_their_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_datasets_and_prompts_hold_no_python() -> None:
    assert not [*ROOT.glob("datasets/**/*.py"), *ROOT.glob("prompts/**/*.py")]


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return result.stdout.strip()


def test_import_datasets_finds_the_library_from_the_root() -> None:
    assert run("import datasets; print(hasattr(datasets, 'load_dataset'))") == "True"


HEAVY = [
    "pandas",
    "numpy",
    "pyarrow",
    "scipy",
    "sklearn",
    "datasets",
    "krippendorff",
    "rich",
    "openpyxl",
]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["audit", "--help"], ["import", "--help"], ["--version"]]
)
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


def test_a_dataset_folder_is_read_without_the_readers_of_tables() -> None:
    code = (
        "import sys, metal; metal.describe('datasets/demo'); print('metal.data.formats' in"
        " sys.modules)"
    )
    assert run(code).splitlines()[-1] == "False"


def test_an_audit_loads_no_scipy(tmp_path: Path) -> None:
    audit = f"metal.audit('datasets/demo', languages='en').save({str(tmp_path / 'run')!r})"
    assert (
        run(f"import sys, metal; {audit}; print('scipy' in sys.modules)").splitlines()[-1]
        == "False"
    )
