"""`metal jury`: several judges become one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, verb
from metal.data.text import count, figure, name, percent, plural
from metal.show.terminal import console


@verb(
    metal.jury,
    AS_JSON,
    examples="""
        metal jury datasets/news runs/news-judges
        metal jury datasets/news runs/news-judges -j gpt-4o/detailed,llama/detailed --by weights
    """,
)
def jury(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    made = metal.jury(data, *ratings, **options)
    rows = made.table.to_dict("records")
    if as_json:
        print_json({"folder": str(made.folder), "jury": made.table})
        return
    better = sum(row["better"] == "yes" for row in rows)
    words = f"better than its best member in {better} of {plural(len(rows), 'case')}"
    console.say(f"The jury is surely {words}.", bold=True)
    shown = [
        [
            name(row["criterion"]),
            name(row["language"]),
            f"{figure(row['size'], '.1f')} of {row['members']}",
            percent(row["agreement"]),
            percent(row["best_agreement"]),
            "{} [{}, {}]".format(*(figure(100 * row[key], "+.0f") for key in ("gain", "gain_low", "gain_high"))),
            row["better"] or row["undefined"],
        ]
        for row in rows
    ]
    heads = ["criterion", "language", "worth", "agrees", "best", "gain, points", "better"]
    console.table("The jury, and the member that is the best on other sources", heads, shown, keep=2)
    missing = sum(row["missing"] for row in rows)
    if missing:
        why = ", ".join(sorted(set(made.ratings["reason"].astype(str)) - {""}))
        console.say(f"{count(missing)} of {count(len(made.ratings))} outputs without a rating: {why}")
    console.say(f"In {made.folder}", wrap=False)
    console.say(f"Next: metal audit {' '.join(map(str, (data, *ratings, made.folder)))}", wrap=False)
