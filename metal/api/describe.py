"""`metal.describe`: what is in a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.audit import Aggregate
from metal.api.options import ExcludeNoisy, Option, documented

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.inputs import Data, Inputs
    from metal.data.dataset import Dataset


@dataclass(frozen=True, repr=False)
class Description:
    """What is in a dataset. tables: lengths, classes_by_quality, table_1, table_2. warnings: who was left out.

    reversals: where counts and rates of classes tell opposite stories, in words.
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

        from metal.data.files import new_folder
        from metal.runs.parts import write_tables
        from metal.show.audit.people import quality_charts
        from metal.show.svg import standalone

        manifest = self.inputs.manifest("describe", self.dataset, self.settings, (), "")
        with new_folder(Path(folder), force=force) as partial:
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

        plain: dict[str, Any] = {"dataset": self.dataset.card.name, "identity": self.dataset.identity}
        return plain | self.settings | {name: records(table) for name, table in self.tables.items()}


@documented
def describe(
    data: Data,
    *,
    encoding: Annotated[str, Option("tiktoken's encoding. [default: that of the sample, else cl100k_base]")] = "",
    aggregate: Annotated[
        Aggregate,
        Option(
            "How the people's ratings of an output become one label, as in `metal.audit`.",
            choices=("majority-or-mean", "majority-or-middle", "majority", "dawid-skene", "mace"),
        ),
    ] = "majority-or-mean",
    exclude_noisy: ExcludeNoisy = "",
) -> Description:
    """Describe `data`: tokens of passages and outputs by language, outputs of each quality (METAL's Table 1), and
    the classes people gave to good and bad outputs, as counts and as rates (Table 2, Figure 2).

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`.

    Returns the tables. Nothing is written before `save`.
    """
    from metal.api.inputs import load
    from metal.building.describe import classes, lengths, reversals, table_1, table_2
    from metal.data.tokens import ENCODING, count_text, load_encoding
    from metal.genie.excluding import without_noisy

    inputs = load(data)
    dataset, excluded = without_noisy(inputs.dataset, inputs.folder, (), exclude_noisy)
    counted_in = str(dataset.extra.get("sample", {}).get("encoding", ENCODING))
    name = encoding or counted_in
    counter = load_encoding(name) if _uncounted(dataset) or name != counted_in else None
    if name != counted_in:
        dataset = _without_tokens(dataset)
    counts = lengths(dataset, (lambda text: count_text(text, counter)) if counter else None)
    by_quality = classes(dataset, aggregate)
    tables = {"lengths": counts, "classes_by_quality": by_quality}
    tables |= {"table_1": table_1(counts), "table_2": table_2(by_quality, dataset)}
    settings = {"encoding": name, "aggregate": aggregate, "exclude_noisy": exclude_noisy}
    opposite = tuple(reversals(by_quality, dataset)) if len(by_quality) else ()
    warnings = tuple(excluded.lines) if excluded else ()
    return Description(inputs, dataset, settings, tables, opposite, warnings)


def _uncounted(dataset: Dataset) -> bool:
    sources, outputs = dataset.sources.values(), dataset.outputs.values()
    return any(text.tokens is None and text.text for texts in (sources, outputs) for text in texts)


def _without_tokens(dataset: Dataset) -> Dataset:
    """The dataset with all counts forgotten: they are of another encoding."""
    from dataclasses import replace

    return replace(
        dataset,
        sources={name: replace(source, tokens=None) for name, source in dataset.sources.items()},
        outputs={name: replace(output, tokens=None) for name, output in dataset.outputs.items()},
    )
