"""What a gate will be able to show, in sentences for the person who declares it."""

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
    """Say what a watch promises, and which losses it will find.

    loss: the loss to plan for; 0 means twice the margin.
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
    """Say which losses a watch will find; it cannot find a loss that would take a stream
    below 0.
    """
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
    """Say how many anchors are needed to find a loss, in the streams whose mean is larger than it;
    empty if there are none.
    """
    able = [baseline for baseline in baselines if baseline.mean > loss]
    if not able:
        return ""
    needed = [baseline.sources_for(loss, alpha, streams) for baseline in able]
    return (
        f"Finding a loss of {percent(loss)} takes anchors of about {_range(needed, count)} sources"
        " in each language; the gate has"
        f" {_range([baseline.sources for baseline in able], count)}."
    )


def pass_line(compared: Iterable[Compared], margins: Margins) -> str:
    """Say how many anchors a PASS needs, since even an unchanged judge changes some answers when
    asked again.
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
        f"If nothing changed, a PASS with a chance of {percent(margins.power)} takes about"
        f" {_range(needed, count)} anchors in each language: asked again, the unchanged judge"
        f" changes its answer to {_range(flips, percent)} of them."
    )


def _range(values: Sequence[float], form: Callable[[Any], str]) -> str:
    """The range of the values: `150`, or `150 to 320`."""
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"
