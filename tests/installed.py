"""A package that offers plug-ins, as Python finds it among the installed ones."""

from __future__ import annotations

from pathlib import Path


def offer(site: Path, package: str, group: str, lines: str) -> None:
    """Write the metadata of a package (version 1.5) with these entry points into a folder of `sys.path`."""
    folder = site / f"{package.replace('-', '_')}-1.5.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(f"[{group}]\n{lines}", encoding="utf-8")
