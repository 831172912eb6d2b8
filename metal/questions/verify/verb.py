"""`metal.verify`: recompute a run's figures with well-known libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Option, Progress, StrPath, documented, no_progress
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.questions.verify.run import Verified
    from metal.runs.run import Run

KINDS = {
    "audit": ("people", "judges", "scores", "verdicts"),
    "billboard": ("raters",),
    "monitor": ("agreement",),
}


@documented
def verify(
    run: StrPath,
    *,
    data: Annotated[
        StrPath | None,
        Option("Where the run's data are now. [default: as in run.toml]", metavar="PATH"),
    ] = None,
    progress: Progress | None = None,
) -> Verified:
    """Recompute the figures of a run with scikit-learn, krippendorff, statsmodels and scipy, and
    say to how many digits they are equal.

    For an audit these figures are F1, kappas, alphas, Fleiss' kappa, correlations and the
    alternative annotator test; for a board the correlations; for a monitor the agreement among
    people. METAL reads the run's ratings again, separate code builds labels, pairs and panels from
    them, and each library computes from these. Figures are read from every file of the run's tables
    (CSV, JSON, Parquet), so a number changed in one of them is found. Figures that no library
    computes are not compared: intervals, verdicts, Gwet's AC1.

    Args:
        run: The folder of a run of `metal.audit`, `billboard` or `monitor`.
        progress: Called with the number of rows done and of all rows.

    Returns:
        The tables `summary` and `figures`, the page, `counted` and `exit_code`. Nothing is written
        before `save`.

    Raises:
        MissingExtra: Without the extra `verify`.
        UsageError: For another folder, or if the data have changed since the run.

    Example:
        metal.verify("runs/demo").tables["summary"]
    """
    import pandas as pd

    from metal.api.report import open_run
    from metal.questions.verify import compute, libraries
    from metal.questions.verify.run import Verified
    from metal.runs.parts import command_of, recorded_tables

    versions = libraries.versions()
    folder = Path(run)
    command = command_of(folder)
    opened = open_run(folder) if command in ("", *KINDS) else None
    if opened is None:
        raise UsageError(
            f"{folder}: a run of `metal {command}`; only runs of `metal audit`, `billboard` and"
            " `monitor` are recomputed"
        )
    dataset = _data_of(opened, folder, data)
    tables = {
        name: compute.Recorded(name, recorded_tables(folder, name, command))
        for name in KINDS[command]
        if name in opened.tables
    }
    recompute = compute.RECOMPUTE[command]
    rows = list(recompute(dataset, opened.settings, tables, progress or no_progress))
    checked = {
        "summary": pd.DataFrame(compute.summary_rows(rows), columns=[*compute.SUMMARY]),
        "figures": pd.DataFrame(rows, columns=[*compute.FIGURES]),
    }
    signature = f"{opened.signature}|verified:{'+'.join(map(' '.join, versions.items()))}"
    for table in checked.values():
        table["signature"] = signature
    manifest = {
        **opened.manifest,
        "command": Verified.command,
        "settings": {"run": str(folder), "command": command},
        "signature": signature,
        "libraries": versions,
    }
    return Verified(opened.name, manifest, opened.criteria, opened.raters, checked, ())


def _data_of(opened: Run, folder: Path, data: Any) -> Dataset:
    """The ratings from which the run was made. Raises UsageError if they have changed
    since then.
    """
    from metal.api.run_data import inputs_of_run
    from metal.data.pairs import made_pairs, one_item_per_pair, originals

    of_run = opened.data
    inputs = inputs_of_run(folder, of_run, data)
    if any(map(made_pairs, inputs.runs)) and opened.command == "billboard":
        raise UsageError(f"{folder}: boards with judges of pairs are not recomputed")
    dataset, _ = inputs.without_noisy(opened.settings.get("exclude_noisy", ""))
    if opened.command != "monitor":
        dataset, _ = originals(dataset)
    if dataset.digest != of_run["digest"]:
        raise UsageError(
            f"{inputs.path} changed since {folder} was made ({of_run['digest']}, now"
            f" {dataset.digest}); run `metal {opened.command}` again, then verify that"
        )
    return one_item_per_pair(dataset)
