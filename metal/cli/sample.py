"""`metal sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal.api.sample as api
from metal.cli.verb import verb


@verb(
    api.sample,
    more="""
        \b
        SOURCE is one of
          xlsum      XL-Sum from the hub (45 languages; needs the extra hf)
          FOLDER     arabic_test.jsonl, ar.parquet, swahili/test.parquet, ... in
                     XL-Sum's columns (id, title, summary, text), or ar/*.txt
          FILE       one of these, in the language given
          hf:NAME    any Hugging Face dataset, with --columns text=article ...
    """,
    examples=r"""
        metal sample --source xlsum -l en,sw,chinese_simplified --out datasets/mine
        metal sample --source hf:abisee/cnn_dailymail --subset 3.0.0 -l en \
          --columns text=article --columns summary=highlights --out datasets/cnn
    """,
)
def sample(out: Path, **options: Any) -> None:
    from metal.show.terminal import console

    with console.counts("passages") as advance:
        sampled = api.sample(out=out, **options, progress=advance)
    table = sampled.table
    tokens = [f"{low:,.0f}-{high:,.0f}" for low, high in zip(table.pop("low"), table.pop("high"), strict=True)]
    table.insert(5, "its tokens", tokens)
    rows = [[value if isinstance(value, str) else f"{value:,}" for value in row] for row in table.to_numpy().tolist()]
    columns = ["", *table.columns[1:]]
    console.table(f"{sampled.dataset.card.name}: {len(sampled.dataset.sources):,} passages", columns, rows)
    console.say(f"In {out}; the picture is {out / api.PICTURE}", wrap=False)
    console.say(f"Next: metal generate {out} --model openai:gpt-4o", wrap=False)
