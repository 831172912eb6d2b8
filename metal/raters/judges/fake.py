"""Synthetic judges with known behaviour, such as `fake:sensitive?d=1.5`, to test whether an
analysis finds it.

A synthetic judge is a function of an output's record (its id, language, text, and how it was
changed), not of a prompt. It is handled like a function judge: journaled, resumed, free. Judges
with equal names give equal outputs equal scores.

- random: scores drawn evenly over the scale.
- sensitive (d): as random; d standard deviations lower where a change must show.
- blind (language, d): sensitive (d = 3), but sees no change in the language; without one, in none.
- lenient (language, shift, d): sensitive (d = 3), and `shift` levels or points higher in the
  language.
- swayed (by, language, shift, d): sensitive (d = 3), and `shift` levels or points higher where a
  change of that name (order, authority, bandwagon, padded, ...) was made.
- length: higher for longer texts.
- position (language, shift): prefers the output of a pair that is shown first, with log odds of
  `shift` (else always); elsewhere as random.
- copycat: gives a changed output what it gave the original.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from statistics import NormalDist
from typing import Any

from metal.data.languages import check_language
from metal.data.plugins import plugins
from metal.data.records import SYNTHETIC, Criterion, Output
from metal.errors import DataError, UnknownName, UsageError, check_known
from metal.raters.judges.functions import JudgeFunction
from metal.raters.judges.models import Model
from metal.raters.judges.prices import Price
from metal.raters.judges.providers import Provider

FAKE = "fake"
BEHAVIOURS: Mapping[str, tuple[str, ...]] = {
    "sensitive": ("d",),
    "blind": ("language", "d"),
    "lenient": ("language", "shift", "d"),
    "swayed": ("by", "language", "shift", "d"),
    "length": (),
    "position": ("language", "shift"),
    "copycat": (),
    "random": (),
}
SURE = 3.0  # d of judges that are asked for something else
ALWAYS = 99.0  # log odds
# of the text to which `length` gives the middle, and of logarithms
USUAL_LENGTH, SPREAD = 200.0, 0.5
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Behaviour:
    """How a synthetic judge behaves. language: the language in which it behaves so; empty for all.
    by: see `swayed`.
    """

    kind: str
    language: str = ""
    by: str = ""
    d: float = SURE
    shift: float = 1.0

    @classmethod
    def read(cls, model: str, location: object) -> Behaviour:
        """The behaviour from a name such as `blind?language=yo&d=2`. Raises UnknownName or
        DataError for any other name.
        """
        kind, _, query = model.partition("?")
        check_known(f"{location}: synthetic judge", [kind], BEHAVIOURS)
        settings = dict(part.partition("=")[::2] for part in query.split("&") if part)
        check_known(f"{location}: setting", settings, BEHAVIOURS[kind])
        values: dict[str, Any] = {"d": 1.5 if kind == "sensitive" else SURE}
        values |= {"shift": ALWAYS} if kind == "position" else {}
        if kind == "swayed" and not settings.get("by"):
            raise DataError(
                location, "swayed by nothing", "Name a change, e.g. fake:swayed?by=authority"
            )
        values |= {"by": settings.pop("by").replace("-", " ")} if "by" in settings else {}
        for key, value in settings.items():
            if key == "language":
                check_language(value, location)
                values[key] = value
                continue
            try:
                values[key] = float(value)
            except ValueError:
                values[key] = math.nan
            if not math.isfinite(values[key]):
                raise DataError(location, f"{key}={value}", f"Write a number, e.g. {key}=1.5")
        return cls(kind, **values)


def _open_client(model: Model) -> Any:
    raise UsageError(
        f"judge {model.name}: synthetic judges rate the outputs of a dataset; give it to"
        " `metal.judge`"
    )


def _settings(model: str, location: str) -> Mapping[str, Any]:
    Behaviour.read(model, location)
    return {"family": SYNTHETIC, "structured": "none"}


PROVIDER = Provider(
    "fake:NAME?SETTING=VALUE", "synthetic judges of known behaviour, free", _open_client
)
PROVIDER = replace(PROVIDER, settings=_settings)


def as_synthetic(model: Model) -> Model:
    """Change the model into one to which nothing is sent: it is free and has no parameters."""
    return replace(model, parameters={}, price=Price(0, 0), batch_price=None)


def with_records(outputs: Iterable[Output], declared: Iterable[Mapping[str, Any]]) -> list[Output]:
    """Replace each output's text by its record, which a synthetic judge reads.

    declared: what a dataset of probes says about each condition (`falls`: criteria; `share` of the
    strongest dose).
    """
    by_condition = {change["condition"]: change for change in declared}
    records = []
    for output in outputs:
        record: dict[str, Any] = {
            "output": output.output,
            "of": output.of,
            "language": output.language,
        }
        changed = "" if output.is_pair else output.condition  # a pair in the other order is not
        record |= {"condition": changed, "text": output.text, "pair": output.is_pair}
        change = by_condition.get(output.condition)
        record |= (
            {"share": change.get("share", 1.0), "falls": list(change.get("falls", ()))}
            if change
            else {}
        )
        records.append(replace(output, text=json.dumps(record, ensure_ascii=False), texts=()))
    return records


def synthetic_judge(model: Model, conditions: Iterable[str] = ()) -> JudgeFunction:
    """The judge as a function of a source, an output's record and a criterion.

    conditions: the conditions of the outputs. Raises UnknownName for a judge swayed by something
    that is neither a condition nor a probe.
    """
    behaviour = Behaviour.read(model.model, f"judge {model.name!r}")
    changes = sorted(
        {*conditions, *(name.replace("-", " ") for name in plugins("metal.probes"))} - {""}
    )
    if not any(behaviour.by in change for change in changes):
        raise UnknownName(f"judge {model.name!r}: change", behaviour.by, changes)
    return partial(_judge, model.name, behaviour)


async def _judge(
    name: str, behaviour: Behaviour, source: str, output: str, criterion: Criterion
) -> float:
    record = json.loads(output)
    draw = _uniform(name, criterion.name, record["output"])
    own = behaviour.language in ("", record["language"])
    if behaviour.kind == "position" and record["pair"]:
        return criterion.scale.values[draw > 1 / (1 + math.exp(-behaviour.shift * own))]
    if behaviour.kind == "length":
        draw = _NORMAL.cdf((math.log(len(record["text"]) + 1) - math.log(USUAL_LENGTH)) / SPREAD)
    elif behaviour.kind == "copycat":
        draw = _uniform(name, criterion.name, record["of"] or record["output"])
    chance = _uniform(name, criterion.name, record["output"], "shift")
    return respond(behaviour, record, criterion, draw, chance)


def respond(
    behaviour: Behaviour,
    record: Mapping[str, Any],
    criterion: Criterion,
    draw: float,
    chance: float,
) -> float:
    """The score of an output, given how it was changed. draw: the judge's opinion of the original,
    as a share of the scale, 0 to 1. chance: decides whether a shift by a fraction of a level moves
    one level more.
    """
    if behaviour.kind not in ("position", "random", "length", "copycat"):
        draw = _sensitive(behaviour, record, criterion.name, draw)
    swayed = behaviour.kind == "swayed" and behaviour.by in record["condition"]
    own = behaviour.language in ("", record["language"])
    return _score(
        criterion,
        draw,
        behaviour.shift if own and (swayed or behaviour.kind == "lenient") else 0.0,
        chance,
    )


def _uniform(*parts: str) -> float:
    """A number above 0 and below 1 that depends only on the given texts."""
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return (int.from_bytes(digest) + 0.5) / 2**48


def _sensitive(
    behaviour: Behaviour, record: Mapping[str, Any], criterion: str, draw: float
) -> float:
    """The score that was drawn for the original, lowered if the output was changed in a way that
    must show.
    """
    blind = behaviour.kind == "blind" and behaviour.language in ("", record["language"])
    if not record["condition"] or blind or criterion not in record.get("falls", [criterion]):
        return draw
    return _NORMAL.cdf(_NORMAL.inv_cdf(draw) - behaviour.d * record.get("share", 1.0))


def _score(criterion: Criterion, draw: float, shift: float, chance: float) -> float:
    """The score at the share `draw` of the scale, counted from its worst end. shift: levels or
    points towards the better end.
    """
    scale = criterion.scale
    worse_first = sorted(scale.values, reverse=criterion.direction == "lower")
    if worse_first:
        steps = math.floor(shift) + (chance < shift % 1)
        level = min(int(draw * len(worse_first)), len(worse_first) - 1) + steps
        return worse_first[min(max(level, 0), len(worse_first) - 1)]
    sign = 1 if criterion.direction == "higher" else -1
    if scale.ends is None:
        return sign * (_NORMAL.inv_cdf(min(max(draw, 1e-9), 1 - 1e-9)) + shift)
    low, high = scale.ends
    score = (low if sign > 0 else high) + sign * (draw * (high - low) + shift)
    return min(max(score, low), high)
