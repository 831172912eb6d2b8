"""`metal.sample`: draw passages of about the same length, language by language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Force, Names, Option, Pairs, Seed, StrPath, documented, names
from metal.data.text import listed
from metal.errors import UsageError, check_known
from metal.show.svg import standalone

if TYPE_CHECKING:
    import pandas as pd

    from metal.building.sample import Histogram
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion, Source

PICTURE = "passage_lengths.svg"
SAMPLE = "sample"  # the verb


@dataclass(frozen=True, repr=False)
class Sampled:
    """A new dataset in `folder`.

    histograms: for each language, the lengths of the passages from which the sample was drawn.
    """

    dataset: Dataset
    folder: Path
    histograms: Mapping[str, Histogram]

    def __repr__(self) -> str:
        return f"<{len(self.dataset.sources):,} passages in {self.folder}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning about languages with too few passages for a verdict on a judge, if each passage
        has one output.
        """
        from metal.auditing.standing import MIN_ITEMS
        from metal.data.languages import language_name

        drawn = Counter(source.language for source in self.dataset.sources.values())
        few = [
            f"{language_name(code)} {count}" for code, count in drawn.items() if count < MIN_ITEMS
        ]
        return (f"verdicts need {MIN_ITEMS} items; passages drawn: {listed(few)}",) if few else ()

    @property
    def table(self) -> pd.DataFrame:
        """A table with one row per language: passages of the split, those left out, the fullest
        bin, its range of tokens, and the passages drawn.
        """
        import pandas as pd

        drawn = pd.Series(
            [source.language for source in self.dataset.sources.values()]
        ).value_counts()
        rows = [
            {
                "language": language,
                "passages": histogram.passages,
                "duplicates": histogram.duplicates,
                "near-empty": histogram.near_empty,
                "fullest bin": max(histogram.counts),
                "low": histogram.bounds[0],
                "high": histogram.bounds[1],
                "drawn": int(drawn.get(language, 0)),
            }
            for language, histogram in self.histograms.items()
        ]
        return pd.DataFrame(rows)


@documented
def sample(
    source: Annotated[StrPath, Option("xlsum, a folder or file, or hf:NAME.", metavar="SOURCE")],
    out: Annotated[StrPath, Option("Dataset folder to write.")],
    *,
    languages: Annotated[
        Names, Option("Codes or names. [default: METAL's ten for xlsum, all for a folder]", "-l")
    ] = (),
    per_language: Annotated[int, Option("Passages to draw.", "-n", metavar="N", least=1)] = 100,
    allow_fewer: Annotated[bool, Option("Draw fewer passages if the bin has fewer.")] = False,
    split: Annotated[str, Option("Split to draw from.", rare=True)] = "test",
    bins: Annotated[int, Option("Bins of the histogram.", least=1, rare=True)] = 20,
    min_tokens: Annotated[
        int, Option("Leave out passages with fewer tokens.", least=1, rare=True)
    ] = 10,
    encoding: Annotated[
        str, Option("tiktoken encoding for counting tokens.", rare=True)
    ] = "cl100k_base",
    columns: Annotated[
        Pairs | None,
        Option("id, title, summary or text.", metavar="ROLE=COLUMN", aliases=("--column",)),
    ] = None,
    subset: Annotated[
        str, Option("Subset of a hf: dataset; {language} is replaced by the code.", rare=True)
    ] = "",
    revision: Annotated[str, Option("Revision of a dataset on the hub.", rare=True)] = "",
    criteria: Annotated[
        Names, Option("Which of METAL's criteria to rate. [default: all five]", "-c", rare=True)
    ] = (),
    name: Annotated[
        str, Option("Name of the dataset. [default: that of the folder]", rare=True)
    ] = "",
    seed: Seed = 0,
    force: Force = False,
    progress: Callable[[str, int], None] | None = None,
) -> Sampled:
    """Start a dataset: draw passages of similar length from `source`, language by language.

    METAL draws the sample at random from the fullest bin of a histogram of token counts, because
    languages should be compared on passages of typical, similar length (METAL 3.1.1). It leaves out
    and counts duplicates and nearly empty passages. Histogram, seed and settings are kept in
    dataset.toml, with a picture next to it.

    Args:
        progress: Called with a language and the number of its passages that were read since the
            last call.

    Returns:
        The dataset, which is written to `out`.

    Raises:
        UsageError: If a bin has fewer passages than `per_language`.

    Example:
        metal.sample("xlsum", "datasets/news", languages=["hindi", "swahili"], per_language=100)
    """
    from metal.building.sample import SampleSettings, draw
    from metal.data.dataset import Card, assemble, save_dataset
    from metal.data.formats.passages import find_passages
    from metal.data.ratings import facts_from
    from metal.data.replacing import check_new
    from metal.data.tokens import load_encoding
    from metal.show.charts.bars import length_histograms

    folder = Path(out)
    check_new(folder, SAMPLE, force=force)
    rated = _criteria_named(names(criteria))
    asked = names(languages)
    passages = find_passages(
        str(source),
        split=split,
        columns=dict(columns or {}),
        subset=subset,
        revision=revision,
        language=asked[0] if len(asked) == 1 else "",
    )
    codes = list(dict.fromkeys(map(passages.resolve, asked or passages.languages)))
    if not codes:
        raise UsageError(
            f'`source="{source}"`: name its languages with `languages`, e.g. `languages=["en",'
            ' "sw"]`'
        )
    counter = load_encoding(encoding)
    rules = SampleSettings(per_language, bins, min_tokens, seed, allow_fewer)
    follow = progress or (lambda language, passages: None)
    drawn = {
        code: draw(code, partial(passages.split, code), counter, rules, partial(follow, code))
        for code in codes
    }
    _check_drawn(drawn, per_language)
    histograms = {code: histogram.record() for code, (histogram, _) in drawn.items()}
    settings = {
        "encoding": encoding,
        "seed": seed,
        "per_language": per_language,
        "min_tokens": min_tokens,
    }
    dataset = assemble(
        Card(name or folder.resolve().name, licence=passages.licence, citation=passages.citation),
        rated,
        [source for _, sources in drawn.values() for source in sources],
        [],
        [],
        facts_from([]),
        extra={"sample": dict(passages.about) | settings | {"histograms": histograms}},
    )
    chart = length_histograms(
        histograms, {code: len(sources) for code, (_, sources) in drawn.items()}
    )
    picture = {PICTURE: standalone(chart.svg, chart.alt).encode()}
    save_dataset(dataset, folder, force=force, files=picture, maker=SAMPLE)
    return Sampled(dataset, folder, {code: histogram for code, (histogram, _) in drawn.items()})


def _criteria_named(criteria: Sequence[str]) -> list[Criterion]:
    """METAL's criteria of these names; without names, all five. Raises UnknownName."""
    from metal.data.metal_criteria import METAL_CRITERIA, metal_criterion

    check_known("criterion", criteria, METAL_CRITERIA, "Add others to dataset.toml by hand")
    return list(map(metal_criterion, criteria or METAL_CRITERIA))


def _check_drawn(
    drawn: Mapping[str, tuple[Histogram, Sequence[Source]]], per_language: int
) -> None:
    """Raise UsageError if a language's fullest bin did not hold as many passages as asked."""
    short = {code: histogram for code, (histogram, sources) in drawn.items() if not sources}
    if not short:
        return
    held = (
        f"{code} {max(h.counts):,} of {h.bounds[0]:.0f} to {h.bounds[1]:.0f} tokens"
        for code, h in short.items()
    )
    enough = set.intersection(
        *(histogram.bins_that_hold(per_language) for histogram, _ in drawn.values())
    )
    raise UsageError(
        f"the fullest bin holds fewer than `per_language={per_language}` passages:"
        f" {', '.join(held)}; {f'use `bins={max(enough)}`, ' if enough else ''}ask for fewer,"
        " or pass `allow_fewer=True`"
    )
