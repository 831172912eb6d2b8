"""`metal sample`: passages of about the same length, language by language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metal.building.sample import Histogram
    from metal.data.dataset import Dataset
    from metal.data.formats.passages import Passages
    from metal.data.records import Source

PICTURE = "passage_lengths.svg"


@click.command(short_help="Choose passages of similar length.")
@click.option("--source", required=True, metavar="SOURCE", help="xlsum, a folder or file, or hf:NAME.")
@options.names("--languages", "-l", what="Codes or names. [default: METAL's ten of xlsum, all of a folder]")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Dataset folder to write.")
@click.option(
    "--per-language",
    "-n",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Passages to draw.",
)
@click.option("--allow-fewer", is_flag=True, help="Take what there is where the bin holds fewer.")
@click.option("--split", default="test", show_default=True, help="Split to draw from.")
@click.option("--bins", type=click.IntRange(min=1), default=20, show_default=True, help="Bins of the histogram.")
@click.option(
    "--min-tokens", type=click.IntRange(min=1), default=10, show_default=True, help="Shorter passages are left out."
)
@click.option("--encoding", default="cl100k_base", show_default=True, help="tiktoken's encoding to count in.")
@click.option("--column", "columns", multiple=True, metavar="ROLE=COLUMN", help="id, title, summary or text.")
@click.option("--subset", default="", help="Subset of a hf: dataset; {language} in it stands for the code.")
@click.option("--revision", default="", help="Revision of a dataset on the hub.")
@options.names("--criteria", "-c", what="METAL's criteria to rate; default all five.")
@click.option("--name", default="", help="Name of the dataset. [default: that of the folder]")
@options.seed
@options.force
def sample(
    source: str,
    languages: tuple[str, ...],
    out: Path,
    per_language: int,
    allow_fewer: bool,
    split: str,
    bins: int,
    min_tokens: int,
    encoding: str,
    columns: tuple[str, ...],
    subset: str,
    revision: str,
    criteria: tuple[str, ...],
    name: str,
    seed: int,
    force: bool,
) -> None:
    """Begin a dataset: draw passages of about the same length from SOURCE, language by language.

    Token counts of the split make a histogram; the sample is drawn at random from its fullest bin, so that
    languages are compared on passages that are neither odd nor of all lengths (METAL 3.1.1). Duplicates and
    passages that are nearly empty are left out and counted. Histogram, seed and settings are kept in
    dataset.toml, with a picture beside it.

    \b
    SOURCE is one of
      xlsum      XL-Sum from the hub (45 languages; needs the extra hf)
      FOLDER     arabic_test.jsonl, ar.parquet, swahili/test.parquet, ... in
                 XL-Sum's columns (id, title, summary, text), or ar/*.txt
      FILE       one of these, in the language given
      hf:NAME    any Hugging Face dataset, with --column text=article ...

    \b
    Examples:
      metal sample --source xlsum -l en,sw,chinese_simplified --out datasets/mine
      metal sample --source hf:abisee/cnn_dailymail --subset 3.0.0 -l en \\
        --column text=article --column summary=highlights --out datasets/cnn
    """
    from metal.building.sample import SampleSettings, draw
    from metal.cli.import_ import pair
    from metal.data.folders import check_new
    from metal.data.formats.criteria import METAL_CRITERIA
    from metal.data.formats.passages import find_passages
    from metal.data.tokens import load_encoding
    from metal.errors import UsageError
    from metal.show.terminal import console as show

    check_new(out, force=force)
    asked_criteria = _known_criteria(criteria or METAL_CRITERIA)
    passages = find_passages(
        source,
        split=split,
        columns=dict(pair("--column", text) for text in columns),
        subset=subset,
        revision=revision,
        language=languages[0] if len(languages) == 1 else "",
    )
    codes = list(dict.fromkeys(passages.resolve(asked) for asked in languages or passages.languages))
    if not codes:
        raise UsageError(f"--source {source}: name its languages with --languages, e.g. --languages en,sw")
    counter = load_encoding(encoding)
    rules = SampleSettings(per_language, bins, min_tokens, seed, allow_fewer)
    found: dict[str, tuple[Histogram, list[Source]]] = {}
    for code in codes:
        with show.counter(f"{code} passages") as advance:
            found[code] = draw(code, lambda code=code: passages.split(code), counter, rules, advance)  # type: ignore[misc]
    settings = {"encoding": encoding, "seed": seed, "per_language": per_language, "min_tokens": min_tokens}
    dataset = _dataset(name or out.resolve().name, found, passages, settings, asked_criteria)
    _write(dataset, out, force)
    _show(dataset, found, out)


def _known_criteria(asked: tuple[str, ...]) -> list[str]:
    """Each once. Raises UnknownName for one that is none of METAL's."""
    from metal.data.formats.criteria import METAL_CRITERIA
    from metal.errors import UnknownName

    for criterion in asked:
        if criterion not in METAL_CRITERIA:
            raise UnknownName("criterion", criterion, METAL_CRITERIA, "Others go into dataset.toml by hand")
    return list(dict.fromkeys(asked))


def _dataset(
    name: str,
    found: Mapping[str, tuple[Histogram, list[Source]]],
    passages: Passages,
    settings: dict[str, Any],
    criteria: list[str],
) -> Dataset:
    from metal.data.dataset import Card, assemble
    from metal.data.formats.criteria import metal_criterion
    from metal.data.ratings import facts_from

    histograms = {code: histogram.record() for code, (histogram, _) in found.items()}
    return assemble(
        Card(name, licence=passages.licence, citation=passages.citation),
        [metal_criterion(criterion) for criterion in criteria],
        [source for _, sources in found.values() for source in sources],
        [],
        [],
        facts_from([]),
        extra={"sample": dict(passages.about) | settings | {"histograms": histograms}},
    )


def _write(dataset: Dataset, out: Path, force: bool) -> None:
    from metal.data.dataset import save_dataset
    from metal.show.charts.lengths import length_histograms
    from metal.show.svg import standalone

    sample = dataset.extra["sample"]
    drawn = {code: sum(one.language == code for one in dataset.sources.values()) for code in sample["histograms"]}
    chart = length_histograms(sample["histograms"], drawn)
    save_dataset(dataset, out, force=force, files={PICTURE: standalone(chart.svg, chart.alt).encode()})


def _show(dataset: Dataset, found: Mapping[str, tuple[Histogram, list[Source]]], out: Path) -> None:
    from metal.show.terminal import console as show

    rows = []
    for code, (histogram, sources) in found.items():
        low, high = histogram.bounds
        counts = [histogram.passages, histogram.duplicates, histogram.near_empty, max(histogram.counts)]
        rows.append([code, *(f"{count:,}" for count in counts), f"{low:,.0f}-{high:,.0f}", f"{len(sources):,}"])
    columns = ["", "passages", "duplicates", "near-empty", "fullest bin", "its tokens", "drawn"]
    show.table(f"{dataset.card.name}: {len(dataset.sources):,} passages", columns, rows)
    show.say(f"In {out}; the picture is {out / PICTURE}", wrap=False)
    show.say(f"Next: metal generate {out} --model openai:gpt-4o", wrap=False)
