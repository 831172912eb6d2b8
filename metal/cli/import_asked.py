"""`metal import -i`: what was only guessed of a table is asked; all that was read, as options."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal
from metal.errors import MetalError, NoColumn, UnknownOrder, UsageError
from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.data.formats import Draft
    from metal.data.records import Scale

AFTER_READING = ("map_sources", "map_generators", "texts")  # options that the reader of a table does not take
Parse = Callable[[Sequence[str]], dict[str, Any]]
Words = list[str]


def ask_about(
    path: Path, format: str, given: Mapping[str, Any], parse: Parse, show: Callable[[Dataset], None]
) -> Words:
    """The words of the command line that read the table as the answers want it, with all options made explicit.

    given: options of `metal.read`. parse: words -> such options. show: what was read, before and after the answers.
    """
    options = {name: value for name, value in given.items() if value not in (None, (), "", {})}
    later = {name: options.pop(name) for name in AFTER_READING if name in options}
    draft, dataset = _read(path, format, options)
    show(dataset)
    answers = dict(_answers(draft, dataset, options))
    if answers:
        _add(options, answers)
        draft, dataset = _read(path, format, options)
        show(dataset)
    explicit = _explicit(draft, dataset, options)
    first = [*filter(None, [format]), str(path.absolute())]
    for left_out in ((), ("levels", "measures")):
        kept = {name: value for name, value in explicit.items() if name not in left_out}
        kept |= {name: options[name] for name in left_out if name in options}
        words = [*first, *_typed(kept)]
        try:
            if metal.read(path, format, **parse(words)).digest == dataset.digest:
                return [*words, *_typed(later)]
        except (MetalError, click.ClickException):  # a name that the command line cannot carry
            continue
    return [*first, *_typed(options), *_typed(later)]


NOBODY = "`ask=True` asks in a terminal, and nothing was typed; leave it out, or give options"


def prompt(question: str, *, instead: str = NOBODY, **settings: Any) -> Any:
    """What somebody types. Raises UsageError where nobody does, with what to do instead."""
    try:
        return click.prompt(console.clean(question), **settings)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise UsageError(instead) from None


def _read(path: Path, format: str, options: dict[str, Any]) -> tuple[Draft, Dataset]:
    """The table as read with the options, with the columns and orders of words that had to be asked for."""
    from metal.api.read import draft_of

    while True:
        try:
            draft = draft_of(path, format, options)
            return draft, draft.assemble(path)
        except NoColumn as missing:
            if not missing.columns:
                raise
            console.say(f"{missing.where}: {missing.problem}")
            column = prompt(f"Column of the {missing.role}", type=click.Choice(missing.columns))
            _add(options, {"columns": {missing.role: column}})
        except UnknownOrder as unknown:
            console.say(f"{unknown.where}: {unknown.problem}")
            question = f"{unknown.criterion}: worst to best as A<B<C, or nominal"
            order = prompt(question, value_proc=lambda text, words=unknown.words: _order(text, words))
            _add(options, {"measures" if order == "nominal" else "levels": {escape(unknown.criterion): order}})


def _order(text: str, words: Sequence[str]) -> str:
    from metal.data.tables.cells import fold

    if fold(text) == "nominal":
        return "nominal"
    if sorted(map(fold, text.split("<"))) != sorted(map(fold, words)):
        raise click.UsageError(f"write each of these once, with < between them: {', '.join(words)}")
    return text.strip()


def _add(options: dict[str, Any], answers: Mapping[str, Any]) -> None:
    for name, answer in answers.items():
        options[name] = {**options.get(name, {}), **answer} if isinstance(answer, Mapping) else answer


# ---------------------------------------------------------------- questions


def _answers(draft: Draft, dataset: Dataset, options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Option -> the answer, where that is not what was guessed."""
    if draft.columns is None:  # somebody's release, which says all of it
        return
    roles, unread = draft.columns.roles, draft.columns.unread
    if "language" not in roles and "language" not in options:
        guess = dataset.languages[0]
        language = prompt("Language of all rows, by code or name", default=guess, value_proc=_language)
        if language != guess:
            yield "language", language
    if unread and all(output.source == output.output for output in dataset.outputs.values()):
        question = "Column of the source (what outputs answer), none if each has its own"
        source = prompt(question, default="none", type=click.Choice(["none", *unread]))
        if source != "none":
            yield "columns", {"source": source}
    yield from _directions(dataset, options.get("directions", {}))
    if "kind" not in roles:
        yield from _kinds(dataset, options.get("kinds", {}))
    if "shifts" not in options:
        yield from _missing(dataset, options)


def _language(text: str) -> str:
    from metal.data.languages import find_language

    language = text if text == "und" else find_language(text)
    if language is None:
        raise click.UsageError(f"{text!r} is not known; write a code such as hi, or a name such as Hindi")
    return language


def _told(name: str, patterns: Mapping[str, Any]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _directions(dataset: Dataset, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    from metal.data.records import DIRECTIONS
    from metal.data.tables.scales import GUESSED, why_direction

    turned = {}
    for name, criterion in dataset.criteria.items():
        guessed = why_direction(criterion, given=_told(name, given)) in GUESSED
        if guessed and (criterion.scale.measure != "nominal" or len(criterion.scale.levels) == 2):
            question = f"{name} ({criterion.scale.describe()}): which is better"
            answer = prompt(question, default=criterion.direction, type=click.Choice(DIRECTIONS))
            if answer != criterion.direction:
                turned[escape(name)] = answer
    if turned:
        yield "directions", turned


def _kinds(dataset: Dataset, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    from metal.data.records import KINDS
    from metal.data.text import first_few, plural

    changed: dict[str, str] = {}
    for kind in KINDS:
        names = [name for name, rater in dataset.raters.items() if rater.kind == kind and not _told(name, given)]

        def kinds_of(text: str, names: Sequence[str] = tuple(names)) -> dict[str, str]:
            pairs = [part.rpartition("=") for part in text.split(",")]
            for pattern, _, meant in pairs:
                if meant.strip() not in KINDS or not any(fnmatchcase(name, pattern.strip() or "*") for name in names):
                    shown = ", ".join(KINDS)
                    raise click.UsageError(f"write one of {shown} for all, or RATER=KIND,... (* allowed)")
            return {
                name: meant.strip()
                for pattern, _, meant in pairs
                for name in names
                if fnmatchcase(name, pattern.strip() or "*")
            }

        if names:
            question = f"{plural(len(names), 'rater')} ({first_few(names, 12)}): the kind of all, or RATER=KIND,..."
            answer = prompt(question, default=kind, value_proc=kinds_of)
            changed |= {escape(name): meant for name, meant in answer.items() if meant != kind}
    if changed:
        yield "kinds", changed


def _missing(dataset: Dataset, options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Scores that may stand for no answer: those far from the others, and 0 where scales mostly begin with 1."""
    from metal.auditing.check import far_scores, score_counts
    from metal.data.tables.cells import zero_may_be_no_answer

    far_from_others = far_scores(score_counts(dataset))
    doubts = {far.criterion: (far.line, {f"{value:.15g}" for value in far.counts}) for far in far_from_others}
    scales = {**options.get("levels", {}), **options.get("ranges", {})}
    for name, criterion in dataset.criteria.items():
        if zero_may_be_no_answer(criterion.scale) and not _told(name, scales):
            doubts.setdefault(name, (f"{name}: 0 among scores to {criterion.scale.values[-1]:g}", {"0"}))
    missing: dict[str, Sequence[str]] = {}
    for name, (line, values) in doubts.items():

        def which(text: str, values: set[str] = values) -> set[str]:
            chosen = {part.strip() for part in text.split(",")}
            if chosen in ({"all"}, {"none"}):
                return values if chosen == {"all"} else set()
            if not chosen <= values:
                raise click.UsageError(f"write all, none, or some of {','.join(sorted(values))}")
            return chosen

        question = f"{line}. No answer: all, none, or which of {','.join(sorted(values))}"
        if chosen := prompt(question, default="none", value_proc=which):
            missing[escape(name)] = (*options.get("missing", {}).get(escape(name), ()), *sorted(chosen))
    if missing:
        yield "missing", missing


# ---------------------------------------------------------------- the command


def _explicit(draft: Draft, dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with all that the reader recognized, but for the scales of METAL's criteria."""
    from metal.data.formats import METAL_CRITERIA, metal_criterion
    from metal.data.tables.scales import metal_name

    if draft.columns is None:
        return dict(options)
    roles = draft.columns.roles
    explicit = {**options, "columns": roles, "wide": draft.columns.wide}
    for role, values in (("language", dataset.languages), ("criterion", dataset.criteria)):
        if role not in roles and len(values) == 1:
            explicit[role] = next(iter(values))
    if "kind" not in roles and "only" not in options:
        raters = dataset.raters.values()
        usual = Counter(rater.kind for rater in raters).most_common(1)[0][0]
        explicit["kinds"] = {escape(r.rater): r.kind for r in raters if r.kind != usual} | {"*": usual}
    criteria = {escape(name): criterion for name, criterion in dataset.criteria.items()}
    explicit["directions"] = {name: criterion.direction for name, criterion in criteria.items()}
    ours = {name: metal_criterion(name).scale for name in METAL_CRITERIA}
    scales = {name: c.scale for name, c in criteria.items() if c.scale != ours.get(metal_name(c.name))}
    explicit["measures"] = {name: scale.measure for name, scale in scales.items()}
    explicit["levels"] = {name: _levels(scale) for name, scale in scales.items() if scale.levels}
    ends = {name: (scale.low, scale.high) for name, scale in scales.items()}
    explicit["ranges"] = {name: f"{low:.15g}..{high:.15g}" for name, (low, high) in ends.items() if low is not None}
    return explicit


def _levels(scale: Scale) -> str:
    """The levels as typed: `Bad<Good` where they count from 0, `1,2` where numbers say it, else `1=Bad,2=Good`."""
    labels = [level.label for level in scale.levels]
    numbers = [f"{value:.15g}" for value in scale.values]
    if labels == numbers:
        return ",".join(numbers)
    if scale.values == tuple(range(len(labels))):
        return "<".join(labels)
    return ",".join(f"{number}={label}" for number, label in zip(numbers, labels, strict=True))


def _typed(options: Mapping[str, Any]) -> Words:
    """Options as words of a command line; paths as they are from anywhere."""
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, Mapping):
            typed = {key: ",".join(item) if isinstance(item, tuple) else item for key, item in value.items()}
            words += [word for key, item in typed.items() for word in (flag, f"{key}={item}")]
        elif isinstance(value, tuple):
            words += [flag, ",".join(value)] if value else []
        else:
            here = isinstance(value, Path) and value.exists()
            words += [flag, str(value.absolute() if here else value)]
    return words
