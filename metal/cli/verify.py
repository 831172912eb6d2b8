"""`metal verify`: recompute a run's figures with other libraries; the exit code says whether any
figure differs.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import metal
from metal.cli.analysis import check_one_way, save_of_run, show_run
from metal.cli.verb import AS_JSON, AS_MARKDOWN, FORCE, VERBOSE, verb
from metal.cli.verb import out as out_option


@verb(
    metal.verify,
    out_option("runs/RUN-verify"),
    VERBOSE,
    AS_JSON,
    AS_MARKDOWN,
    FORCE,
    more="The exit code is 1 if a figure differs.",
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
    check_one_way(as_json, as_markdown)
    recompute = partial(metal.verify, run, data=data)
    verified, folder = save_of_run("verify", run, out, force, recompute)
    show_run(verified, folder, verbose, as_json, as_markdown, facts=verified.more_facts())
    sys.exit(verified.exit_code)
