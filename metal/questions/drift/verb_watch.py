"""`metal.gate_watch`: follow a judge in use, source by source, and say whether it or the system has
drifted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metal.api.options import Option, StrPath, documented
from metal.api.read import Data, folder_of
from metal.data.files import one_writer
from metal.data.languages import language_name
from metal.data.text import listed, plural, within
from metal.errors import UsageError
from metal.questions.drift.compute import judge_pairs
from metal.questions.drift.verb_diff import judged
from metal.questions.drift.verb_gate import Declared
from metal.questions.drift.watching import JUDGE, SYSTEM, baselines, levels, promise, steps

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Ratings
    from metal.questions.drift.store import WatchFile


@dataclass(frozen=True)
class Watch:
    """The state of a watch.

    streams: a row for each judge, language, criterion and watched figure, with its number of steps,
    its mean, the level below which the mean must not fall, its e-value, and the step of its alarm
    (0 if there was none). taken: the number of steps in this call. threshold: the e-value at which
    a stream alarms. promise: a sentence on how often an alarm is false. titles: the titles of the
    criteria.
    """

    streams: pd.DataFrame
    taken: int
    threshold: float
    promise: str
    titles: Mapping[str, str]

    @property
    def begun(self) -> pd.DataFrame:
        """The streams that have steps, the one nearest to an alarm first."""
        return self.streams[self.streams["steps"] > 0].sort_values(
            "e_value", ascending=False, kind="stable"
        )

    @property
    def drifted(self) -> pd.DataFrame:
        """The streams that alarmed."""
        return self.streams[self.streams["alarm"] > 0]

    @property
    def exit_code(self) -> int:
        """0, or 1 after an alarm."""
        return int(len(self.drifted) > 0)

    @property
    def headline(self) -> str:
        """Say who drifted, and where."""
        judges, systems = (
            self._where(self.drifted[self.drifted["what"] == what]) for what in (JUDGE, SYSTEM)
        )
        alone = [judge for judge in systems if judge not in judges]
        sentences = [
            f"The judge drifted: {within(judge)} in {listed(judges[judge])}." for judge in judges
        ]
        sentences += [
            f"The system drifted, and its judge did not: {listed(systems[judge])}."
            for judge in alone
        ]
        if judges and systems:
            sentences.append("Where its judge drifted, the system's scores mean nothing.")
        if sentences:
            return " ".join(sentences)
        names = list(dict.fromkeys(self.streams["judge"]))
        who = plural(len(names), "judge") if names[1:] else within(names[0])
        of = plural(len(self.begun), "stream")
        return (
            f"No drift of {who} after {plural(int(self.streams['steps'].sum()), 'step')} in {of}."
        )

    def _where(self, rows: pd.DataFrame) -> dict[str, list[str]]:
        from metal.show.parts import in_sentence

        places: dict[str, list[str]] = {}
        for row in rows.to_dict("records"):
            criterion, after = (
                in_sentence(self.titles[row["criterion"]]),
                plural(row["alarm"], "step"),
            )
            places.setdefault(row["judge"], []).append(
                f"{language_name(row['language'])} ({criterion}, after {after})"
            )
        return places

    def __repr__(self) -> str:
        return f"<watch: {self.headline}>"

    def _repr_html_(self) -> str:
        html: str = self.streams.to_html(index=False, float_format="{:.3g}".format)
        return html


@documented
def gate_watch(
    gate: StrPath,
    run: Ratings,
    *,
    state: Annotated[
        StrPath, Option("File that holds the state of the watch.", metavar="FILE")
    ] = "watch.jsonl",
    data: Annotated[
        Data | None,
        Option("Dataset of the run. [default: the gate's anchors]", metavar="DATASET"),
    ] = None,
) -> Watch:
    """Watch a judge in use, batch by batch, with an alarm that you may check at any time.

    On outputs that people rated, the watch tests whether the judge's agreement has fallen below its
    level; on outputs that nobody rated, whether the system's score has. A level is the lower limit
    of the anchors' mean, or the mean minus the margin if that is lower. Each test is a bet against
    the level: a stream starts with a stake of 1, and alarms when the stake reaches
    2 x streams / alpha. If the judge's stream alarms, the judge has drifted; if only the system's
    does, the system has.

    If the judge agrees with people as well as on the anchors, or better, the chance of any false
    alarm, ever, in any declared stream, is at most alpha.

    All outputs of a source are one step, and one line of the file. An interrupted run continues
    where it stopped, and a batch counts once.

    Args:
        gate: The file, from `metal.gate_init`.
        run: A run of `metal.judge`, the next batch.

    Returns:
        The streams; `headline` says who drifted.

    Raises:
        DataError: For a gate file that cannot be used.
        UsageError: If it declares fewer streams than there are.

    Example:
        metal.gate_watch("gate.toml", "runs/anchors-today").headline
    """
    from metal.auditing.settings import AuditSettings
    from metal.questions.drift.store import WatchFile

    declared, folder, path = Declared.read(Path(gate)), folder_of(run), Path(state)
    before = declared.before()
    now = judged(folder, declared.anchors if data is None else data)
    pairs = judge_pairs(now.judges, before.judges, declared.judges)
    settings = AuditSettings(criteria=declared.criteria, languages=declared.languages)
    of_stream, margins = baselines(before.dataset, settings, pairs), declared.margins
    _check_streams(Path(gate), declared.streams, len(of_stream))
    least = levels(of_stream, margins, declared.streams)
    batch = _batch(folder)
    every = [step for judge in pairs for step in steps(now.dataset, settings, judge)]
    with one_writer(path):
        file = WatchFile(path, margins.alpha, least, declared.streams)
        taken = file.take(
            batch, sorted(every, key=lambda step: _shuffled(batch, *step[0], step[1]))
        )
    titles = {key: before.dataset.called(key) for _, _, _, key in least}
    return Watch(
        _table(file), taken, file.threshold, promise(margins.alpha, declared.streams), titles
    )


def _check_streams(gate: Path, declared: int, streams: int) -> None:
    """Raise UsageError if the gate declares no number of streams, or fewer than there are."""
    if not declared:
        raise UsageError(
            f"{gate} was written by an earlier METAL and does not declare how many streams a watch"
            f" may have; there are {streams}. Write the line streams = {streams} above [margins],"
            " or write a new gate with `metal.gate_init`"
        )
    if streams > declared:
        raise UsageError(
            f"{plural(streams, 'stream')} to watch, but the promise of {gate} holds for {declared}"
            f" only. Write a new gate with `metal.gate_init(streams={streams})` and begin a new"
            " `state`"
        )


def _batch(folder: Path) -> str:
    """What identifies a batch: its first reply with the time of that reply or, without replies, its
    ratings.
    """
    journal = folder / "journal.jsonl"
    if journal.is_file():
        with journal.open("rb") as file:
            return _shuffled(file.readline().decode("utf-8", "replace"))
    return blake2b((folder / "ratings.parquet").read_bytes(), digest_size=8).hexdigest()


def _shuffled(*parts: str) -> str:
    """A sort key that puts sources in an arbitrary order, which is the same each time."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _table(file: WatchFile) -> pd.DataFrame:
    import pandas as pd

    rows: Iterable[dict[str, object]] = (
        {
            "what": key[0],
            "judge": key[1],
            "language": key[2],
            "criterion": key[3],
            "steps": stream.steps,
            "mean": stream.total / stream.steps if stream.steps else math.nan,
            "least": stream.least,
            "e_value": math.exp(min(stream.log_e, 700)),
            "alarm": file.alarms.get(key, 0),
        }
        for key, stream in sorted(file.streams.items())
    )
    return pd.DataFrame(rows)
