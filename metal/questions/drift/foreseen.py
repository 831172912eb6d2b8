"""What a gate will be able to show, in sentences for whoever declares it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from metal.data.text import count, percent, plural
from metal.questions.drift.compute import Compared
from metal.questions.drift.settings import Margins
from metal.questions.drift.watching import JUDGE, SYSTEM, Key, margin_of, promise
from metal.stats.stream import Baseline

WATCHED = {JUDGE: "agreement with people", SYSTEM: "the system's mean score"}


def watch_lines(
    of_stream: Mapping[Key, Baseline], margins: Margins, streams: int, loss: float = 0.0
) -> Iterator[str]:
    """The promise of a watch, and which losses it will find. loss: the one to plan for, or 0: twice
    the margin.
    """
    yield promise(margins.alpha, streams)
    for what, name in WATCHED.items():
        chosen = {key: baseline for key, baseline in of_stream.items() if key[0] == what}
        if not chosen:
            continue
        margin = margin_of((what, "", "", ""), margins)
        sentences = [
            _losses(name, list(chosen.values()), margin, margins.alpha, streams),
            _anchors_for(loss or 2 * margin, list(chosen.values()), margins.alpha, streams),
        ]
        yield " ".join(filter(None, sentences))


def _losses(
    name: str, baselines: Sequence[Baseline], margin: float, alpha: float, streams: int
) -> str:
    """Which losses will be found; none where a stream would have to fall below 0."""
    losses = [baseline.loss_seen(margin, alpha, streams) for baseline in baselines]
    visible = [
        loss for loss, baseline in zip(losses, baselines, strict=True) if loss < baseline.mean
    ]
    if not visible:
        return f"A watch will find no loss of {name}: there are too few anchors."
    sentence = f"A watch will find a loss of {name} of about {_range(visible, percent)}"
    blind = len(losses) - len(visible)
    if blind:
        sentence += (
            f", and none in {blind} of {plural(len(losses), 'stream')}, which have too few anchors"
        )
    return f"{sentence}."


def _anchors_for(loss: float, baselines: Sequence[Baseline], alpha: float, streams: int) -> str:
    """How many anchors such a loss takes, of the streams that have as much to lose; empty if
    none has.
    """
    able = [baseline for baseline in baselines if baseline.mean > loss]
    if not able:
        return ""
    needed = [baseline.sources_for(loss, alpha, streams) for baseline in able]
    return (
        f"To find a loss of {percent(loss)} takes anchors of about {_range(needed, count)} sources"
        f" in each language; there are {_range([baseline.sources for baseline in able], count)}."
    )


def pass_line(compared: Iterable[Compared], margins: Margins) -> str:
    """How many anchors a PASS takes, as the unchanged judge changes answers when it is only asked
    again.
    """
    needed, flips = [], []
    for each in compared:
        differences = each.differences()
        margin = {
            "difference": margins.agreement,
            "mean_change": margins.mean,
            "coverage_change": margins.coverage,
        }
        checks = [name for name in margin if name in differences]
        needed.append(
            max(
                differences[name].for_none(margin[name], margins.alpha, margins.power)
                for name in checks
            )
        )
        flips.append(each.row()["flips"])
    return (
        f"A PASS, where nothing changed, takes about {_range(needed, count)} anchors in each"
        f" language for a chance of {percent(margins.power)}: asked again, the unchanged judge"
        f" gives another answer to {_range(flips, percent)} of them."
    )


def _range(values: Sequence[float], form: Callable[[Any], str]) -> str:
    """`150`, or `150 to 320`."""
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"
