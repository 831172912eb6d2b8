"""`metal.diff`: whether a judge has changed, by language and criterion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import Languages, Names, Option, documented_by, names
from metal.api.read import NOWHERE, Data, Inputs, as_dataset, load
from metal.api.reading import ReadingOptions, given
from metal.data.run_toml import named_by, read_run_toml
from metal.errors import UsageError
from metal.questions.drift.settings import Margins

if TYPE_CHECKING:
    from metal.api.read import Ratings
    from metal.data.dataset import Dataset
    from metal.questions.drift.run import Diff
    from metal.runs.run import Run

Paired = Annotated[
    Names,
    Option(
        "Judges; NAME=BEFORE if the baseline has another name for one. [default: all in both]",
        "-j",
    ),
]


@documented_by(Margins)
def diff(
    run: Ratings | Data | Run,
    baseline: Ratings | Data | Run,
    *,
    data: Annotated[
        Data | None,
        Option("Dataset of both runs, if it has moved.", metavar="DATASET"),
    ] = None,
    judges: Paired = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    languages: Languages = (),
    reference: Annotated[
        str,
        Option("Agreement with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE"),
    ] = "",
    margin: Annotated[
        float,
        Option(
            "Change that does not matter, in agreement, coverage and the mean as a share of"
            " the scale: 0.1 or 10%.",
            least=0,
            most=1,
            open_ends=True,
        ),
    ] = 0.05,
    alpha: float = 0.05,
    power: float = 0.8,
    **reading: Unpack[ReadingOptions],
) -> Diff:
    """Compare the judges of `run` with an earlier `baseline`: is each still the same, in each
    language?

    On the outputs that were judged both times, METAL compares agreement with people, the mean
    score, answers that changed, and coverage, all paired. *Equivalent* means that agreement and
    mean are shown to have changed by less than the margin (two one-sided tests), and that coverage
    is shown not to have fallen by more than it. *Worse*, *different* and *better* mean that a
    change is shown (Holm's correction over everything). Everything else is *undecided*, with the
    number of outputs that would decide it. If the baseline was asked with `repeat=2` or more,
    changed answers are compared with how often they change when the judge is merely asked again.

    Args:
        run, baseline: Run folders of `metal.judge` or `metal.audit`, an audit, or tables with
            people and judges. The dataset has to be at its old place, with the same ratings.

    Returns:
        The tables `drift` and `signature`, the page, `assert_not_worse` for tests, and
        `changed_answers`: the outputs on which a judge gives another answer than before.

    Raises:
        UsageError: If the two have no output in common, or their data changed or are gone.

    Example:
        diff = metal.diff("runs/news-judges-new", "runs/news-judges")
        diff.assert_not_worse()
    """
    from metal.questions.drift.changed import changed_answers
    from metal.questions.drift.compute import drift, judge_pairs
    from metal.questions.drift.run import Diff

    margins = Margins(margin, margin, margin, alpha, power)
    options = given(reading)
    commands = [
        read_run_toml(Path(each))["command"] if isinstance(each, str | Path) else ""
        for each in (run, baseline)
    ]
    if options and data is None and all(commands):
        raise UsageError(
            f"`{next(iter(options))}` is for tables, but both are runs and are read as they are;"
            " leave it out"
        )
    now, before = side(run, data, options), side(baseline, data, options)
    pairs = judge_pairs(now.judges, before.judges, names(judges))
    settings = replace(now.settings, criteria=names(criteria), languages=names(languages))
    if reference:
        settings = replace(settings, reference=reference)
    drifted = drift(now.dataset, before.dataset, settings, margins, pairs)
    drifted = replace(drifted, warnings=(*now.warnings, *before.warnings, *drifted.warnings))
    manifest = now.manifest("diff", before, margins, pairs, {"reference": reference})
    changed = changed_answers(
        now.dataset, before.dataset, pairs, settings.criteria, settings.languages
    )
    return Diff.of(drifted, now.dataset, manifest, pairs, changed)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its ratings, its judges, its name, and how people's labels are
    combined.
    """

    inputs: Inputs
    dataset: Dataset
    judges: tuple[str, ...]
    called: str
    settings: Any
    warnings: tuple[str, ...] = ()

    def manifest(
        self,
        command: str,
        before: Side,
        margins: Any,
        pairs: Mapping[str, str],
        more: Mapping[str, Any],
    ) -> Any:
        """The content of run.toml for the comparison."""
        from metal.data.text import signature_line
        from metal.version import __version__

        options = {key: value for key, value in more.items() if value}
        asked = {
            "margins": asdict(margins),
            "baseline": before.called,
            "run": self.called,
            **options,
        }
        identity = {"data": self.dataset.identity, "baseline": before.dataset.identity, **options}
        signed = signature_line({"metal": __version__, **identity, **asdict(margins)})
        return self.inputs.manifest(command, self.dataset, asked, sorted(pairs), signed)


class RatingsGone(UsageError):
    """The ratings from which an audit was made are not there any more."""


def side(
    run: Ratings | Data | Run, data: Data | None = None, reading: ReadingOptions | None = None
) -> Side:
    """Read one side of a comparison from a run, an audit or a table.

    data: where the run's data are now, if they have moved. reading: how to read a table.

    Raises UsageError if its data are gone or have changed.
    """
    from metal.runs.judges_run import COMMANDS, RatingsRun
    from metal.runs.run import Run

    manifest: Mapping[str, Any] = {}
    called = run.name if isinstance(run, Run) else str(getattr(run, "folder", run))
    if isinstance(run, Run | RatingsRun):
        manifest = run.manifest
    elif isinstance(run, str | os.PathLike):
        manifest = read_run_toml(Path(run))
    if not manifest.get("command"):
        return _side_of_table(run, reading)
    first: Mapping[str, Any] = next(iter(manifest["datasets"]), {})
    data_then = data if data is not None else _still_there(called, first)
    reading = reading if data is not None else first.get("reading", {})
    if manifest["command"] in COMMANDS:
        return judged(Path(called), data_then, reading)
    if manifest["command"] != "audit":
        raise UsageError(
            f"{called}: a run of `metal {manifest['command']}`; give runs of `metal.judge` or"
            " `metal.audit`"
        )
    return _audited(called, manifest, data_then, reading)


def _audited(
    called: str, manifest: Mapping[str, Any], data: Data, reading: ReadingOptions | None
) -> Side:
    """One side of a comparison from an audit. Raises UsageError if its data have changed."""
    from metal.auditing.cells import judges_of
    from metal.auditing.settings import AuditSettings

    first: Mapping[str, Any] = next(iter(manifest["datasets"]), {})
    more = [named_by(Path(called), path) for path in first.get("more", ())]
    inputs = load(data, more, reading)
    asked = manifest["settings"]
    settings = AuditSettings(
        **{key: asked[key] for key in ("reference", "aggregate", "min_raters") if key in asked}
    )
    dataset, _ = inputs.without_noisy(asked.get("exclude_noisy", ""))
    if dataset.digest != first.get("digest"):
        raise RatingsGone(
            f"{called}: its ratings have changed since it was made, and the earlier ones are gone;"
            " give the runs of `metal.judge` that are compared"
        )
    judges = tuple(
        name for name in judges_of(dataset, AuditSettings()) if name in manifest["raters"]
    )
    return Side(inputs, dataset, judges, called, settings)


def _side_of_table(table: Any, reading: ReadingOptions | None) -> Side:
    from metal.auditing.cells import judges_of
    from metal.auditing.settings import AuditSettings

    inputs, settings = load(table, (), reading), AuditSettings()
    is_path = isinstance(table, str | os.PathLike)
    name = str(table) if is_path else inputs.dataset.card.name
    return Side(inputs, inputs.dataset, judges_of(inputs.dataset, settings), name, settings)


def _still_there(called: str, first: Mapping[str, Any]) -> Path:
    path = named_by(Path(called), str(first.get("path", NOWHERE)))
    if not path.exists():
        problem = (
            f"was made from {path}, which is not here"
            if first.get("path")
            else "does not say what it is about"
        )
        raise UsageError(f"{called} {problem}; name its place with `data`")
    return path


def judged(run: Path, data: Data, reading: ReadingOptions | None = None) -> Side:
    """The dataset with only the people's ratings and those of the run's judges."""
    from metal.auditing.cells import judges_of
    from metal.auditing.settings import AuditSettings
    from metal.data.dataset import with_parts, with_ratings
    from metal.data.ratings import facts_in, tidy_facts
    from metal.runs.judges_run import doubts

    dataset = as_dataset(data, reading)
    people = {name: rater for name, rater in dataset.raters.items() if rater.kind == "human"}
    rows = dataset.ratings[dataset.ratings["rater"].isin(list(people))]
    facts = tidy_facts(rows.loc[:, facts_in(rows)])
    both = with_ratings(with_parts(dataset, raters=people.values(), facts=facts), run)
    inputs = Inputs(
        both, dataset.folder or NOWHERE, (run,), origin=dataset.origin, reading=dataset.reading
    )
    settings = AuditSettings()
    return Side(
        inputs, both, judges_of(both, settings), str(run), settings, tuple(doubts(run, dataset))
    )
