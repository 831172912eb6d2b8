"""Tables on their side, as survey tools export them: one row per respondent, one column
per output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from metal.data.tables.answer_columns import AnswerColumn, holds_answers
from metal.data.tables.cells import as_texts
from metal.data.tables.header import SURVEY_MONKEY
from metal.data.tables.names import COMMENTS, CRITERION, GUESSES, is_machine, is_person, plain
from metal.data.tables.roles import few_words

RESPONDENT = "respondent"  # the column that numbers them, where no column names them
EACH_ROW = "{output}"  # the template of `wide` that takes every column of answers for an output
ON_ITS_SIDE = f'if each row is a rater and each column an output: `wide=["{EACH_ROW}"]`'
FEWEST = 3  # columns that may be outputs
_TEXT_LENGTH, _TEXT_WORDS = 40, 4  # from which on the name of a column is the text that was rated
_ABOUT_OUTPUTS = (
    "output",
    "source",
    "text",
    "source_text",
    "generator",
    "first_text",
    "winner",
    "reply",
    "criterion",
)
# Google Forms' first column, in the languages of METAL and its neighbours, as `plain` spells it.
_TIMESTAMPS = frozenset(
    {
        "timestamp",
        "zeitstempel",
        "horodateur",
        "marcatemporal",
        "carimbodedata/hora",
        "отметкавремени",
        "时间戳记",
    }
    | {
        "時間戳記",
        "タイムスタンプ",
        "informazionicronologiche",
        "zamandamgası",
        "टाइमस्टैम्प",
        "টাইমস্ট্যাম্প",
        "طابعزمني",
    }
    | {"타임스탬프", "tijdstempel"}
)
# What marks the exports of survey tools, and their column of respondents.
_TOOLS = (({"StartDate", "EndDate", "ResponseId"}, "ResponseId"), (SURVEY_MONKEY, "Respondent ID"))
_IN_BRACKETS = re.compile(r"(?P<first>.+?)(?P<gap>\s*\[)(?P<second>.+)(?P<end>\])", re.S)
_IN_TWO_ROWS = re.compile(r"(?P<first>.+?)(?P<gap>__)(?P<second>.+)(?P<end>)", re.S)
_NUMBERED = re.compile(
    r"(?![ _.-]?\d+\Z)(?P<first>.+?)(?P<gap>[ _.-]?)(?P<second>\d+)(?P<end>)", re.S
)
_OF_A_PERSON = re.compile(
    r"^(age|sex|gender|country|education|occupation|nationality)\b|\b(how old|are you|consent)\b|"
    r"\bnative (language|speaker)|\byour (full |first |last |native"
    r" )?(name|age|gender|sex|language|education|country|"
    r"occupation|nationality|e-?mail|initials)\b",
    re.I,
)


def respondents_of(
    frame: pd.DataFrame, roles: Mapping[str, str], named: Mapping[str, str]
) -> dict[str, str] | None:
    """The roles of a table whose rows are respondents, without roles that such a table cannot have;
    None for other tables.

    A table is of this kind if nothing names outputs or their texts and each rater has only one row,
    or if it has the marks of a survey tool.
    """
    for marks, respondent in _TOOLS:
        if marks <= {*frame.columns} and not named:
            return {"rater": respondent}
    if not roles.keys().isdisjoint(_ABOUT_OUTPUTS):
        return None
    if "rater" in roles:
        raters = frame[roles["rater"]]
        return (
            dict(roles) if raters.notna().all() and raters.is_unique and len(raters) > 1 else None
        )
    of_google = len(frame.columns) > 0 and plain(str(frame.columns[0])) in _TIMESTAMPS
    return dict(roles) if of_google and not named else None


def with_respondents(
    frame: pd.DataFrame, roles: dict[str, str], notes: list[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The frame and roles with a column that numbers the respondents, if no column names them."""
    if "rater" in roles:
        return frame, roles
    notes.append(
        'each row is another person, named by its row number (`columns={"rater": COLUMN}`)'
    )
    numbers = [f"{RESPONDENT} {number}" for number in range(1, len(frame) + 1)]
    return frame.assign(**{RESPONDENT: pd.Categorical(numbers, categories=numbers)}), {
        **roles,
        "rater": RESPONDENT,
    }


def outputs_asked_about(frame: pd.DataFrame, roles: Mapping[str, str]) -> list[AnswerColumn]:
    """The columns of answers that are each about one output; empty if they may be criteria, or if
    there are too few.

    The part of a name that is not the output, such as the question before a bracket, is the
    criterion.
    """
    taken = {*roles.values()}
    columns = [
        str(name) for name in frame.columns if name not in taken and _may_be_asked(frame[name])
    ]
    for pattern in (_IN_BRACKETS, _IN_TWO_ROWS, _NUMBERED):
        places = _in_parts(columns, pattern)
        if len(places) >= FEWEST:
            return places
    columns = _alike(frame, columns)
    called_otherwise = [
        name for name in columns if CRITERION.search(name) or is_person(name) or is_machine(name)
    ]
    if len(columns) < FEWEST or (called_otherwise and not are_texts(columns)):
        return []
    return [AnswerColumn(name, output=name) for name in columns]


def every_column(frame: pd.DataFrame) -> list[AnswerColumn]:
    """The columns that the template EACH_ROW selects: all columns that hold answers and do not name
    the rater.
    """
    columns = [str(name) for name in frame.columns if plain(str(name)) not in GUESSES["rater"]]
    columns = [name for name in columns if _may_be_asked(frame[name])]
    return [AnswerColumn(name, output=name) for name in _alike(frame, columns)]


def are_texts(names: Sequence[str]) -> bool:
    """Whether names of columns are the rated texts themselves, rather than names of texts."""
    long = [name for name in names if len(name) >= _TEXT_LENGTH or len(name.split()) >= _TEXT_WORDS]
    return 2 * len(long) > len(names)


def _may_be_asked(column: pd.Series) -> bool:
    """Whether a column holds answers about something other than the respondents. Its name may be
    any text.
    """
    name = str(column.name)
    if _OF_A_PERSON.search(name.partition("[")[0]) or plain(name) in COMMENTS:
        return False
    return holds_answers(column.rename(EACH_ROW)) or few_words(column)


def _in_parts(columns: Sequence[str], pattern: re.Pattern[str]) -> list[AnswerColumn]:
    """Read a criterion and an output from each column's name, if most names fit a pattern with two
    parts; empty if they do not.

    The part that has more different values names the outputs. If there is only one question, it is
    the criterion, unless it is a word such as `Q` or `item`.
    """
    matches = list(filter(None, map(pattern.fullmatch, columns)))
    if 2 * len(matches) <= len(columns):
        return []
    first = {match["first"] for match in matches}
    second = {match["second"] for match in matches}
    if len(first) == 1 and not are_texts([*second]) and any(map(CRITERION.search, second)):
        return []  # one output, on several criteria
    if pattern is _NUMBERED and not all(map(CRITERION.search, first)):
        if len(first) > 1:
            return []
        return [AnswerColumn(match.string, output=match["second"]) for match in matches]
    criterion, output = "first", "second"
    if len(first) > len(second) and pattern is not _NUMBERED:
        criterion, output = output, criterion
    return [
        AnswerColumn(match.string, criterion=match[criterion], output=match[output])
        for match in matches
    ]


def _alike(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns whose answers also occur in most other columns, so that a column of ages among
    answers from 1 to 5 is left out.
    """
    answers = {name: set(as_texts(frame[name].dropna()).unique()) for name in columns}
    counts = Counter(answer for own in answers.values() for answer in own)
    common = {answer for answer, count in counts.items() if 2 * count >= len(columns)}
    return [name for name, own in answers.items() if 2 * len(own & common) >= len(own)]


def template_of(answer: AnswerColumn) -> str:
    """The template of `wide` that reads a column in the same way: `Q{output}`, `{criterion}
    [{output}]`.
    """
    template = answer.column
    if answer.criterion:
        template = template.replace(answer.criterion, "{criterion}", 1)
    head, _, tail = template.rpartition(answer.output)
    return f"{head}{{output}}{tail}"
