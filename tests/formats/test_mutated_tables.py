"""Real tables with their columns renamed, moved, dropped, doubled, retyped, split or merged are not
misread in silence.

What is right was written down before METAL read any of them: the layout of each table below says
where its ratings stand. A reading is a silent misreading if it has a rater, language, criterion or
rating that the table does not have, merges or splits outputs or sources, or loses ratings or raters
without a word in the report or the findings. A refusal is none; it names an option. Beside a column
of raters, an added column of scores may be a criterion of its own, as its name is all that tells
the two apart: then the ratings of the others are what is compared.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset
from metal.data.records import Output
from metal.errors import MetalError

TIMES = 48  # three kinds for each table, each kind for four tables
ROWS = 72  # of a table, in whole sources


@dataclass(frozen=True)
class Table:
    """A table and its layout. roles: role -> column; answers: column -> its rater and criterion, or
    "".

    output, source: the columns whose cells tell these apart. words: the answers in order, where
    they are words.
    """

    path: str
    roles: Mapping[str, str]
    output: tuple[str, ...]
    source: tuple[str, ...]
    answers: Mapping[str, tuple[str, str]]
    words: tuple[str, ...] = ()
    language: str = "und"  # where no column says it
    pairs: bool = False

    @property
    def columns(self) -> dict[str, str]:
        """Column -> role, `answer` for those of answers."""
        return {column: role for role, column in self.roles.items()} | dict.fromkeys(
            self.answers, "answer"
        )


def one(column: str, criterion: str = "overall") -> dict[str, tuple[str, str]]:
    return {column: ("", criterion)}


HINDI = ("बहुत खराब", "खराब", "ठीक-ठाक", "अच्छा", "बहुत अच्छा")
PEOPLE_AND_JUDGES = ("annotator_1", "annotator_2", "annotator_3", "gpt_4o", "llama-3-70b")
TWO_HEADS = {
    f"{rater}__{criterion}": (rater, criterion)
    for rater in ("Annotator 1", "Annotator 2", "GPT-4o")
    for criterion in ("Fluency", "Adequacy")
}
HARNESS = {
    f"scores.{rater}.helpfulness.value": (rater, "helpfulness")
    for rater in ("gpt-4o", "human_a", "human_b")
}
KARYA = "pariksha/karya_eval/round1/individual/hindi_ratings_output_indi_just.tsv"
TABLES = (
    Table(
        "strangers/wide.csv",
        {"output": "id", "language": "locale", "source_text": "prompt", "text": "response"},
        ("id",),
        ("id",),
        {name: (name, "overall") for name in PEOPLE_AND_JUDGES},
    ),
    Table(
        "strangers/one_one.csv",
        {"source_text": "question", "text": "answer", "language": "lang"},
        ("question", "answer"),
        ("question",),
        {"human_score": ("human", "overall"), "llm_score": ("llm", "overall")},
    ),
    Table(
        "strangers/long.csv",
        {"output": "answer_id", "language": "language", "source_text": "question", "text": "answer"}
        | {"rater": "reviewer"},
        ("answer_id",),
        ("language", "question"),
        one("label"),
        ("Not Supported", "Supported"),
    ),
    Table(
        "strangers/harness.jsonl",
        {"output": "sample_id", "repeat": "epoch", "generator": "model", "source_text": "input"}
        | {"text": "output.completion", "language": "metadata.language"},
        ("sample_id",),
        ("sample_id",),
        HARNESS,
    ),
    Table(
        "strangers/hindi.csv",
        {"source_text": "प्रश्न", "text": "उत्तर", "rater": "मूल्यांकनकर्ता"},
        ("प्रश्न", "उत्तर"),
        ("प्रश्न",),
        one("रेटिंग"),
        HINDI,
        "hi",
    ),
    Table(
        "strangers/likert_num.csv",
        {"source_text": "question", "text": "answer", "rater": "annotator"},
        ("question", "answer"),
        ("question",),
        one("score"),
    ),
    Table(
        "strangers/da.csv",
        {
            "output": "segment_id",
            "language": "lp",
            "source_text": "source",
            "text": "mt",
            "rater": "translator",
        },
        ("segment_id",),
        ("segment_id",),
        one("DA", "DA"),
    ),
    Table(
        "strangers/pairs.csv",
        {
            "source": "question_id",
            "language": "language",
            "source_text": "prompt",
            "first": "model_a",
        }
        | {
            "second": "model_b",
            "first_text": "response_a",
            "second_text": "response_b",
            "rater": "judge",
        },
        ("language", "question_id"),
        ("language", "question_id"),
        one("winner", "preference"),
        pairs=True,
    ),
    Table(
        "strangers/two_heads.xlsx",
        {"output": "ID", "language": "Language", "text": "Summary"},
        ("ID",),
        ("ID",),
        TWO_HEADS,
    ),
    Table(
        "strangers/cl.csv",
        {
            "output": "id",
            "language": "lang",
            "source_text": "question",
            "text": "answer",
            "rater": "rater",
        },
        ("id",),
        ("question",),
        one("score"),
    ),
    Table(
        "memerag-ext/ratings.csv",
        {"output": "item", "language": "language", "rater": "rater"},
        ("item",),
        ("item",),
        one("faithfulness", "faithfulness"),
        ("Not Supported", "Supported"),
    ),
    Table(
        "mushroom/ratings.csv.gz",
        {"output": "item", "language": "language", "rater": "rater"},
        ("item",),
        ("item",),
        {name: ("", name) for name in ("share", "any", "half")},
    ),
    Table(
        "truthfulqa-multi/ratings.csv",
        {
            "source": "question_id",
            "language": "language",
            "generator": "generator",
            "rater": "rater",
        }
        | {"criterion": "criterion"},
        ("language", "question_id", "generator"),
        ("language", "question_id"),
        one("score", ""),
    ),
    Table(
        "estonian-dialogues/ratings.csv",
        {
            "output": "item",
            "language": "language",
            "generator": "generator",
            "criterion": "criterion",
        }
        | {"rater": "rater"},
        ("item",),
        ("item",),
        one("score", ""),
    ),
    Table(
        "mlqe-mixtral/metal_table.csv",
        {"source": "source", "language": "language", "generator": "generator", "rater": "rater"}
        | {"criterion": "criterion", "source_text": "source_text", "text": "text"},
        ("source",),
        ("source",),
        one("score", ""),
    ),
    Table(
        KARYA,
        {"generator": "model", "source": "prompt_id", "rater": "worker_id"},
        ("prompt_id", "model"),
        ("prompt_id",),
        {f"{name}_rating": ("", name) for name in ("ling", "task", "hallucination")},
        ("False", "True"),
    ),
)
CODES = {"English": "en", "German": "de", "Swahili": "sw", "Bengali": "bn", "Tamil": "ta"}
NAMES = CODES | {
    "Hindi": "hi",
    "French": "fr",
    "Spanish": "es",
    "Amharic": "am",
    "Portuguese": "pt",
    "Yoruba": "yo",
    "Arabic": "ar",
    "Catalan": "ca",
    "Basque": "eu",
    "Galician": "gl",
    "Estonian": "et",
    "Czech": "cs",
    "Finnish": "fi",
    "Italian": "it",
    "Swedish": "sv",
    "Persian": "fa",
    "Chinese": "zh",
}


# ---------------------------------------------------------------- what is right


@dataclass(frozen=True)
class Fact:
    """A rating as the layout gives it; output and source are known by the cells that tell them
    apart.
    """

    language: str
    source: Hashable
    output: Hashable
    criterion: str
    rater: str
    score: Hashable


def facts_of(frame: pd.DataFrame, table: Table) -> list[Fact]:
    """The ratings of a table as it is, by its layout alone."""
    facts = []
    for record in frame.to_dict("records"):
        row = {str(name): str(cell) for name, cell in record.items()}
        language = row[table.roles["language"]] if "language" in table.roles else table.language
        output, source = (
            tuple(row[name] for name in names) for names in (table.output, table.source)
        )
        for column, (rater, criterion) in table.answers.items():
            if row[column] == "":
                continue
            rater = rater or row[table.roles["rater"]]
            criterion = criterion or row[table.roles["criterion"]]
            facts.append(
                Fact(
                    CODES.get(language, language),
                    source,
                    output,
                    criterion,
                    rater,
                    _score(row[column], row, table),
                )
            )
    return facts


def _score(cell: str, row: Mapping[str, str], table: Table) -> Hashable:
    if table.pairs:
        return row.get(cell, cell)  # `model_a` -> what that is called
    return float(table.words.index(cell)) if cell in table.words else float(cell)


@dataclass(frozen=True)
class Mutation:
    """A table after a mutation, and what that changed of what is right.

    columns: column -> role, as they are now. touched: what the changed columns are called now.
    gone: roles whose column is not there any more, or under a name that says nothing. raters: name
    now -> name in the layout. left: raters who are not in the table any more. free: whether a
    column was added that may be a criterion.
    """

    kind: str
    what: str
    frame: pd.DataFrame
    columns: Mapping[str, str]
    touched: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    raters: Mapping[str, str] = field(default_factory=dict)
    left: frozenset[tuple[str, str]] = frozenset()
    criteria: Mapping[str, str] = field(default_factory=dict)
    free: bool = False


SAID_UNREAD = re.compile(r"not read|left out")
SAID_APART = re.compile(
    r"no source column|told apart|read as the (id of the )?source|not read as|ids of sources"
)


def misreadings(data: Dataset, facts: list[Fact], mutation: Mutation, table: Table) -> list[str]:
    """What METAL read that is not in the table, or did not read and did not say; in words.

    Findings take as long as reading: they are asked for where the report does not excuse all.
    """
    if not _misreadings(data, data.report, facts, mutation, table):
        return []
    findings = (finding.message for finding in metal.check(data).findings)
    return _misreadings(data, (*data.report, *findings), facts, mutation, table)


def _misreadings(  # noqa: C901  one case a way of going wrong
    data: Dataset, report: Sequence[str], facts: list[Fact], mutation: Mutation, table: Table
) -> list[str]:
    unread = " ".join(line for line in report if SAID_UNREAD.search(line))
    named = bool(mutation.touched) and all(name in unread for name in mutation.touched)
    apart = any(map(SAID_APART.search, report))
    facts = [fact for fact in facts if (fact.rater, fact.criterion) not in mutation.left]
    criteria = {fact.criterion for fact in facts}
    read = _read(data, mutation, table)
    wrong = []
    unknown = data.languages == ("und",) and any(
        "language: und, unknown" in line for line in report
    )
    if unknown:
        facts = [replace(fact, language="und") for fact in facts]
    if (
        "criterion" in mutation.gone
        and {fact.criterion for fact in read} == {"overall"}
        and len(criteria) == 1
    ):
        facts = [replace(fact, criterion="overall") for fact in facts]
    if mutation.free:
        read = [fact for fact in read if fact.criterion in criteria]
    for what in ("rater", "language", "criterion"):
        is_read, is_there = ({getattr(fact, what) for fact in each} for each in (read, facts))
        if is_read - is_there:
            wrong.append(f"{what} that is not there: {sorted(is_read - is_there)[:4]}")
        lost = {str(name) for name in is_there - is_read}
        if lost and not (named or all(name in unread for name in lost)):
            wrong.append(f"{what} lost: {sorted(lost)[:4]}")
    if wrong:
        return wrong
    key = ("language", "criterion", "rater", "score")
    read_counts, counts = (
        Counter(tuple(getattr(f, k) for k in key) for f in each) for each in (read, facts)
    )
    if read_counts - counts:
        wrong.append(f"ratings that are not there: {list((read_counts - counts).items())[:3]}")
    if counts - read_counts and not (named or SAID_UNREAD.search(unread)):
        wrong.append(f"ratings lost: {list((counts - read_counts).items())[:3]}")
    if wrong or counts != read_counts:
        return wrong
    ids = {"output", "source", "source_text", "text", "generator"}
    dropped = bool(ids & mutation.gone) and apart
    for what in ("output", "source"):
        groups, right = (_groups(each, what) for each in (read, facts))
        hidden = (
            dropped
            or (what == "source" and named and apart)
            or ("language" in mutation.gone and unknown)
        )
        if groups != right and not hidden:
            wrong.append(
                f"{len({getattr(f, what) for f in read})} {what}s for"
                f" {len({getattr(f, what) for f in facts})}"
            )
    return wrong


def _read(data: Dataset, mutation: Mutation, table: Table) -> list[Fact]:
    """What METAL read, in the layout's names."""
    facts = []
    table_raters: dict[str, str] = {}
    for column, (rater, _) in table.answers.items():
        table_raters |= {column: rater} if rater else {}
    for row in data.ratings.to_dict("records"):
        if pd.isna(row["score"]):
            continue
        output = data.outputs[row["output"]]
        score: Hashable = float(row["score"])
        if output.first:
            score = {0.0: _system(output, 0), 1.0: _system(output, 1)}.get(row["score"], "tie")
        criterion = mutation.criteria.get(row["criterion"], row["criterion"])
        rater = mutation.raters.get(row["rater"], table_raters.get(row["rater"], row["rater"]))
        language = re.sub(r"^([a-z]{2})-[A-Z]{2}$", r"\1", row["language"])  # without a country
        facts.append(Fact(language, row["source"], row["output"], criterion, rater, score))
    return facts


def _system(output: Output, place: int) -> str:
    """Who wrote the first or second text of a pair; by that text, where the table does not say
    who.
    """
    by_text = output.texts[place].split()[1:2] if output.texts else []
    return (
        {"A": "vicuna-13b", "B": "alpaca-13b"}.get(by_text[0], "")
        if by_text
        else (output.first, output.second)[place]
    )


def _groups(facts: Iterable[Fact], what: str) -> Counter[Hashable]:
    """How often each set of ratings is one output's, or one source's."""
    members: dict[Hashable, Counter[Hashable]] = {}
    for fact in facts:
        members.setdefault(getattr(fact, what), Counter())[
            fact.criterion, fact.rater, fact.score
        ] += 1
    return Counter(frozenset(each.items()) for each in members.values())


# ---------------------------------------------------------------- the tables, cut


@cache
def loaded(reference: Path, at: int) -> pd.DataFrame:
    """Some ROWS of a table of TABLES, as texts: whole sources, of each language in turn."""
    table = TABLES[at]
    path = reference / table.path
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            frame = pd.json_normalize([json.loads(line) for line in lines]).astype(str)
    elif path.suffix == ".xlsx":
        frame = pd.read_excel(path, header=[0, 1], dtype=str)
        heads = [(str(name[0]), str(name[1])) for name in frame.columns]
        frame.columns = [
            sub if over.startswith("Unnamed") else f"{over}__{sub}" for over, sub in heads
        ]
    else:
        frame = pd.read_csv(
            path, sep="\t" if path.suffix == ".tsv" else ",", dtype=str, keep_default_na=False
        )
    frame = frame.fillna("")
    language = (
        frame[table.roles["language"]]
        if "language" in table.roles
        else pd.Series("", index=frame.index)
    )
    source = pd.Series(map("\0".join, frame[list(table.source)].to_numpy()), index=frame.index)
    first = pd.DataFrame({"language": language, "source": source}).drop_duplicates("source")
    turn = first.groupby("language").cumcount()
    in_turn = first.assign(turn=turn).sort_values("turn", kind="stable")["source"]
    sizes = source.value_counts()[in_turn].cumsum()
    return frame[source.isin(sizes.index[sizes <= ROWS])].reset_index(drop=True)


def written(frame: pd.DataFrame, table: Table, folder: Path) -> Path:
    """The table as a file of its kind under its own name; dotted columns stand in objects again."""
    name = Path(table.path).name.removesuffix(".gz")
    if not name.endswith(".jsonl"):
        path = (folder / name).with_suffix(".csv")
        frame.to_csv(path, index=False)
        return path
    path = folder / name
    with path.open("w", encoding="utf-8") as lines:
        for row in frame.to_dict("records"):
            lines.write(json.dumps(_nested(row), ensure_ascii=False) + "\n")
    return path


def _nested(row: Mapping[Hashable, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for name, cell in row.items():
        *steps, leaf = str(name).split(".")
        inner = whole
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[leaf] = int(cell) if cell.isdecimal() else cell
    return whole


# ---------------------------------------------------------------- mutations

SYNONYMS = {
    "rater": (
        "annotator",
        "worker_id",
        "reviewer",
        "evaluator name",
        "evaluador",
        "评分人",
        "annotateur",
        "оценщик",
    ),
    "answer": ("rating", "label", "grade", "puntuación", "评分", "bewertung", "оценка", "puan"),
    "language": ("lang", "locale", "language_code", "langue", "язык", "idioma", "语言", "lugha"),
    "source": (
        "source_id",
        "doc_id",
        "prompt_id",
        "question_id",
        "quelle",
        "документ",
        "documento",
        "文档",
    ),
    "output": (
        "output_id",
        "item_id",
        "id",
        "response_id",
        "task_id",
        "sample_id",
        "uuid",
        "example_id",
    ),
    "text": (
        "response",
        "output_text",
        "completion",
        "hypothesis",
        "respuesta",
        "ответ",
        "回答",
        "antwort",
    ),
    "source_text": (
        "prompt",
        "question",
        "input_text",
        "source_text",
        "pregunta",
        "вопрос",
        "问题",
        "frage",
    ),
    "generator": (
        "system",
        "model_name",
        "generator",
        "sistema",
        "модель",
        "模型",
        "modell",
        "system_id",
    ),
    "criterion": (
        "dimension",
        "aspect",
        "metric",
        "criterio",
        "критерий",
        "标准",
        "kriterium",
        "criterion_name",
    ),
    "first": ("system_a", "model_1"),
    "second": ("system_b", "model_2"),
    "first_text": ("output_a", "answer_1"),
    "second_text": ("output_b", "answer_2"),
    "repeat": ("trial", "round"),
}
PEOPLE = (
    "Rater {}",
    "worker{}",
    "expert_{}",
    "evaluador {}",
    "评分人 {}",
    "reviewer-{}",
    "A{}",
    "human {}",
)
JUDGES = (
    "GPT-4.1",
    "claude-3-5-sonnet",
    "gemini_score",
    "qwen2-72b",
    "LLM judge",
    "judge_model",
    "Mistral-Large",
)
NOTHING = ("qzx", "field_7", "X", "var12", "data", "col_b", "Unnamed: 3", "thing")
ADDED: Mapping[str, Callable[[int, random.Random], str]] = {
    "n_edits": lambda n, rng: str(rng.randrange(6)),
    "attempts": lambda n, rng: str(rng.choice([1, 1, 1, 2, 3])),
    "clicks": lambda n, rng: str(rng.randrange(4)),
    "is_final": lambda n, rng: rng.choice(["True", "False"]),
    "reviewed": lambda n, rng: rng.choice(["true", "false"]),
    "gold_item": lambda n, rng: rng.choice(["0", "1"]),
    "timestamp": lambda n, rng: f"2024-05-{rng.randrange(1, 29):02d}T10:{rng.randrange(60):02d}:00",
    "submitted": lambda n, rng: str(1_700_000_000 + 60 * n),
    "row": lambda n, rng: str(n),
    "Unnamed: 0": lambda n, rng: str(n),
    "nr": lambda n, rng: str(n + 1),
    "prob": lambda n, rng: f"{rng.random():.3f}",
    "p_correct": lambda n, rng: f"{rng.random():.2f}",
    "human_mean": lambda n, rng: f"{rng.randrange(2, 9) / 2}",
    "avg_score": lambda n, rng: f"{rng.randrange(2, 9) / 2}",
    "annotators_total": lambda n, rng: str(rng.randrange(3, 15)),
    "remark": lambda n, rng: rng.choice(["", "", "fine", "could not open the link", "see above"]),
    "time_spent": lambda n, rng: str(rng.randrange(4, 90)),
    "novelty": lambda n, rng: str(rng.randrange(5)),
    "x7": lambda n, rng: str(rng.randrange(5)),
    "difficulty": lambda n, rng: str(rng.randrange(1, 4)),
}
MAY_BE_CRITERIA = {"novelty", "x7", "difficulty"}  # beside a column of raters


def renamed(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column under a word of the same meaning, or one of another language."""
    column = rng.choice(sorted(table.columns))
    role = table.columns[column]
    rater, criterion = table.answers.get(column, ("", ""))
    if rater and criterion in ("overall", "helpfulness"):
        # no dot in JSON's keys
        named = PEOPLE if not _is_judge(rater) else JUDGES[criterion == "helpfulness" :]
        name = rng.choice(named).format(rng.randrange(7, 30))
    elif rater:
        name = column.replace(rater, "Rater 9" if not _is_judge(rater) else "Claude 3")
    elif role == "answer" and criterion in ("", "overall", "DA"):
        name = rng.choice(SYNONYMS["answer"])
    elif role == "answer" and table.pairs:
        name = rng.choice(["preferred", "choice", "preference", "better"])
    elif role == "answer":
        name = rng.choice(["fluency", "Quality", "tone_score"])
    else:
        name = rng.choice(SYNONYMS[role])
    return _called("renamed", frame, table, column, name)


def respelled(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column, or all, in upper case, with blanks, or in camel case."""
    ways: tuple[Callable[[str], str], ...] = (
        str.upper,
        lambda name: name.replace("_", " ").title(),
        lambda name: f" {name} ",
        lambda name: re.sub(r"[_ ](\w)", lambda match: match[1].upper(), name),
    )
    way = rng.choice(ways)
    name_of = {column: _leaf(column, way) for column in table.columns}
    if rng.random() < 0.5:
        chosen = rng.choice(sorted(name_of))
        name_of = {chosen: name_of[chosen]}
    frame = frame.rename(columns=name_of)
    columns = {name_of.get(column, column): role for column, role in table.columns.items()}
    raters: dict[str, str] = {}
    criteria: dict[str, str] = {}
    for column, name in name_of.items():
        raters |= _aliases(name, table.answers.get(column, ("", ""))[0], way)
        criteria |= _aliases(name, table.answers.get(column, ("", ""))[1], way)
    return Mutation(
        "respelled", f"{name_of}", frame, columns, (), frozenset(), raters, frozenset(), criteria
    )


def _leaf(column: str, way: Callable[[str], str]) -> str:
    *steps, leaf = column.split(".")
    return ".".join([*steps, way(leaf) if not steps or steps[0] != "scores" else leaf])


def nameless(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column under a name that says nothing."""
    column, name = rng.choice(sorted(table.columns)), rng.choice(NOTHING)
    mutation = _called("nameless", frame, table, column, name)
    return replace(mutation, gone=frozenset({table.columns[column]}))


def _is_judge(rater: str) -> bool:
    return re.search("gpt|llama|llm", rater, re.IGNORECASE) is not None


def _called(kind: str, frame: pd.DataFrame, table: Table, column: str, name: str) -> Mutation:
    if name in frame.columns:
        name += " 2"
    columns = {name if each == column else each: role for each, role in table.columns.items()}
    rater, criterion = table.answers.get(column, ("", ""))
    frame = frame.rename(columns={column: name})
    raters, criteria = _aliases(name, rater), _aliases(name, criterion)
    if len(table.answers) == 1 and criterion:
        criteria["overall"] = criterion
    return Mutation(
        kind,
        f"{column!r} is {name!r}",
        frame,
        columns,
        (name,),
        frozenset(),
        raters,
        frozenset(),
        criteria,
    )


def _aliases(name: str, old: str, way: Callable[[str], str] = str) -> dict[str, str]:
    """What the rater, or the criterion, of a column may be called: as the column, without an end,
    or by a part.
    """
    if not old:
        return {}
    camel = re.sub(r"(?<=[a-z])(Score|Rating)$", "", name)
    parts = [
        name,
        camel,
        way(old),
        *re.split(r"[_ .](?=score|rating|label|value)", name, flags=re.IGNORECASE)[:1],
    ]
    if "__" in name:
        parts = [
            part
            for part in name.split("__")
            if ("uency" in part or "quacy" in part) == (old in ("Fluency", "Adequacy"))
        ]
    return {part.strip(): old for part in parts} | {old: old}


def shuffled(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """The columns in another order."""
    columns = list(frame.columns)
    rng.shuffle(columns)
    return Mutation("shuffled", f"{columns}", frame[columns], table.columns)


def dropped(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A table without one of its columns."""
    column = rng.choice(sorted(table.columns))
    columns = {name: role for name, role in table.columns.items() if name != column}
    left = frozenset(
        (rater, criterion) for rater, criterion in [table.answers.get(column, ("", ""))] if rater
    ) | frozenset(
        (rater, criterion)
        for rater in {fact.rater for fact in facts_of(frame, table)}
        for criterion in [table.answers.get(column, ("", ""))[1]]
        if column in table.answers and len(table.answers) > 1 and not table.answers[column][0]
    )
    return Mutation(
        "dropped",
        f"{column!r} ({table.columns[column]})",
        frame.drop(columns=column),
        columns,
        (),
        frozenset({table.columns[column]}),
        {},
        left,
    )


def doubled(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column twice, the second time under another name."""
    column = rng.choice(sorted(table.columns))
    ends = ("_copy", ".1", " (2)", "_2", "_dup", "_old")
    name = column + rng.choice(
        ends if "." not in column and "jsonl" not in table.path else ("_copy", "_2")
    )
    place = rng.choice([list(frame.columns).index(column) + 1, len(frame.columns), 0])
    frame = frame.copy()
    frame.insert(place, name, frame[column])
    return Mutation("doubled", f"{column!r} again as {name!r} at {place}", frame, table.columns)


def retyped(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """Cells spelled in another way."""
    answers = list(table.answers)
    numbers = [str(cell) for name in answers for cell in frame[name] if cell]
    ways: dict[str, tuple[list[str], Callable[[str], str]]] = {
        "blanks": (
            rng.choice([answers, sorted(table.columns)]),
            lambda cell: f" {cell} " if cell else cell,
        ),
    }
    if "language" in table.roles:
        language = table.roles["language"]
        name_of = {code: name for name, code in NAMES.items()}
        ways["capitals"] = ([language], str.upper)
        if set(frame[language]) <= set(name_of):
            ways["names"] = ([language], lambda cell: name_of[cell])
            ways["regions"] = ([language], lambda cell: f"{cell}-{cell.upper()}")
    if not table.words and not table.pairs:
        whole = all(float(cell) == int(float(cell)) for cell in numbers)
        ways["floats"] = (answers, lambda cell: f"{float(cell):.1f}" if cell else cell)
        ways["commas"] = (
            answers,
            lambda cell: f"{float(cell):.1f}".replace(".", ",") if cell and whole else cell,
        )
        if {float(cell) for cell in numbers} <= {0.0, 1.0}:
            ways["booleans"] = (answers, lambda cell: str(float(cell) == 1))
            ways["yes"] = (answers, lambda cell: "yes" if float(cell) else "no")
        if table.path == "strangers/da.csv":
            ways["percent"] = (answers, lambda cell: f"{float(cell):g}%")
    if table.words:
        ways["upper"] = (answers, str.upper)
    way = rng.choice(sorted(ways))
    names, spell = ways[way]
    return Mutation(
        "retyped",
        f"{way} in {names}",
        frame.assign(**{n: frame[n].map(spell) for n in names}),
        table.columns,
    )


def split(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column's cells in two columns."""
    column = rng.choice(sorted(set(table.columns) - set(table.answers) - {"epoch", "model"}))
    at = 1 if rng.random() < 0.3 else 2
    parts = frame[column].str.extract(rf"^(.*?[^\w]|.{{{at}}})(.*)$").fillna("")
    if len(set(parts[1])) < 2 and len(set(frame[column])) > 1:
        parts = frame[column].str.extract(r"^(.*)(.{2})$").fillna("")
    first, second = rng.choice(
        [(f"{column}_1", f"{column}_2"), (column, f"{column}_2"), (f"{column} set", f"{column} nr")]
    )
    place = list(frame.columns).index(column)
    frame = frame.drop(columns=column)
    frame.insert(place, first, parts[0])
    frame.insert(place + 1, second, parts[1])
    columns = {name: role for name, role in table.columns.items() if name != column}
    role = table.columns[column]
    return Mutation(
        "split",
        f"{column!r} ({role}) in {first!r}, {second!r}",
        frame,
        columns,
        (second,),
        frozenset({role}),
    )


def merged(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """The cells of two columns in one."""
    first, second = rng.sample(sorted(table.columns), 2)
    gap = rng.choice([" | ", "/", "_", ", ", " - ", " "])
    name = rng.choice([first, f"{first}_{second}", f"{first}/{second}"])
    cells = frame[first] + gap + frame[second]
    gone = frozenset(table.columns[column] for column in (first, second))
    left: set[tuple[str, str]] = set()
    raters: dict[str, str] = {}
    criteria: dict[str, str] = {}
    for column in (first, second):
        rater, criterion = table.answers.get(column, ("", ""))
        left |= {(rater, criterion)} if rater else set()
        if table.columns[column] == "rater":
            raters = dict(zip(cells, frame[column], strict=True))
        if table.columns[column] == "criterion":
            criteria = dict(zip(cells, frame[column], strict=True))
    left |= {
        (rater, table.answers[column][1])
        for column in (first, second)
        if column in table.answers and len(table.answers) > 1 and not table.answers[column][0]
        for rater in frame[table.roles["rater"]]
    }
    place = list(frame.columns).index(first)
    frame = frame.drop(columns=[first, second])
    frame.insert(min(place, len(frame.columns)), name, cells)
    columns = {each: role for each, role in table.columns.items() if each not in (first, second)}
    what = f"{first!r} and {second!r} as {name!r}"
    return Mutation(
        "merged", what, frame, columns, (name,), gone, raters, frozenset(left), criteria
    )


def added(frame: pd.DataFrame, table: Table, rng: random.Random) -> Mutation:
    """A column that is no rating."""
    name = rng.choice(sorted(ADDED))
    frame = frame.copy()
    frame.insert(
        rng.randrange(len(frame.columns) + 1),
        name,
        [ADDED[name](n, rng) for n in range(len(frame))],
    )
    free = name in MAY_BE_CRITERIA and "rater" in table.roles
    return Mutation("added", name, frame, table.columns, free=free)


KINDS = (
    renamed,
    respelled,
    nameless,
    shuffled,
    dropped,
    doubled,
    retyped,
    split,
    merged,
    added,
    added,
    doubled,
)


def mutations(reference: Path, times: int) -> Iterable[tuple[Table, list[Fact], Mutation]]:
    """So many mutations, each with its table and what is right."""
    frames = [loaded(reference, at) for at in range(len(TABLES))]
    for seed in range(times):
        turn, at = divmod(seed, len(TABLES))
        mutate = KINDS[(at + 4 * turn + turn // 3) % len(KINDS)]
        mutation = mutate(frames[at], TABLES[at], random.Random(seed))
        yield TABLES[at], facts_of(frames[at], TABLES[at]), mutation


@dataclass(frozen=True)
class Outcome:
    """What came of a mutation: the data or the error, and what was misread in silence."""

    table: Table
    mutation: Mutation
    data: Dataset | None
    error: MetalError | None
    wrong: tuple[str, ...] = ()


def outcome(
    table: Table, facts: list[Fact], mutation: Mutation, folder: Path, **options: Any
) -> Outcome:
    path = written(mutation.frame, table, folder)
    try:
        data = metal.read(path, **options)
    except MetalError as error:
        return Outcome(table, mutation, None, error)
    return Outcome(table, mutation, data, None, tuple(misreadings(data, facts, mutation, table)))


@pytest.mark.reference
@pytest.mark.parametrize("at", range(len(TABLES)), ids=lambda at: TABLES[at].path)
def test_a_table_without_a_mutation_is_read_by_its_layout(
    reference: Path, tmp_path: Path, at: int
) -> None:
    table, frame = TABLES[at], loaded(reference, at)
    same = Mutation("none", "", frame, table.columns)
    read = outcome(table, facts_of(frame, table), same, tmp_path)
    assert (read.error, read.wrong) == (None, ())


@pytest.mark.slow
@pytest.mark.reference
def test_mutated_tables_are_not_misread_in_silence(reference: Path, tmp_path: Path) -> None:
    wrong = []
    for table, facts, mutation in mutations(reference, TIMES):
        result = outcome(table, facts, mutation, tmp_path)
        if result.wrong:
            wrong.append(
                f"{table.path}: {mutation.kind} {mutation.what}: {'; '.join(result.wrong)}"
            )
    assert wrong == []


def answer_to(error: MetalError, mutation: Mutation) -> dict[str, Any]:
    """The option that a refusal names, with the column that is meant filled in; {} where it names
    none.
    """
    role = re.search(r'columns=\{"(\w+)": COLUMN\}', str(error))
    wide = re.search(r'wide=\[("[^\]]*")\]', str(error))
    names_of = {
        name: sorted(c for c, role in mutation.columns.items() if role == name)
        for name in mutation.columns.values()
    }
    answers = names_of["answer"]
    if role and (columns := names_of.get("answer" if role[1] == "score" else role[1])):
        return {"columns": {role[1]: columns[0]}}
    # in objects, `wide` keeps more of the path
    if wide and not any("." in column for column in answers):
        return {
            "wide": [column for column in re.findall('"([^"]*)"', wide[1]) if column in answers]
        }
    return {}


@pytest.mark.slow
@pytest.mark.reference
def test_the_option_that_a_refusal_names_works_at_once(reference: Path, tmp_path: Path) -> None:
    tried, failed = 0, []
    for at, table in enumerate(TABLES):
        frame = loaded(reference, at)
        for seed in range(2):
            mutation = nameless(frame, table, random.Random(100 * at + seed))
            facts = facts_of(frame, table)
            first = outcome(table, facts, mutation, tmp_path)
            options = answer_to(first.error, mutation) if first.error else {}
            if not options:
                continue
            tried += 1
            second = outcome(table, facts, mutation, tmp_path, **options)
            if second.error or second.wrong:
                failed.append(
                    f"{table.path}: {mutation.what}: {options}: {second.error or second.wrong}"
                    f" AFTER {first.error}"
                )
    assert not failed, "\n".join(failed)
    assert tried > 6
