"""Results of promptfoo (version 3 of its format), as `promptfoo import` reads them.

A source is a test, a generator a provider. Every rating is a component of the grading result, with
the assertion `human` or `llm-rubric`, and a named score `CRITERION by RATER`, on the criterion's
own scale. `pass` and `score` speak of positions on the scale: promptfoo expects 0 to 1. What METAL
needs to read it back is in the metadata: the suite's has the criteria, a result's has METAL's ids,
and a component's has the rater.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from metal.api.exports import MARK, Exported, Target, filled_in, json_text, named_score
from metal.data.formats.harnesses.promptfoo_metal import NO_GRADE, WITHOUT_TEXT
from metal.data.holdings import CRITERIA, REPEAT_OF, UNSCORED
from metal.data.progress import Progress
from metal.data.records import Criterion, Output
from metal.data.text import plural

PROMPT = "{{input}}"
PASSED, FAILED, UNGRADED = 0, 1, 2  # promptfoo's reasons of failure
_KEPT = (
    *("rater", "kind", "group", *REPEAT_OF, "label", "confidence"),
    *("verdict", "verdict_reason"),
)


@dataclass
class _Totals:
    """What promptfoo's table counts: results by outcome, and sums of named scores."""

    outcomes: dict[int, int] = field(default_factory=lambda: {PASSED: 0, FAILED: 0, UNGRADED: 0})
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    score: float = 0.0
    unscored: int = 0

    def add(self, result: Mapping[str, Any]) -> None:
        self.outcomes[result["failureReason"]] += 1
        self.score += result["score"]
        for name, score in result["namedScores"].items():
            self.sums[name] = self.sums.get(name, 0) + score
            self.counts[name] = self.counts.get(name, 0) + 1

    @property
    def metrics(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "testPassCount": self.outcomes[PASSED],
            "testFailCount": self.outcomes[FAILED],
            "testErrorCount": self.outcomes[UNGRADED],
            "assertPassCount": 0,
            "assertFailCount": 0,
            "totalLatencyMs": 0,
            "cost": 0,
            "namedScores": self.sums,
            "namedScoresCount": self.counts,
        }


def write(exported: Exported, path: Path, progress: Progress) -> Iterable[str]:
    """Write a result for each rated output."""
    generators = list(dict.fromkeys(exported.table["generator"]))
    places = _Places({name: number for number, name in enumerate(generators)})
    totals = {name: _Totals() for name in generators}
    identity = exported.dataset.digest
    with path.open("w", encoding="utf-8", newline="\n") as file:
        start = MARK | {"evalId": f"eval-metal-{identity}"}
        file.write("{\n" + json_text(start)[1:-1] + ',\n"results": {"version": 3,\n')
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        file.write(f'"timestamp": "{now}",\n"results": [\n')
        for number, result in enumerate(_results(exported, places, progress)):
            totals[result["provider"]["id"]].add(result)
            file.write(f"{',' if number else ''}{json_text(result)}\n")
        prompts = [_prompt(name) | {"metrics": totals[name].metrics} for name in generators]
        file.write(f'],\n"prompts": {json_text(prompts)},\n')
        file.write(f'"stats": {json_text(_stats(totals.values()))}}},\n')
        config = {
            "description": exported.dataset.card.name,
            "prompts": [PROMPT],
            "providers": generators,
            "tests": [_test(exported, source) for source, _ in places.tests],
            "metadata": {CRITERIA: exported.criteria},
        }
        file.write(f'"config": {json_text(config)}}}\n')
    return list(_notes(totals.values(), exported))


@dataclass
class _Places:
    """The numbers of generators and tests. A test is a source. If a generator has several outputs
    for a source, each further output needs a test of its own.
    """

    generators: Mapping[str, int]
    tests: dict[tuple[str, int], int] = field(default_factory=dict)
    outputs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def of(self, output: Output) -> dict[str, int]:
        """The place of the next output."""
        written = output.source, output.generator
        test = (output.source, self.outputs[written])
        self.outputs[written] += 1
        number = self.tests.setdefault(test, len(self.tests))
        return {"promptIdx": self.generators[output.generator], "testIdx": number}


def _prompt(generator: str) -> dict[str, Any]:
    return {
        "id": _digest(f"{generator}\0{PROMPT}"),
        "raw": PROMPT,
        "label": PROMPT,
        "provider": generator,
    }


def _digest(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _test(exported: Exported, name: str) -> dict[str, Any]:
    source = exported.dataset.sources[name]
    return {
        "vars": {"input": source.text or name, "language": source.language},
        "metadata": {"source": name} | filled_in({WITHOUT_TEXT: not source.text or None}),
    }


def _results(exported: Exported, places: _Places, progress: Progress) -> Iterator[dict[str, Any]]:
    criteria = exported.dataset.criteria
    for rated in exported.outputs(progress):
        output, test = rated.output, _test(exported, rated.output.source)
        scored = [rating for rating in rated.ratings if rating["score"] is not None]
        components = [_component(rating, criteria) for rating in scored]
        named = {named_score(rating): rating["score"] for rating in scored}
        outcome, grading = _grading(scored, components, named, criteria)
        text = test["vars"]["input"]
        yield filled_in({"error": grading["reason"] if outcome == UNGRADED else None}) | {
            "id": f"metal-{_digest(output.output)[:32]}",
            **places.of(output),
            "promptId": _prompt(output.generator)["id"],
            "prompt": {"raw": text, "label": PROMPT},
            "provider": {"id": output.generator, "label": output.generator},
            "vars": test["vars"],
            "response": {"output": output.text},
            "testCase": test,
            "gradingResult": grading,
            "namedScores": named,
            "score": grading["score"],
            "success": outcome == PASSED,
            "failureReason": outcome,
            "metadata": rated.about | rated.reference | filled_in({UNSCORED: rated.unscored}),
            "latencyMs": 0,
            "cost": 0,
        }


def _component(rating: Mapping[str, Any], criteria: Mapping[str, Criterion]) -> dict[str, Any]:
    """A rating as one of the components of a grading result."""
    criterion = criteria[rating["criterion"]]
    assertion = {"type": "human" if rating["kind"] == "human" else "llm-rubric"}
    assertion |= {"metric": criterion.name}
    assertion |= filled_in({"value": criterion.wording})
    share = criterion.share(float(rating["score"]))
    return {
        "pass": bool(share >= 0.5),
        "score": rating["score"],
        "reason": rating["comment"] or (NO_GRADE if math.isnan(share) else ""),
        "assertion": assertion,
        "metadata": filled_in({name: rating.get(name) for name in _KEPT}),
    }


def _grading(
    scored: Sequence[Mapping[str, Any]],
    components: list[dict[str, Any]],
    named: Mapping[str, Any],
    criteria: Mapping[str, Criterion],
) -> tuple[int, dict[str, Any]]:
    """The outcome and the grading result. Its score is the mean position of all scores on their
    scales.
    """
    shares = [criteria[each["criterion"]].share(float(each["score"])) for each in scored]
    shares = [share for share in shares if not math.isnan(share)]
    if shares:
        score = sum(shares) / len(shares)
        outcome = PASSED if score >= 0.5 else FAILED
        reason = f"mean position of {plural(len(shares), 'score')} on the scale"
    else:
        score, outcome, reason = 0, UNGRADED, NO_GRADE
    return outcome, {
        "pass": outcome == PASSED,
        "score": score,
        "reason": reason,
        "namedScores": named,
        "componentResults": components,
    }


def _stats(totals: Iterable[_Totals]) -> dict[str, Any]:
    outcomes = [each.outcomes for each in totals]
    counts = {"successes": PASSED, "failures": FAILED, "errors": UNGRADED}
    stats: dict[str, Any] = {
        name: sum(counted[outcome] for counted in outcomes) for name, outcome in counts.items()
    }
    tokens = {"prompt": 0, "completion": 0, "cached": 0, "total": 0, "numRequests": 0}
    return stats | {"tokenUsage": tokens}


def _notes(totals: Iterable[_Totals], exported: Exported) -> Iterator[str]:
    """What promptfoo cannot hold: results without a grade, ratings without a score."""
    ungraded = sum(each.outcomes[UNGRADED] for each in totals)
    if ungraded:
        yield f"{plural(ungraded, 'output')} marked as an error in promptfoo: {NO_GRADE}"
    missing = int(exported.table["score"].isna().sum())
    if missing:
        yield (
            f"{plural(missing, 'rating')} without a score are in metadata.unscored, because"
            " promptfoo has no missing scores"
        )


TARGET = Target(
    "results with named scores, for `promptfoo import`",
    write,
    lacks=("pairs", "further references"),
)
