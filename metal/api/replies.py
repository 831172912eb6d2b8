"""`metal.replies`: what judges were asked about an output, what they replied, and how the reply was
read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd

from metal.api.options import Names, Option, StrPath, documented, names
from metal.api.read import load
from metal.data.languages import find_language
from metal.data.people import people_in
from metal.data.run_toml import named_by, read_run_toml
from metal.errors import UsageError, check_known
from metal.runs.judges_run import RatingsRun
from metal.runs.parts import command_of
from metal.show.replies import marked_html
from metal.stats.patterns import Codes

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.running.replying import AskedCall, JournaledRun

MOST = 50  # rows where nothing else is asked for
COLUMNS = ("language", "criterion", "output", "judge", "score", "reason", "people", "raters")


@dataclass(frozen=True, repr=False)
class Replies:
    """What judges replied.

    table: one row per output, criterion and judge, with the language, the score or the reason why
    there is none, `people` (the mean of people's scores) and `raters` (the number of people).
    total: the number of rows before `limit`.

    calls: what was sent and what came back, if one output was requested; else empty. notes: notes
    on what is missing.
    """

    table: pd.DataFrame
    total: int
    calls: Sequence[AskedCall] = ()
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them with `--json`."""
        return {
            "replies": self.table,
            "total": self.total,
            "calls": list(map(asdict, self.calls)),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"<{self.total:,} replies, {len(self.calls)} of them in full>"

    def _repr_html_(self) -> str:
        html: str = self.table.to_html(index=False, na_rep="–", float_format="{:.2f}".format)
        parts = [html]
        for call in self.calls:
            messages = [call.system or "", call.user or call.about_messages]
            texts = [escape(text) for text in messages]
            texts += [marked_html(answer.text, answer.read_from) for answer in call.answers]
            blocks = "".join(f"<pre>{text}</pre>" for text in texts if text)
            parts.append(
                f"<p><b>{escape(call.judge)}</b> {escape(', '.join(call.criteria))}</p>{blocks}"
            )
        return "".join(parts)


@documented
def replies(
    run: StrPath,
    output: str = "",
    *,
    language: Annotated[
        Names, Option("Languages; default all.", "-l", aliases=("--languages",))
    ] = (),
    criterion: Annotated[
        Names, Option("Criteria; default all.", "-c", aliases=("--criteria",))
    ] = (),
    judge: Annotated[
        Names, Option("Judges, or models with all their prompts. [default: all]", "-j")
    ] = (),
    unread: Annotated[bool, Option("Only replies without a score.")] = False,
    limit: Annotated[
        int, Option("Show at most N replies; 0 for all.", metavar="N", least=0)
    ] = MOST,
) -> Replies:
    """Show judges' replies in `run`: to `output` in full or, without it, a table of outputs.

    In full means the messages sent, the raw reply, how METAL read it, tokens and cost, and people's
    ratings of the same output. Messages are not stored; METAL rebuilds them from prompt and texts,
    and shows them only if hashes prove them identical.

    Args:
        run: A run of `metal.judge`, or an audit of one.
        output: The id of an output.

    Returns:
        The table and, for one output, its calls.

    Raises:
        UnknownName: For an output, language, criterion or judge that does not exist.
        UsageError: If RUN has no replies.

    Example:
        metal.replies("runs/news-judges", unread=True)
    """
    opened = OpenedReplies.of(run)
    table = _chosen(opened.table, names(language), names(criterion), names(judge), opened.models)
    calls: list[AskedCall] = []
    if output:
        check_known("output", [output], dict.fromkeys(map(str, opened.table["output"])))
        table = table[table["output"] == output]
        calls = opened.calls(output, set(table["judge"]), set(table["criterion"]))
    if unread:
        table = table[table["score"].isna()]
        missing = set(zip(table["judge"], table["output"], strict=True))
        calls = [call for call in calls if (_repeated(call), call.output) in missing]
    first_rows = table if output or not limit else table.head(limit)
    return Replies(first_rows.reset_index(drop=True), len(table), tuple(calls), opened.notes)


def dataset_at(path: Path) -> Dataset:
    """The dataset in a path."""
    return load(path).dataset


@dataclass(frozen=True)
class OpenedReplies:
    """The replies in a run of judges, or in the runs of judges that an audit uses. They are opened
    once, so looking up one output after another is fast.

    Replies that arrive later are found. Ratings that are written later are not; open the run again
    to see them.
    """

    runs: tuple[_OpenedRun, ...]

    @classmethod
    def of(
        cls, run: StrPath, read_dataset: Callable[[Path], Dataset] = dataset_at
    ) -> OpenedReplies:
        """Open a run of `metal.judge`, or an audit of one. Raises UsageError if it has no
        replies.

        read_dataset: reads the dataset in a path, for whoever has it open already.
        """
        return cls(tuple(_OpenedRun.of(each, read_dataset) for each in judges_runs(Path(run))))

    @classmethod
    def together(cls, opened: Iterable[OpenedReplies]) -> OpenedReplies:
        """The replies of several runs that are open already."""
        return cls(tuple(run for each in opened for run in each.runs))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per output, criterion and judge, as in Replies, with the judge's comment."""
        return pd.concat([run.table() for run in self.runs], ignore_index=True)

    @property
    def size(self) -> int:
        """The number of ratings."""
        return sum(len(run.ratings) for run in self.runs)

    @property
    def dataset(self) -> Dataset | None:
        """The first run's dataset; None if it is no longer there."""
        return self.runs[0].dataset

    @property
    def models(self) -> dict[str, str]:
        """The model of each judge."""
        return {name: model for run in self.runs for name, model in run.models.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what is missing."""
        return tuple(note for run in self.runs for note in run.notes)

    def calls(
        self,
        output: str,
        judges: Collection[str] | None = None,
        criteria: Collection[str] | None = None,
    ) -> list[AskedCall]:
        """The calls about an output, each with the judge's and people's ratings; none if nobody was
        asked about it.

        judges, criteria: only calls to these judges, on one of these criteria; default all.
        """
        return [call for run in self.runs for call in run.calls(output, judges, criteria)]


def _repeated(call: AskedCall) -> str:
    """The name of this answer in the ratings, if the judge was asked several times."""
    return call.judge + (f"#{call.sample}" if call.sample > 1 else "")


class NothingAsked(UsageError):
    """An audit of ratings that came with the data: METAL asked no judge for them."""


def judges_runs(run: Path) -> list[Path]:
    """The judges' runs in which to look: the run itself, or those from which an audit was made.

    Raises UsageError if there are none; NothingAsked if there never were any.
    """
    command = command_of(run)
    if command == "judge":
        return [run]
    run_toml = read_run_toml(run)
    paths = [named_by(run, path) for data in run_toml["datasets"] for path in data.get("more", ())]
    journaled = [path for path in paths if (path / "journal.jsonl").is_file()]
    if not journaled:
        what = (
            f"a run of `metal {command}` that names no run of judges here"
            if command
            else "not a run"
        )
        gone = not command or not all(path.exists() for path in paths)
        refusal = UsageError if gone else NothingAsked
        raise refusal(f"{run}: {what}; give the run folder of `metal.judge`")
    return journaled


def _chosen(
    table: pd.DataFrame,
    languages: Sequence[str],
    criteria: Sequence[str],
    judges: Sequence[str],
    models: dict[str, str],
) -> pd.DataFrame:
    """The rows of these languages, criteria and judges; a model includes all its judges."""
    codes = [find_language(name) or name for name in languages]
    for column, wanted in (("language", codes), ("criterion", criteria)):
        check_known(column, wanted, dict.fromkeys(table[column]))
        table = table[table[column].isin(wanted)] if wanted else table
    check_known("judge", judges, [*models, *dict.fromkeys(models.values())])
    if judges:
        of_model = table["judge"].map(models)
        table = table[table["judge"].isin(judges) | of_model.isin(judges)]
    return table


@dataclass(frozen=True)
class _OpenedRun:
    """A judges' run: the judges' ratings, the model of each judge, and the dataset with people's
    ratings of the same outputs.
    """

    run: RatingsRun
    dataset: Dataset | None
    ratings: pd.DataFrame
    models: dict[str, str]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path, read_dataset: Callable[[Path], Dataset]) -> _OpenedRun:
        run = RatingsRun.open(folder)
        if not (folder / "ratings.parquet").is_file():
            raise UsageError(
                f'{folder} has no ratings yet; `metal.judge(resume="{folder}")` continues it'
            )
        dataset, notes = _dataset_of(run, read_dataset)
        judges = [name for name, rater in run.raters.items() if rater.kind == "llm"]
        ratings = run.ratings[run.ratings["rater"].isin(judges)]
        models = {name: str(run.raters[name].about.get("model") or name) for name in judges}
        return cls(run, dataset, ratings, models, notes)

    def table(self) -> pd.DataFrame:
        """One row per output, criterion and judge."""
        rows = self.ratings.rename(columns={"rater": "judge"})
        asked = self.dataset.outputs if self.dataset else {}
        languages = [asked[name].language if name in asked else "" for name in rows["output"]]
        rows = rows.assign(language=languages)
        rows = rows.astype(dict.fromkeys(("output", "criterion", "judge", "reason"), object))
        by_people = _people(self.dataset).groupby(["output", "criterion"], observed=True)["score"]
        means = by_people.agg(["mean", "count"]).rename(
            columns={"mean": "people", "count": "raters"}
        )
        table = rows.merge(means, how="left", left_on=["output", "criterion"], right_index=True)
        table["raters"] = table["raters"].fillna(0).astype(int)
        return table[[*COLUMNS, "comment"]].reset_index(drop=True)

    @cached_property
    def _journaled(self) -> JournaledRun:
        from metal.running.replying import JournaledRun

        return JournaledRun(self.run.folder, self.dataset)

    @cached_property
    def _rated(self) -> RowsByOutput:
        return RowsByOutput.of(self.ratings)

    @cached_property
    def _by_people(self) -> RowsByOutput:
        return RowsByOutput.of(_people(self.dataset))

    def calls(
        self, output: str, judges: Collection[str] | None, criteria: Collection[str] | None
    ) -> list[AskedCall]:
        """The calls about an output to these judges on these criteria, each with the judge's and
        people's ratings.
        """
        people, rated = self._by_people.about(output), self._rated.about(output)
        calls = []
        for call in self._journaled.calls(output):
            judge = _repeated(call)
            if judges is not None and judge not in judges:
                continue
            if criteria is not None and set(call.criteria).isdisjoint(criteria):
                continue
            own = [row for row in rated if row["rater"] == judge]
            ratings = [_rating(row, judge, "llm") for row in _on(own, call)]
            ratings += [_rating(row, row["rater"], "human") for row in _on(people, call)]
            calls.append(replace(call, ratings=tuple(ratings)))
        return calls


def _on(rows: Sequence[Mapping[str, Any]], call: AskedCall) -> list[Mapping[str, Any]]:
    """The rows on a criterion that a call was about."""
    return [row for row in rows if row["criterion"] in call.criteria]


@dataclass(frozen=True)
class RowsByOutput:
    """A table of ratings whose rows are looked up by their output.

    columns: of each name, the array with its values. outputs: their names; codes: the rising
    numbers of the rows' outputs among them; rows: the row of each of these.
    """

    columns: Mapping[str, Any]
    outputs: pd.Index
    codes: Codes
    rows: Codes

    @classmethod
    def of(cls, table: pd.DataFrame) -> RowsByOutput:
        """The rows of a table."""
        names = ("rater", "criterion", "score", "reason", "comment")
        output = table["output"].astype("category").cat
        codes = output.codes.to_numpy()
        rows = np.argsort(codes, kind="stable")
        columns = {name: table[name].array for name in names}
        return cls(columns, output.categories, codes[rows], rows)

    def about(self, output: str) -> list[dict[str, Any]]:
        """The rows about an output, in their order."""
        code = self.outputs.get_indexer(pd.Index([output]))[0]  # -1 for none, which has no rows
        start, end = np.searchsorted(self.codes, [code, code + 1])
        # a table of these rows would take ten times as long, and a bundle looks up thousands
        rows = self.rows[start:end]
        values = [column.take(rows).tolist() for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]


def _rating(row: Mapping[str, Any], rater: str, kind: str) -> dict[str, Any]:
    score = None if pd.isna(row["score"]) else float(row["score"])
    rest = {"criterion": str(row["criterion"]), "score": score}
    return {
        "rater": str(rater),
        "kind": kind,
        **rest,
        "reason": str(row["reason"]),
        "comment": str(row["comment"]),
    }


def _dataset_of(
    run: RatingsRun, read_dataset: Callable[[Path], Dataset]
) -> tuple[Dataset | None, tuple[str, ...]]:
    """The dataset that the run was begun on, or a note that it is missing."""
    folder = str(run.manifest["settings"].get("dataset", ""))
    if folder and (path := named_by(run.folder, folder)).exists():
        return read_dataset(path), ()
    return None, (
        (
            f"{run.folder} was made from {folder}, which is not here: languages, messages and"
            " people's scores are missing"
        ),
    )


def _people(dataset: Dataset | None) -> pd.DataFrame:
    """People's ratings in the dataset; empty without a dataset."""
    if dataset is None:
        return pd.DataFrame(columns=["output", "criterion", "rater", "score", "reason", "comment"])
    people = people_in(dataset.raters)
    rows: pd.DataFrame = dataset.ratings[dataset.ratings["rater"].isin(people)]
    return rows
