"""Crowd, experts, judges (Billboard 2.5): a place for what `metal billboard crowd` finds."""

from __future__ import annotations

from dataclasses import dataclass

from metal.report.board.run import BoardRun
from metal.report.view import Chart, TableView


@dataclass(frozen=True)
class Part:
    """A part of a section: a heading, a sentence or two, tables, charts."""

    title: str
    words: str = ""
    tables: tuple[TableView, ...] = ()
    charts: tuple[Chart, ...] = ()


def crowd_sections(run: BoardRun) -> tuple[Part, ...]:
    """What to show of crowd against experts and judges; nothing where the run has no table `crowd`."""
    if "crowd" not in run.tables:
        return ()
    return ()
