"""Messages speak of parameters; the command line says flags and command lines instead."""

from __future__ import annotations

import pytest
from click import Context

from metal.cli import metal
from metal.cli.flags import in_flags


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("`out` is missing", "--out is missing"),
        ("give `force=True`", "give --force"),
        ('`max_cost=1.5` and `engine="ray"`', "--max-cost 1.5 and --engine ray"),
        ("`references` in sources.jsonl", "`references` in sources.jsonl"),
        ('`languages=["hi", "ta"]`', "--languages hi,ta"),
        ('go on with `metal.judge(resume="runs/x")`', "go on with `metal judge --resume runs/x`"),
        ('`metal.annotate_export("d", to="html")`', "`metal annotate export d --to html`"),
        ("`metal.read(...).save(folder)` makes one", "`metal import` makes one"),
        ('`metal.monitor("d", RUN)`', "`metal monitor d RUN`"),
        ("`metal.audit(`", "`metal.audit(`"),
        ("`seed=1`2`", "--seed 12`"),
    ],
)
def test_parameters_become_flags(message: str, typed: str) -> None:
    judge = metal.get_command(Context(metal), "judge")
    assert judge
    assert in_flags(message, judge, metal) == typed


def test_a_dictionary_is_a_flag_for_each_item() -> None:
    message = '`kinds={"gpt*": "llm", "A*": "human"}`'
    read = metal.get_command(Context(metal), "import")
    assert read
    assert in_flags(message, read, metal).count("=") == 2
