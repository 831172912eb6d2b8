"""The prompts of a judges' run: where they come from, what they say on each criterion, and which
say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.files import bundled
from metal.data.languages import language_name, sides
from metal.data.missing import no_such
from metal.data.records import Criterion
from metal.data.text import listed
from metal.errors import UsageError
from metal.raters.judges.prompts import Prompt
from metal.raters.judges.rubric import DETAILED, Rubric, check_described, rubrics_for, where_to_ask
from metal.raters.judges.templates import Template, load_template, translation

if TYPE_CHECKING:
    from metal.running.judging import JudgeRequest

OF_TEXT = "text"  # as the language of the prompts: that of each output


def prompt_folders(paths: Iterable[str], dataset: Path | None) -> list[Path]:
    """The folders in which prompts are looked up: the given folders, the dataset's own, then
    METAL's.
    """
    folders = list(map(Path, paths))
    for folder in folders:
        if not folder.is_dir():
            raise no_such(
                folder, "folder", "; `prompt_folders` hold judge/NAME.toml, criteria/NAME.toml"
            )
    return [*folders, *([dataset / "prompts"] if dataset else []), bundled("prompts")]


def load_prompts(
    request: JudgeRequest,
    criteria: Iterable[Criterion],
    folders: list[Path],
    languages: Iterable[str] = (),
    pairs: bool = False,
) -> tuple[Prompt, ...]:
    """The prompts of a request, with their rubrics.

    languages: the languages of the outputs (see OF_TEXT). pairs: whether two outputs are compared.

    If the request has a question, judges are told only this question and the levels of the
    criterion.
    """
    wanted = list(criteria)
    if request.question:
        wanted = [asked_by(request.question, wanted)]
    load = partial(_load_prompt, request, wanted, folders, pairs)
    names = dict.fromkeys(request.prompts)
    if request.prompt_language != OF_TEXT:
        language = "" if request.prompt_language == "en" else request.prompt_language
        return tuple(load(name, language) for name in names)
    spoken = {language: sides(language)[1].split("-")[0] for language in sorted(languages)}
    if not set(spoken.values()) - {"en"}:
        raise UsageError(
            '`prompt_language="text"`: all outputs are in English, as the prompts are; leave it out'
        )
    others = {
        name: {code: load(name, own) for code, own in spoken.items() if own != "en"}
        for name in names
    }
    return tuple(replace(load(name, ""), by_language=others[name]) for name in names)


def _load_prompt(
    request: JudgeRequest,
    criteria: Sequence[Criterion],
    folders: list[Path],
    pairs: bool,
    name: str,
    language: str,
) -> Prompt:
    """The prompt of this name in a language, with rubrics for the criteria. Raises UsageError for
    what it cannot ask.
    """
    described_in = () if request.question else folders
    template = load_template(name, folders, pairs)
    if language:
        written = [] if request.question else [criterion.name for criterion in criteria]
        template = translation(template, folders, language, written)
    rubrics = rubrics_for(criteria, described_in, needed=(), language=language, flip=request.flip)
    _check_askable(rubrics, template, pairs)
    check_described(rubrics, template.needed, language)
    unlevelled = [each for each, rubric in rubrics.items() if not rubric.criterion.scale.levels]
    if template.letters and unlevelled:
        raise UsageError(
            f"prompt {name} asks for letters, but {unlevelled[0]} has no levels; give another "
            "prompt"
        )
    asked_for = "" if request.prompt_language == "en" else request.prompt_language
    prompt = Prompt(template, rubrics, asked_for)
    for criterion in rubrics:  # a fault in a template shows before anything is sent
        prompt.digest(criterion)
    return prompt


def _check_askable(rubrics: Mapping[str, Rubric], template: Template, pairs: bool) -> None:
    """Raise UsageError for a criterion that a prompt cannot ask about, because it lacks the words
    or shows too little.
    """
    for criterion, rubric in rubrics.items():
        if rubric.compared and not template.shows_references:
            raise UsageError(
                f"{criterion} needs the reference; show it to judges: `with_reference=True`"
            )
        if not pairs and says_nothing(rubric):
            raise UsageError(
                f"criterion {criterion} has neither a question nor a description; give `question`,"
                f' e.g. "Does the answer help?", or {where_to_ask(criterion)}'
            )


def says_nothing(rubric: Rubric) -> bool:
    """Whether a criterion has neither a question nor a description to ask a judge with."""
    return not (rubric.criterion.question or rubric.simple or rubric.detailed)


def unexplained(criteria: Iterable[Criterion], dataset: Path | None) -> list[str]:
    """The criteria that need a question before a judge can be asked.

    dataset: the dataset's folder, which may have prompts.
    """
    rubrics = rubrics_for(criteria, prompt_folders((), dataset), needed=())
    return [name for name, rubric in rubrics.items() if says_nothing(rubric)]


def asked_by(question: str, criteria: Sequence[Criterion]) -> Criterion:
    """The only criterion, with the request's question. Raises UsageError if there are several, or
    if the question is empty.
    """
    if not question.strip():
        raise UsageError("`question` is empty; ask something, or leave it out")
    if len(criteria) != 1:
        several = listed([criterion.name for criterion in criteria])
        raise UsageError(
            f"`question` is about one criterion, and there are {several}; choose one with"
            " `criteria`"
        )
    return replace(criteria[0], question=question.strip())


def distinct(prompts: Iterable[Prompt]) -> tuple[tuple[Prompt, ...], list[str]]:
    """Drop prompts that send the same text as an earlier one, and note each dropped prompt."""
    kept: list[Prompt] = []
    notes = []
    for prompt in prompts:
        same = next((other for other in kept if other.sent == prompt.sent), None)
        if same is None:
            kept.append(prompt)
            continue
        why = (
            "; a description of the criterion would tell them apart"
            if DETAILED in prompt.template.needed
            else ""
        )
        notes.append(
            f"note: prompt {prompt.name} says the same as {same.name}; both are one judge, named"
            f" after {same.name}{why}"
        )
    return tuple(kept), notes


def undescribed(prompts: Iterable[Prompt]) -> Iterator[str]:
    """A warning if a prompt that should describe criteria in detail has only the question and
    levels for some.
    """
    bare: set[str] = set()
    for prompt in prompts:
        if DETAILED in prompt.template.needed:
            bare |= {name for name, rubric in prompt.rubrics.items() if not rubric.detailed}
    if bare:
        yield (
            f"warning: no detailed description of {listed(sorted(bare))}: judges are told the"
            " question and the levels"
        )


def unreviewed(prompts: Iterable[Prompt]) -> Iterator[str]:
    """A warning if prompts in another language have not been reviewed by a speaker."""
    spoken = chain.from_iterable((prompt, *prompt.by_language.values()) for prompt in prompts)
    codes = {prompt.template.language for prompt in spoken if prompt.unreviewed}
    if languages := sorted(language_name(code) for code in codes if code):
        yield (
            f"warning: no speaker has reviewed the prompts in {listed(languages)}; have a speaker"
            " read what `metal.prompt_show` prints"
        )
