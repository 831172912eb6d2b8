"""`metal verify`: a run's figures recomputed by other libraries; those that differ are an exit
code.
"""

from __future__ import annotations

import sys
from pathlib import Path

import metal
from metal.cli.analysis import check_one_way, show_run
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, verb
from metal.cli.verb import out as out_option
from metal.data.replacing import check_new, remedy
from metal.errors import UsageError
from metal.show.terminal import console


@verb(
    metal.verify,
    out_option("runs/RUN-verify"),
    VERBOSE,
    AS_JSON,
    AS_MARKDOWN,
    FORCE,
    more="The exit code is 1 where a figure differs.",
    examples="""
        metal verify runs/demo
        metal verify runs/news --data backup/news --out runs/news-verified
    """,
)
def verify(
    run: Path,
    data: Path | None,
    out: Path | None,
    verbose: bool,
    as_json: bool,
    as_markdown: bool,
    force: bool,
) -> None:
    from metal.runs.parts import command_of, made_from
    from metal.show.pages import page

    check_one_way(as_json, as_markdown)
    out = out or Path("runs") / f"{run.resolve().name}-verify"
    again = command_of(out) == "verify"
    check_new(out, "verify", force=force, again=again)
    with console.progress("recomputing", "rows") as advance:
        made = metal.verify(run, data=data, progress=advance)
    if again and not (force or made_from(out, Path(made.data["path"]))):
        raise UsageError(f"{out} verified a run of other data; {remedy(out, 'verify')}")
    with console.progress("drawing") as advance:
        made.write(out, page, force=force, again=again, progress=advance)
    show_run(made, out, verbose, as_json, as_markdown, about=made.more_facts())
    sys.exit(made.exit_code)
