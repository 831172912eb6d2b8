"""Results of promptfoo, as `promptfoo eval -o FILE` and `promptfoo export` write them.

FILE.json    evalId, results.results: a result per test and prompt, with one per assertion
FILE.jsonl   a result per line
FILE.csv     the same as a table, in which named scores are all that is said of assertions

An assertion that a model grades is a judge, others are metrics; its criterion is its `metric`, else
the text of a rubric that several outputs share, else its type. Thumbs and scores that people gave
in the viewer (assertions of type `human`) are ratings of one person, `human`: promptfoo does not
say who.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.files import read_json, read_jsonl
from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.exported import unscored_in
from metal.data.formats.harnesses.promptfoo_metal import WITHOUT_TEXT, ids_of, label_of, rater_of
from metal.data.formats.harnesses.promptfoo_table import THUMBS, gathered_from
from metal.data.formats.harnesses.records import LabelledNumbers
from metal.data.formats.harnesses.values import (
    is_number,
    language_in,
    mapping,
    objects,
    prefixed,
)
from metal.data.formats.harnesses.verdicts import Verdicts
from metal.data.holdings import CRITERIA, REFERENCE
from metal.data.tables.first_names import OF_JSON, content_ending
from metal.data.tables.harnesses import marks_of
from metal.data.text import first_few

OVERALL = "overall"
SUITE = "promptfoo"  # the rater of whole outputs: all assertions together
PERSON = "human"
ERROR = 2  # promptfoo's failureReason if there is no output, or no grading of it
LONGEST = 80  # characters of a rubric that names a criterion
LABEL = 40  # and of a prompt that names a generator
# Types of assertions that a model grades; all others compute.
GRADED = frozenset(
    {
        "agent-rubric",
        "answer-relevance",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "conversation-relevance",
        "factuality",
        "g-eval",
        "llm-rubric",
        "model-graded-closedqa",
        "model-graded-factuality",
        "pi",
        "search-rubric",
        "select-best",
        "trajectory:goal-success",
    }
)


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the results of an evaluation."""
    if content_ending(path) not in OF_JSON:
        gathered, verdicts = gathered_from(path)
    else:
        gathered, verdicts = _gathered(*_results_in(path), path)
    gathered.place_people(options)
    if verdicts.passed:  # METAL's own results have scales of their own
        for criterion in dict.fromkeys(str(row["criterion"]) for row in gathered.rows):
            gathered.say_scale(criterion, directions="higher")  # what passes has 1
        verdicts.apply(gathered)
    return gathered.draft(options, path)


def _results_in(path: Path) -> tuple[list[Mapping[str, Any]], str, Any]:
    """The results; the version of promptfoo, if the file says it; and METAL's records of criteria,
    if METAL wrote the file.
    """
    if content_ending(path) == ".jsonl":
        return [record for _, record in read_jsonl(path)], "", None
    content = read_json(path, "results of promptfoo")
    version = mapping(mapping(content).get("metadata")).get("promptfooVersion")
    suite = mapping(mapping(mapping(content).get("config")).get("metadata"))
    results = mapping(content).get("results")
    inner = mapping(results).get("results")
    every = objects(content) or objects(inner) or objects(results)
    return every, str(version or ""), suite.get(CRITERIA)


@dataclass(frozen=True)
class _Assessed:
    """The result of an assertion: who assessed, on which criterion, and the raw result."""

    item: Mapping[str, Any]
    further: Mapping[str, Any]
    result: Mapping[str, Any]
    rater: str
    kind: str
    criterion: str


def _gathered(
    results: list[Mapping[str, Any]], version: str, criteria: Any, path: Path
) -> tuple[HarnessRows, Verdicts]:
    """The ratings in the results, with the verdict on each. criteria: METAL's records of them."""
    gathered, verdicts = HarnessRows(f"promptfoo {version}".strip(), THUMBS), Verdicts()
    naming = _Naming(results)
    assessed: list[_Assessed] = []
    failed: list[tuple[dict[str, Any], dict[str, Any], str]] = []
    people: list[tuple[dict[str, Any], dict[str, Any], Mapping[str, Any], list[_Assessed]]] = []
    for result in results:
        item, further = naming.item(result)
        of_output = list(naming.assessed(result, item, further))
        without_score = unscored_in(mapping(result.get("metadata")))
        for own in without_score:
            gathered.add(further, **item, **own, score=None)
        grading = mapping(result.get("gradingResult"))
        ungraded = not grading and bool(result.get("error"))  # earlier versions say no more
        has_failed = ungraded or result.get("failureReason") == ERROR
        if has_failed and not of_output and not without_score:
            failed.append((item, further, f"error: {str(result.get('error'))[:100]}"))
        assessed += of_output
        for component in objects(grading.get("componentResults")):
            if _type_of(component) == PERSON and not rater_of(component):
                people.append((item, further, component, of_output))
        gathered.add_people(further_of(result), further, **item)
    labels = LabelledNumbers()
    for each in assessed:
        _add(gathered, verdicts, each)
        labels.note(each.criterion, label_of(each.result), each.result.get("score"))
    labels.say(gathered)
    if any(map(ids_of, results)):
        gathered.describe(criteria, path)
    _add_failed(gathered, assessed, failed)
    _add_thumbs(gathered, verdicts, assessed, people)
    return gathered, verdicts


def further_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The variables and the metadata of a result."""
    test = mapping(result.get("testCase"))
    metadata = mapping(test.get("metadata")) or mapping(result.get("metadata"))
    return {**mapping(result.get("vars")), **metadata}


class _Naming:
    """Names of sources, generators and criteria, which can only be chosen after a look at all
    results.
    """

    def __init__(self, results: Iterable[Mapping[str, Any]]) -> None:
        self.sources: dict[str, str] = {}
        self.prompts: dict[str, dict[str, None]] = {}
        self.rubrics: Counter[tuple[str, str]] = Counter()
        for result in results:
            label = str(mapping(result.get("prompt")).get("label"))
            self.prompts.setdefault(_provider(result), {})[label] = None
            grading = mapping(result.get("gradingResult"))
            components = objects(grading.get("componentResults"))
            self.rubrics.update({(_type_of(each), _value_of(each)) for each in components})

    def item(self, result: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The roles of an output, and its variables and metadata."""
        test = mapping(result.get("testCase"))
        variables, metadata = result.get("vars"), further_of(result)
        number = f"test {result.get('testIdx', len(self.sources))}"
        asked = json.dumps(variables, sort_keys=True, ensure_ascii=False)
        generator = self._generator(result)
        item = {
            "source": self.sources.setdefault(asked, number),
            "output": f"{number}/{generator}",
            "generator": generator,
            "language": language_in(variables, metadata, test.get("options")),
            "source_text": mapping(result.get("prompt")).get("raw"),
            "text": mapping(result.get("response")).get("output"),
        }
        if ids := ids_of(result):
            text = None if further_of(result).get(WITHOUT_TEXT) else item["source_text"]
            reference = mapping(result.get("metadata")).get(REFERENCE)
            return {**item, **ids, "source_text": text, "reference": reference}, {}
        return item, {**prefixed("vars", variables), **prefixed("metadata", test.get("metadata"))}

    def _generator(self, result: Mapping[str, Any]) -> str:
        """The provider, with the prompt if it has several."""
        provider, prompt = _provider(result), str(mapping(result.get("prompt")).get("label"))
        prompts = list(self.prompts[provider])
        if len(prompts) < 2:
            return provider
        short = all(len(each) <= LABEL and "\n" not in each for each in prompts)
        return f"{provider}/{prompt if short else f'prompt {prompts.index(prompt) + 1}'}"

    def assessed(
        self, result: Mapping[str, Any], item: Mapping[str, Any], further: Mapping[str, Any]
    ) -> Iterable[_Assessed]:
        """The results of the assertions on an output, without people's."""
        times: Counter[tuple[str, str]] = Counter()
        grading = mapping(result.get("gradingResult"))
        for component in objects(grading.get("componentResults")):
            of_metal = rater_of(component)
            kind = of_metal.get("kind") or _kind_of(component)
            if not of_metal and (not _type_of(component) or kind == "human"):
                continue
            rater = of_metal.get("rater") or self._rater(result, component, kind)
            criterion = self._criterion(component)
            times[rater, criterion] += 1
            if times[rater, criterion] > 1:
                criterion = f"{criterion} {times[rater, criterion]}"
            yield _Assessed(item, further, component, rater, kind, criterion)

    def _rater(self, result: Mapping[str, Any], component: Mapping[str, Any], kind: str) -> str:
        """The rater's name: the assertion's type; for a judge, followed by the provider that
        graded, if the file names it.
        """
        assertion = mapping(component.get("assertion"))
        grader = assertion.get("provider")
        grader = grader or mapping(mapping(result.get("testCase")).get("options")).get("provider")
        grader = mapping(grader).get("id") or grader
        named = kind == "llm" and isinstance(grader, str)
        return f"{grader}/{_type_of(component)}" if named else _type_of(component)

    def _criterion(self, component: Mapping[str, Any]) -> str:
        metric = mapping(component.get("assertion")).get("metric")
        if metric:
            return str(metric)
        rubric = (_type_of(component), _value_of(component))
        shared = self.rubrics[rubric] > 1 and 0 < len(rubric[1]) <= LONGEST
        return rubric[1] if shared and rubric[0].removeprefix("not-") in GRADED else rubric[0]


def _provider(result: Mapping[str, Any]) -> str:
    provider = result.get("provider")
    by_name = mapping(provider)
    return str(by_name.get("label") or by_name.get("id") or provider or "text")


def _type_of(component: Mapping[str, Any]) -> str:
    return str(mapping(component.get("assertion")).get("type") or "")


def _value_of(component: Mapping[str, Any]) -> str:
    value = mapping(component.get("assertion")).get("value")
    return value.strip() if isinstance(value, str) else ""


def _kind_of(component: Mapping[str, Any]) -> str:
    """The kind of rater that assessed: a model if the type says so, or if there is a prompt for
    grading.
    """
    name = _type_of(component).removeprefix("not-")
    prompted = "renderedGradingPrompt" in mapping(component.get("metadata"))
    if name == PERSON:
        return "human"
    graded = name in GRADED or name.startswith("promptfoo:redteam:") or prompted
    return "llm" if graded else "metric"


def _add(gathered: HarnessRows, verdicts: Verdicts, each: _Assessed) -> None:
    score = each.result.get("score")
    passed = each.result.get("pass")
    of_metal = rater_of(each.result)
    own = {"comment": each.result.get("reason"), "reason": "no score"} | of_metal
    own |= {"rater": each.rater, "kind": each.kind, "criterion": each.criterion}
    own |= {"score": score if is_number(score) else passed}
    gathered.add(each.further, **each.item, **own)
    if not of_metal:
        verdicts.note(gathered, passed)


def _add_failed(
    gathered: HarnessRows,
    assessed: Iterable[_Assessed],
    failed: Iterable[tuple[dict[str, Any], dict[str, Any], str]],
) -> None:
    """Add a missing score for each rater and criterion where there was no output to assess."""
    raters = dict.fromkeys((each.rater, each.kind, each.criterion) for each in assessed)
    for item, further, reason in failed:
        for rater, kind, criterion in raters:
            who = {"rater": rater, "kind": kind, "criterion": criterion}
            gathered.add(further, **item, **who, score=None, reason=reason)


def _add_thumbs(
    gathered: HarnessRows,
    verdicts: Verdicts,
    assessed: list[_Assessed],
    people: list[tuple[dict[str, Any], dict[str, Any], Mapping[str, Any], list[_Assessed]]],
) -> None:
    """Add people's assessments, on the judges' criterion if there is one. People assess whole
    outputs; with several judges they are compared with the verdict of the whole suite. That verdict
    is computed here, because people's assessments replace it in the file. A note says with what
    people are compared.
    """
    judged = dict.fromkeys(each.criterion for each in assessed if each.kind == "llm")
    alone = len(judged) == 1
    compared = next(iter(judged)) if alone else OVERALL
    for item, further, component, of_output in people:
        criterion = str(mapping(component.get("assertion")).get("metric") or compared)
        score = component.get("score")
        own: dict[str, Any] = {"rater": PERSON, "kind": "human", "criterion": criterion}
        own |= {"score": score if is_number(score) else component.get("pass")}
        gathered.add(further, **item, **own, reason="no score", comment=component.get("comment"))
        if criterion == OVERALL and of_output:
            passed = all(each.result.get("pass") is True for each in of_output)
            kind = "llm" if judged else "metric"
            suite = {"rater": SUITE, "kind": kind, "criterion": criterion, "score": passed}
            gathered.add(further, **item, **suite)
            verdicts.note(gathered, passed)
    if people and not alone:  # those with a metric are compared on it
        names = first_few(list(judged)) or "none"
        gathered.notes.append(
            f"people assessed whole outputs, and models several criteria ({names}): people are"
            f" compared with {SUITE}, which passes an output if all its assertions pass"
        )


FORMAT = Format(
    "results of promptfoo: JSON, JSONL, CSV",
    read,
    OPTIONS,
    keys=marks_of("promptfoo"),
)
