"""Which conditions of a language-bias audit are there, and the commands that make those that are
missing.
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
    """A condition. outputs: {language: how many have it, or lack it}; missing: the languages that
    lack it; judging: options of `metal.judge` that make it; command: the whole command for the
    missing languages, with places for {data}, {judge} and {prompt}.
    """

    condition: str
    outputs: Mapping[str, int]
    missing: tuple[str, ...]
    judging: Mapping[str, Any] | None
    command: str


def condition_plans(
    dataset: Dataset, languages: Sequence[str], pivot: str
) -> Iterator[ConditionPlan]:
    """The conditions that a language-bias audit looks at, each in the languages that it is about."""
    originals = [output for output in dataset.outputs.values() if not output.condition]
    count = {code: sum(output.language == code for output in originals) for code in languages}
    lacking = {
        code: sum(1 for _ in untranslated(dataset, code, pivot))
        for code in languages
        if code != pivot
    }
    missing = tuple(code for code, outputs in lacking.items() if outputs)
    texts = (
        f"metal bias plan {{data}} -l {','.join((pivot, *missing))} --pivot {pivot} --out"
        " {data}-texts"
    )
    here = {code: outputs or count[code] for code, outputs in lacking.items()}
    yield ConditionPlan(CONTENTS, here, missing, None, texts)
    again = not _judged(dataset, "repeats", pivot)
    yield ConditionPlan(
        AGAIN,
        {pivot: count.get(pivot, 0)},
        (pivot,) if again else (),
        {"repeat": 2, "languages": ()},
        "metal judge {data} -j {judge} -p {prompt} --repeat 2 --out {data}-judges",
    )
    others = {
        code: outputs
        for code, outputs in count.items()
        if outputs and sides(code)[1].split("-")[0] != "en"
    }
    missing = tuple(code for code in others if not _judged(dataset, "translation_of", code))
    text = f"-l {','.join(missing)} --prompt-language text --out {{data}}-prompts"
    command = f"metal judge {{data}} -j {{judge}} -p {{prompt}} {text}"
    yield ConditionPlan(OF_TEXT, others, missing, {"prompt_language": "text"}, command)
    for condition in (WRONG_LANGUAGE, OTHER_SCRIPT):
        made = Counter(
            o.language for o in dataset.outputs.values() if o.condition.startswith(condition)
        )
        missing = tuple(code for code in languages if count[code] and not made[code])
        probe = condition.replace(" ", "-")
        command = (
            f"metal probe plan {{data}} --probes {probe} -l {','.join(missing)} --out"
            f" {{data}}-{probe}"
        )
        here = {code: made[code] or outputs for code, outputs in count.items() if outputs}
        yield ConditionPlan(condition, here, missing, None, command)


def _judged(dataset: Dataset, link: str, language: str) -> bool:
    """Whether a rater that names another one in this way has rated outputs in a language."""
    raters = [name for name, rater in dataset.raters.items() if rater.about.get(link)]
    return bool(
        (dataset.ratings["rater"].isin(raters) & (dataset.ratings["language"] == language)).any()
    )
