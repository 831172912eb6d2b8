"""ARCHITECTURE.md is short and names what exists; its map is drawn from the imports.

`python -m tests.test_house_map` draws the map anew.

A row for each room, the later floors first; a mark where the room of the row imports the room of
the column. What a room is for is the first line of its docstring.
"""

from __future__ import annotations

import ast
import re
from html import escape
from itertools import pairwise

from tests.test_architecture import FLOORS, MODULES, PACKAGE, ROOT, room_of, rooms_imported

PICTURE = ROOT / "docs" / "images" / "house.svg"
ROW, CELL, NAME, TEXT, TOP = 26, 22, 10, 100, 92
ALONE = {"errors", "version", "__main__"}  # named in the text: every room may import them
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2933}.what{fill:#52606d}"
    ".mark{fill:#2563a8}.floor{stroke:#cbd2d9}.band{fill:#f1f4f7}"
)


def rooms() -> list[str]:
    """Rooms from the command line down; `stats`, which all may import, is the last."""
    later_first = [sorted(floor) for floor in reversed(FLOORS)]
    return [room for floor in later_first for room in floor if room not in ALONE] + ["stats"]


def floor_of(room: str) -> int:
    """The number of the room's floor; -1 for `stats`, which stands below all."""
    return next((number for number, floor in enumerate(FLOORS) if room in floor), -1)


def purpose(room: str) -> str:
    """What the room is for, in its own words."""
    text = (PACKAGE / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0].rstrip(".")


def arrows() -> set[tuple[str, str]]:
    """Which room imports which."""
    return {(room_of(path), room) for path in MODULES for room in rooms_imported(path)}


def drawing() -> str:
    """The map as SVG."""
    names, imported = rooms(), arrows()
    left = 560
    width, height = left + CELL * len(names) + 12, TOP + ROW * len(names) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>The rooms of METAL: a row imports the marked columns, all of them below it</title>",
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, room in enumerate(names):
        x, y = left + CELL * number + CELL / 2, TOP + ROW * number
        if number % 2:
            parts.append(f'<rect class="band" y="{y}" width="{width}" height="{ROW}"/>')
        parts.append(f'<text x="{NAME}" y="{y + 18}" font-weight="600">{room}/</text>')
        what = escape(purpose(room))
        parts.append(f'<text class="what" x="{TEXT}" y="{y + 18}">{what}</text>')
        turned = f"rotate(-60 {x} {TOP - 8})"
        parts.append(f'<text x="{x}" y="{TOP - 8}" transform="{turned}">{room}</text>')
        for column, other in enumerate(names):
            if (room, other) in imported:
                center = left + CELL * column + CELL / 2
                parts.append(f'<circle class="mark" cx="{center}" cy="{y + ROW / 2}" r="5"/>')
    for number, (upper, lower) in enumerate(pairwise(names), 1):
        if floor_of(upper) != floor_of(lower):
            y = TOP + ROW * number
            parts.append(f'<line class="floor" x1="0" x2="{width}" y1="{y}" y2="{y}"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def test_the_map_is_of_todays_imports() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawing()


ARCHITECTURE = ROOT / "ARCHITECTURE.md"


def test_it_is_short_and_its_links_are_right() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    linked = re.findall(r"\]\(([^)#]+)\)", text)
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_file_and_function_that_it_names_exists() -> None:
    """`auditing/verdict.py:verdict` is that function of that file, below metal/ or the root."""
    named = re.findall(r"`([\w.]+/[\w./]+\.py)(?::(\w+))?`", ARCHITECTURE.read_text("utf-8"))
    missing = []
    for path, name in named:
        file = next((top / path for top in (PACKAGE, ROOT) if (top / path).is_file()), None)
        defined = rf"^ *(?:async )?(?:def|class) {name}\b|^{name}\b.* = "
        if not file or (name and not re.search(defined, file.read_text("utf-8"), re.MULTILINE)):
            missing.append(f"{path}:{name}")
    assert len(named) > 20
    assert missing == []


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
