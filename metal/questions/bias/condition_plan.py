"""The conditions of a language-bias audit that exist, and the commands that create the missing
ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metal.building.translating import untranslated
from metal.data.dataset import Dataset
from metal.data.languages import sides
from metal.questions.bias.conditions import OF_TEXT, OTHER_SCRIPT, WRONG_LANGUAGE

CONTENTS, AGAIN = "the same contents", "asked again"


@dataclass(frozen=True)
class ConditionPlan:
    """A condition and what it lacks.

    outputs: {language: number of outputs that have the condition or, if none has, that need it}.
    missing: languages without it. judging: options of `metal.judge` that create it. command: the
    whole command for the missing languages, with placeholders {data}, {judge} and {prompt}.
    """

    condition: str
    outputs: Mapping[str, int]
    missing: tuple[str, ...]
    judging: Mapping[str, Any] | None
    command: str


def condition_plans(
    dataset: Dataset, languages: Sequence[str], pivot: str
) -> Iterator[ConditionPlan]:
    """The conditions that a language-bias audit compares, each for the languages that need it."""
    originals = Counter(o.language for o in dataset.outputs.values() if not o.condition)
    yield _same_contents(dataset, languages, pivot, originals)
    counts = {code: originals[code] for code in languages if originals[code]}
    yield ConditionPlan(
        AGAIN,
        {pivot: counts.get(pivot, 0)},
        () if _judged(dataset, "repeats", pivot) else (pivot,),
        {"repeat": 2, "languages": ()},
        "metal judge {data} -j {judge} -p {prompt} --repeat 2 --out {data}-judges",
    )
    yield _prompt_in_language(dataset, counts)
    for condition in (WRONG_LANGUAGE, OTHER_SCRIPT):
        yield _probed(dataset, condition, counts)


def _same_contents(
    dataset: Dataset, languages: Sequence[str], pivot: str, originals: Mapping[str, int]
) -> ConditionPlan:
    outputs, missing = {}, []
    for code in languages:
        if code == pivot:
            continue
        lacking = sum(1 for _ in untranslated(dataset, code, pivot))
        outputs[code] = lacking or originals[code]
        if lacking:
            missing.append(code)
    command = (
        f"metal bias --plan {{data}} -l {','.join((pivot, *missing))} --pivot {pivot} --out"
        " {data}-texts"
    )
    return ConditionPlan(CONTENTS, outputs, tuple(missing), None, command)


def _prompt_in_language(dataset: Dataset, counts: Mapping[str, int]) -> ConditionPlan:
    others = {
        code: outputs for code, outputs in counts.items() if sides(code)[1].split("-")[0] != "en"
    }
    missing = tuple(code for code in others if not _judged(dataset, "translation_of", code))
    command = (
        f"metal judge {{data}} -j {{judge}} -p {{prompt}} -l {','.join(missing)} --prompt-language"
        " text --out {data}-prompts"
    )
    return ConditionPlan(OF_TEXT, others, missing, {"prompt_language": "text"}, command)


def _probed(dataset: Dataset, condition: str, counts: Mapping[str, int]) -> ConditionPlan:
    probed = Counter(
        o.language for o in dataset.outputs.values() if o.condition.startswith(condition)
    )
    missing = tuple(code for code in counts if not probed[code])
    outputs = {code: probed[code] or count for code, count in counts.items()}
    probe = condition.replace(" ", "-")
    command = (
        f"metal probe plan {{data}} --probes {probe} -l {','.join(missing)} --out {{data}}-{probe}"
    )
    return ConditionPlan(condition, outputs, missing, None, command)


def _judged(dataset: Dataset, link: str, language: str) -> bool:
    """Whether a rater derived from another rater has rated outputs in a language.

    link: the field of `about` that names the other rater.
    """
    raters = [name for name, rater in dataset.raters.items() if rater.about.get(link)]
    return bool(
        (dataset.ratings["rater"].isin(raters) & (dataset.ratings["language"] == language)).any()
    )
