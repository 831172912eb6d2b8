"""How a table is read: the options that `metal.read` and every verb that takes a table share,
declared once.

A public function takes them all as `**reading: Unpack[ReadingOptions]`; the command line makes a
flag of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, cast

from metal.api.options import (
    ByCriterion,
    Decimal,
    Names,
    Option,
    Pairs,
    WordOrders,
    by_criterion,
    names,
)


class TableOptions(TypedDict, total=False):
    """What the columns of a table mean, and what they contain."""

    columns: Annotated[
        Pairs | None,
        Option(
            "Which column plays which role: output, source, generator, language, criterion, rater,"
            " repeat, kind, group, score, reply, reason, comment, confidence, content, text,"
            " source_text, reference; of pairs winner, first, second, first_text, second_text,"
            " shown. Ids in several columns: A+B.",
            metavar="ROLE=COLUMN",
            aliases=("--column",),
            commas=True,
        ),
    ]
    only: Annotated[
        Names, Option("Raters of these kinds only: human, llm, metric, baseline.", rare=True)
    ]
    wide: Annotated[
        Names,
        Option(
            "Wide table: the columns that hold answers, as names (* allowed) or as a pattern:"
            " {rater}_{criterion}; {output} if each column is an output and each row a rater.",
        ),
    ]
    ignore: Annotated[
        Names,
        Option("Columns to leave out, as if the table had none of them; * allowed."),
    ]
    language: Annotated[
        str,
        Option(
            "Language of all rows, by code or name. For basse: the language to read. For billboard:"
            " needed only if the board's name has no language."
        ),
    ]
    criterion: Annotated[
        str,
        Option(
            "Criterion of all rows. For evalset: the one that LLM judges answer (see `kinds`).",
            rare=True,
        ),
    ]
    generator: Annotated[
        str, Option("Generator of all rows: the system that wrote the outputs.", rare=True)
    ]
    kinds: Annotated[
        Pairs | None,
        Option(
            "human, llm, metric or baseline; * allowed.", metavar="RATER=KIND", aliases=("--kind",)
        ),
    ]
    groups: Annotated[
        Pairs | None,
        Option(
            "Group of raters; * allowed.", metavar="RATER=GROUP", aliases=("--group",), rare=True
        ),
    ]
    missing: Annotated[
        ByCriterion,
        Option(
            'More spellings of a missing answer than NA, n/a, -, ?; quote commas: "a, b".',
            metavar="[CRITERION=]-1,-999",
            by_criterion=True,
        ),
    ]
    directions: Annotated[
        ByCriterion,
        Option(
            "Which scores are better, higher or lower.",
            metavar="[CRITERION=]DIRECTION",
            aliases=("--direction",),
            by_criterion=True,
        ),
    ]
    levels: Annotated[
        ByCriterion,
        Option(
            "The scale: WORST<BEST (Bad<Good), or 0=Bad,1=Good.",
            metavar="[CRITERION=]LEVELS",
            by_criterion=True,
        ),
    ]
    measures: Annotated[
        ByCriterion,
        Option(
            "nominal, ordinal or interval.",
            metavar="[CRITERION=]MEASURE",
            aliases=("--measure",),
            by_criterion=True,
            rare=True,
        ),
    ]
    ranges: Annotated[
        ByCriterion,
        Option(
            "The ends of continuous scores: 0-100.",
            metavar="[CRITERION=]RANGE",
            by_criterion=True,
            rare=True,
        ),
    ]
    shifts: Annotated[
        ByCriterion,
        Option(
            "Number added to scores: -1.",
            metavar="[CRITERION=]NUMBER",
            aliases=("--shift",),
            by_criterion=True,
            rare=True,
        ),
    ]
    decimal: Decimal
    word_orders: WordOrders
    sheet: Annotated[str, Option("XLSX: the sheet to read.", metavar="NAME", rare=True)]
    weights: Annotated[
        str | Pairs,
        Option(
            "mqm-errors: weights of errors, besides or in place of the published ones:"
            " major=5,minor=1,minor/fluency/punctuation=0.1; or a TOML or JSON file of them.",
            metavar="WEIGHTS",
            rare=True,
        ),
    ]


class ReadingOptions(TableOptions, total=False):
    """The same options for verbs, which have no separate argument for the format."""

    format: Annotated[
        str, Option("Format, if it is not recognized: see `metal.formats()`.", metavar="NAME")
    ]


def given(reading: Mapping[str, Any]) -> ReadingOptions:
    """The options that were given: those with a value."""
    return cast(
        ReadingOptions,
        {name: value for name, value in reading.items() if value not in (None, (), [], "", {})},
    )


def plain(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options as strings, lists and tables of strings: the form in run.toml and on a command
    line.

    >>> plain({"wide": "A1,A2", "levels": {0: "Bad", 1: "Good"}, "shifts": -1})
    {'wide': ['A1', 'A2'], 'levels': {'*': '0=Bad,1=Good'}, 'shifts': {'*': '-1'}}
    """
    texts: dict[str, Any] = {}
    for name, value in given(reading).items():
        if name in LISTS:
            texts[name] = list(names(cast(Names, value)))
        elif name == "missing":
            texts[name] = {criterion: list(codes) for criterion, codes in no_answers(value).items()}
        elif name in BY_CRITERION:
            texts[name] = {
                criterion: _text(each) for criterion, each in by_criterion(value).items()
            }
        elif name == "weights":
            texts[name] = _text(value)
        elif isinstance(value, Mapping):
            texts[name] = {str(key): str(item) for key, item in value.items()}
        else:
            texts[name] = str(value)
    return texts


def no_answers(missing: ByCriterion) -> dict[str, tuple[str, ...]]:
    """Criterion (or `*` for all) -> texts that mean no answer."""
    return {
        criterion: names(str(codes) if isinstance(codes, int | float) else codes)
        for criterion, codes in by_criterion(missing).items()
    }


LISTS = ("only", "wide", "ignore")
BY_CRITERION = ("directions", "levels", "measures", "ranges", "shifts")


def _text(value: Any) -> str:
    """A value of a criterion as it is typed: levels `0=Bad,1=Good`, the two ends of a range
    `0..100`.
    """
    if isinstance(value, Mapping):
        return ",".join(f"{_text(number)}={label}" for number, label in value.items())
    if isinstance(value, list | tuple):
        if all(isinstance(part, list | tuple) for part in value):
            return _text(dict(value))
        return "..".join(map(_text, value))
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)
