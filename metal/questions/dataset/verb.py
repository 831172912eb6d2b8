"""`metal.check`, `describe`, `compare`: what a dataset contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    ExcludeNoisy,
    Languages,
    Names,
    Option,
    Resamples,
    Seed,
    documented,
    names,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import Aggregate
from metal.data.progress import Progress, no_progress
from metal.data.replacing import new_folder
from metal.show.svg import standalone

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Inputs, Ratings
    from metal.auditing.as_read import Finding
    from metal.data.dataset import Dataset
    from metal.data.records import Criterion


@dataclass(frozen=True, repr=False)
class Check:
    """What a dataset contains.

    tables: ratings, raters, labels. findings: doubtful points in the data.

    test_questions: warnings about test questions that leaked, or that judges fail.
    """

    dataset: Dataset
    tables: dict[str, pd.DataFrame]
    findings: tuple[Finding, ...] = ()
    test_questions: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """All warnings with their kinds."""
        from metal.auditing.as_read import Finding

        return (*(Finding("test-questions", line) for line in self.test_questions), *self.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings as sentences."""
        return tuple(remark.message for remark in self.remarks)

    def __repr__(self) -> str:
        return f"<check of {self.dataset.identity}: {len(self.warnings)} warnings>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        from metal.runs.parts import records

        plain: dict[str, Any] = {
            "dataset": self.dataset.card.name,
            "identity": self.dataset.identity,
        }
        if self.dataset.ratings.empty:
            return plain | {
                "sources": len(self.dataset.sources),
                "outputs": len(self.dataset.outputs),
                "ratings": 0,
            }
        plain |= {name: records(table) for name, table in self.tables.items()}
        plain["test_questions"] = list(self.test_questions)
        return plain | {"warnings": list(map(vars, self.findings))}


@documented
def check(data: Data, *ratings: Ratings, **reading: Unpack[ReadingOptions]) -> Check:
    """Check `data` and show who rated what.

    Faults that make the data unusable (unknown ids, duplicates, off-scale scores, ...) are errors.
    Problems that can make figures misleading are warnings: raters who use one label only, identical
    scores under two names, judges and people who never rate the same output, missing answers.
    `ratings` are run folders.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.

    Returns:
        Tables and warnings.

    Raises:
        DataError: For the first fault.

    Example:
        print(metal.check("ratings.csv").warnings)
    """
    from metal.auditing.check import lint, profile
    from metal.genie.exclusion import warnings_of_tests

    inputs = load(data, ratings, reading)
    if inputs.dataset.ratings.empty:
        return Check(inputs.dataset, {})
    tests = warnings_of_tests(inputs.dataset, inputs.folder, inputs.runs)
    return Check(inputs.dataset, profile(inputs.dataset), tuple(lint(inputs.dataset)), tuple(tests))


@dataclass(frozen=True, repr=False)
class Description:
    """What is in a dataset.

    tables: lengths, classes_by_quality, numbers, table_1, table_2. warnings: which people were left
    out.

    reversals: sentences on classes whose counts and rates point in opposite directions.
    """

    inputs: Inputs
    dataset: Dataset
    settings: dict[str, str]
    tables: dict[str, pd.DataFrame]
    reversals: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<description of {self.dataset.identity}>"

    def _repr_html_(self) -> str:
        html: str = self.tables["table_1"].to_html(index=False)
        return html

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write run.toml, tables/ as CSV, JSON and Parquet, and charts/ as SVG."""
        import tomli_w

        from metal.questions.dataset.contents import quality_charts
        from metal.runs.parts import write_tables

        manifest = self.inputs.manifest("describe", self.dataset, self.settings, (), "")
        with new_folder(Path(folder), "describe", force=force) as partial:
            (partial / "run.toml").write_text(tomli_w.dumps(manifest.to_dict()), encoding="utf-8")
            write_tables(partial / "tables", self.tables)
            (partial / "charts").mkdir()
            for chart in quality_charts(self.tables["classes_by_quality"], self.dataset.criteria):
                svg = standalone(chart.svg, chart.alt)
                (partial / "charts" / f"{chart.name}.svg").write_text(svg, encoding="utf-8")
        return Path(folder)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        from metal.runs.parts import records

        plain: dict[str, Any] = {
            "dataset": self.dataset.card.name,
            "identity": self.dataset.identity,
        }
        return plain | self.settings | {name: records(table) for name, table in self.tables.items()}


@documented
def describe(
    data: Data,
    *,
    encoding: Annotated[
        str, Option("tiktoken's encoding. [default: that of the sample, else cl100k_base]")
    ] = "",
    aggregate: Annotated[
        Aggregate,
        Option(
            "How to combine people's ratings of an output, as in `metal.audit`.",
            choices=("majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"),
        ),
    ] = "majority-or-mean",
    exclude_noisy: ExcludeNoisy = "",
    **reading: Unpack[ReadingOptions],
) -> Description:
    """Describe `data`: the length of its texts and the classes that people gave.

    The tables have the tokens of passages and outputs by language, the number of outputs of each
    quality (METAL's Table 1), and the classes that people gave to good and bad outputs, as counts
    and rates (Table 2, Figure 2). For criteria without classes, the tables show scores.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.

    Returns:
        The tables. Nothing is written before `save`.

    Raises:
        DataError, UsageError, UnknownName: As `metal.read`.

    Example:
        metal.describe("datasets/news").save("runs/news-described")
    """
    from metal.building.describe import classes, lengths, numbers, reversals, table_1, table_2
    from metal.data.tokens import ENCODING, count_text, load_encoding

    inputs = load(data, (), reading)
    dataset, warnings = inputs.without_noisy(exclude_noisy)
    counted_in = str(dataset.extra.get("sample", {}).get("encoding", ENCODING))
    name = encoding or counted_in
    parts = dataset.sources.values(), dataset.outputs.values()
    uncounted = any(text.tokens is None and text.text for texts in parts for text in texts)
    counter = load_encoding(name) if uncounted or name != counted_in else None
    if name != counted_in:
        dataset = _without_tokens(dataset)
    counts = lengths(dataset, (lambda text: count_text(text, counter)) if counter else None)
    by_quality = classes(dataset, aggregate)
    tables = {"lengths": counts, "classes_by_quality": by_quality, "numbers": numbers(dataset)}
    tables |= {"table_1": table_1(counts), "table_2": table_2(by_quality, dataset)}
    settings = {"encoding": name, "aggregate": aggregate, "exclude_noisy": exclude_noisy}
    opposite = tuple(reversals(by_quality, dataset)) if len(by_quality) else ()
    return Description(inputs, dataset, settings, tables, opposite, warnings)


def _without_tokens(dataset: Dataset) -> Dataset:
    """The dataset without its token counts, which were made with a different encoding."""
    from dataclasses import replace

    return replace(
        dataset,
        sources={name: replace(source, tokens=None) for name, source in dataset.sources.items()},
        outputs={name: replace(output, tokens=None) for name, output in dataset.outputs.items()},
    )


@dataclass(frozen=True, repr=False)
class Comparison:
    """Generators side by side.

    table: a row per language, criterion, rater and generator. warnings: which people were left out.
    criteria: the criteria of the dataset.
    """

    table: pd.DataFrame
    warnings: tuple[str, ...] = ()
    criteria: Mapping[str, Criterion] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<comparison of {self.table['generator'].nunique()} generators: {len(self.table)} rows"
            " in .table>"
        )


@documented
def compare(
    data: Data,
    *ratings: Ratings,
    generators: Annotated[Names, Option("Generators to compare. [default: all]", "-g")] = (),
    raters: Annotated[
        Names,
        Option("Raters; `people` is the mean over people. [default: people and all judges]", "-r"),
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    languages: Languages = (),
    corrected: Annotated[
        str,
        Option("Also show people's means corrected by this judge's ratings (see `metal.correct`)."),
    ] = "",
    exclude_noisy: ExcludeNoisy = "",
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Comparison:
    """Compare generators: the mean score of each by rater and criterion, as in METAL's Table 4.

    A source counts only if every compared generator has an output for it that the rater scored, so
    differences between means come from the generators alone. Fewer `generators` usually share more
    sources. If no source is shared (for example, because only one of two outputs was kept per
    source), each mean is over the generator's own sources. METAL then says that a difference may
    come from the sources. `ratings` are run folders whose ratings are added. With `corrected`,
    people need to have rated only some of the sources: a judge that rated all sources stands in for
    people on the others, corrected by how it differs from people.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`.
        progress: Called with the number of raters done and of all raters.

    Returns:
        A table with language, criterion, rater, generator, paired (whether the sources are shared
        by all generators), sources, sources_left_out, mean, mean_low, mean_high, undefined (why
        there is no mean) and signature.

    Raises:
        UnknownName: For a name that does not occur.
        UsageError: With fewer than two generators.

    Example:
        metal.compare("datasets/news", generators=["good", "bad"]).table
    """
    from metal.building.store import read_drawn
    from metal.data.pairs import originals
    from metal.questions.correct.compared import compare as compared

    inputs = load(data, ratings, reading)
    dataset, warnings = inputs.without_noisy(exclude_noisy)
    dataset, left_out = originals(dataset)
    drawn = {
        source: float(entry["probability"]) for source, entry in read_drawn(inputs.folder).items()
    }
    table = compared(
        dataset,
        generators=names(generators),
        raters=names(raters),
        criteria=names(criteria),
        languages=names(languages),
        corrected=corrected,
        drawn=drawn,
        resamples=resamples,
        seed=seed,
        progress=progress or no_progress,
    )
    return Comparison(table, (*warnings, *left_out), dataset.criteria)
