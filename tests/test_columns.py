"""A column is spelled as some table has it: every text that code takes a value by is looked up in
the descriptions of tables, so that a slip fails here and not before a user.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import metal
from metal.auditing.settings import AuditSettings
from metal.boards import crowd, references
from metal.boards.settings import BoardSettings, CrowdSettings
from metal.data import ratings
from metal.data.dataset import Card
from metal.data.records import Manifest, Output, Rater, Source
from metal.genie import behaviour
from metal.questions.design.settings import DesignSettings, LabelSettings, Prices
from metal.questions.leaderboard.settings import LeaderboardSettings
from metal.runs import kinds
from metal.runs.columns import names_of

PACKAGE = Path(metal.__file__).parent
# The rooms that take columns of METAL's tables. In `data`, `building` and `raters` keys are of
# the files and services of other programs; `stats` knows arrays.
ROOMS = (
    *("questions", "auditing", "boards", "genie", "show"),
    *("api", "cli", "runs", "running"),
)
HOLE = "{}"  # of an f-string, which stands for any text
CORES = ("audit", "board", "leaderboard", "people")  # whose tables the shared cores make
TAKING = ("get", "rows", "records", "groupby", "sort_values", "set_index", "drop_duplicates")
RECORDS = (
    *(AuditSettings, BoardSettings, CrowdSettings, DesignSettings, LabelSettings),
    *(LeaderboardSettings, Prices, Manifest, Card, Source, Output, Rater),
)

CORE_COLUMNS = {
    *(*behaviour.COLUMNS, *references.COLUMNS, *crowd.TABLES),
    *(name for names in crowd.TABLES.values() for name in names),
}
# Keys of what is no table that is described: facts in run.toml and of a rater, of a journal, an
# entry of a counter; columns of tables that are only printed, or that a core makes by their names.
OTHERS: dict[str, str] = {
    "api": """
        __signature__, approved, country, endpoint_url, layout-{}.html, minutes, models,
        far, more, often, path, people_given, people_range, probable, qualification, rating, to,
        warnings,
        with_reference, word_orders,
        evalset, standard_reference, references/{}.{}.txt, system-outputs/{}/{}.txt,
        {}.{}.{}.seg.rating,
        without a score are in the metadata: Argilla has no missing answers,
        by further judges are in the metadata: a question holds one suggestion,
        directions, kinds
    """,
    "cli": """
        Cannot be used, alarm, answers, directions, e_value, format, install, kinds, least, levels,
        negated, output_text, path, people_comments, pull, push, rater_comments, ranges,
        ready, sha256, source_text, state, steps
    """,
    "runs": """
        any, complete, expires, issued, lines, models, not_asked, passport,
        remarks, sha256, state
    """,
    "running": """
        ask, body, ending, fingerprint, key, reply, said
    """,
    "auditing": """
        doubtful_directions, flipped, named_by, not
        asked, reading, rejected, skilled, sources_by, sources_named,
        together,
        truth_without_one, unread, {}concordance, {}rmse
    """,
    "boards": """
        dollars_per_thousand, evalset, range, standard_reference
    """,
    "questions/audit": """
        count_all, first_place, first_place_{}, identity, incomplete, judge_says, judges_differing,
        item, kept_at_least, line, model, optimism, output_text, own,
        people_range, people_say, person_share, plan, preference, prompt, read,
        says, source_text, swap_consistency, table_6_items, tied, weight
    """,
    "questions/bias": """
        id, path, probes, shown, translation_of
    """,
    "questions/board": """
        Content-Length, error, id, log, negated, state, was
    """,
    "questions/correct": """
        mean_high, mean_low, probability
    """,
    "questions/dataset": """
        apart, best, labels, mean_high, mean_low, paired, probability, repeats,
        test_questions
    """,
    "questions/design": """
        anchors, repeats, scored, state
    """,
    "questions/drift": """
        base_url, digest, model, more, parameters, passport, path, prompt, prompt_hash,
        score_before, sent, size, structured, sum, versions
    """,
    "questions/generate": """
        concurrency, dataset, not_asked, path, state
    """,
    "questions/jury": """
        dollars_per_thousand
    """,
    "questions/leaderboard": """
        path, probability, repeats
    """,
    "questions/passport": """
        digest, identity, line, weight
    """,
    "questions/people": """
        Do not conclude, Stands out, Without them, bucket, flagged, nunique, precision,
        precision_se, recall, recall_se, size
    """,
    "questions/probe": """
        conditions
    """,
    "questions/select": """
        dollars_per_thousand, model
    """,
    "questions/adjudicate": """
        digest
    """,
    "questions/verify": """
        alt_test, alt_test_epsilon, digest, scores, small
    """,
    "show": """
        campaign, chosen_bin, counts, edges, environment, expires, path, posted,
        projects, reading, spent, url, waiting
    """,
}


def path_of(module: str) -> Path:
    """The file of a module of METAL."""
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


@cache
def columns() -> dict[str, set[str]]:
    """Folder of a question -> the columns of its tables, and the names of these."""
    described: dict[str, set[str]] = defaultdict(set)
    for kind in kinds.kinds().values():
        run = kinds.load(kind.run)
        if run.__module__.startswith("metal.questions."):
            for table, its_columns in run.described.items():
                described[run.__module__.split(".")[2]] |= {table, *names_of(its_columns)}
            meanings = path_of(run.__module__).with_name("meanings.toml")
            if meanings.exists():
                described[run.__module__.split(".")[2]] |= {*tomllib.loads(meanings.read_text())}
    return described


@cache
def keys(source: str) -> tuple[tuple[int, str], ...]:
    """Those of a module, by its text."""
    return tuple(_keys(ast.parse(source)))


def _keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each key: `row["KEY"]`, `rows[["KEY", ...]]`, `row.get("KEY")`, `run.rows(
    "TABLE", KEY=...)`, `rows.groupby("KEY")`.
    """
    types = {"Literal", "Annotated"}
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") not in types:
            parts = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in TAKING:
                parts = node.args[:1]
            if node.func.attr == "rows":
                yield from ((node.lineno, each.arg) for each in node.keywords if each.arg)
        for part in [*parts]:
            parts += part.elts if isinstance(part, ast.List | ast.Tuple) else []
        for part in parts:
            if text := text_of(part):
                yield part.lineno, text


def text_of(node: ast.AST | None) -> str:
    """A text, or an f-string with a HOLE for each of its values; empty if it is neither."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "".join(text_of(part) or HOLE for part in node.values)


def fits(key: str, names: set[str]) -> bool:
    """Whether a key is one of the names, or an f-string that some name may be an outcome of."""
    if HOLE not in key or key in names:
        return key in names
    pattern = re.compile(".*".join(map(re.escape, key.split(HOLE))))
    return any(pattern.fullmatch(name) for name in names)


@cache
def written(folder: Path) -> set[str]:
    """Keys of what the modules of a folder make: of their dictionaries, and names of arguments."""
    made: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg:
                made.add(node.arg)
            parts = node.keys if isinstance(node, ast.Dict) else []
            made |= {text_of(part) for part in parts}
    return made


@cache
def allowed(room: str, question: str) -> set[str]:
    """The keys that a module may use. question: its folder in the room `questions`, else empty."""
    folders = (question, *CORES) if question else tuple(columns())
    names = {name for folder in folders for name in columns().get(folder, ())}
    names |= {field.name for record in RECORDS for field in fields(record)}
    return names | {*ratings.COLUMNS, *CORE_COLUMNS} | written(PACKAGE / room / question)


def others(folder: str) -> set[str]:
    """Those of OTHERS, by commas."""
    return {" ".join(key.split()) for key in OTHERS.get(folder, "").split(",")}


def unknown(path: Path, source: str) -> list[str]:
    """`MODULE:LINE KEY` for each key that nothing has."""
    room, question, *_ = path.relative_to(PACKAGE).parts
    question = question if room == "questions" else ""
    known = allowed(room, question) | others(f"{room}/{question}".rstrip("/"))
    place = path.relative_to(PACKAGE)
    return [f"{place}:{line} {key}" for line, key in keys(source) if not fits(key, known)]


MODULES = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]


def test_every_column_is_one_that_a_table_has() -> None:
    assert [slip for path in MODULES for slip in unknown(path, path.read_text())] == []


def test_no_key_is_allowed_that_nobody_uses() -> None:
    used: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        room, question, *_ = path.relative_to(PACKAGE).parts
        folder = f"{room}/{question}" if room == "questions" else room
        used[folder] |= {key for _, key in keys(path.read_text())}
    for folder in OTHERS:
        has = allowed(*f"{folder}/".split("/")[:2])
        needed = {key for key in used[folder] if not fits(key, has)}
        assert others(folder) - needed == set(), folder


def test_a_misspelt_column_is_found() -> None:
    """Each key of each module, one at a time with two letters exchanged, or one more."""
    planted, missed = 0, []
    for path in MODULES:
        for line, key in keys(path.read_text()):
            if slip := misspelt(key):
                planted += 1
                text = f"f{slip!r}".replace(HOLE, "{x}") if HOLE in slip else repr(slip)
                missed += [] if unknown(path, f"row[{text}]") else [f"{path}:{line} {slip}"]
    assert planted > 3_500
    assert missed == []


def misspelt(key: str) -> str:
    """The key with the last two letters of its longest piece exchanged; empty if an f-string has
    no piece of three letters.
    """
    piece = max(key.split(HOLE), key=len)
    if HOLE in key and len(piece) < 3:
        return ""
    exchanged = f"{piece[:-2]}{piece[-1:]}{piece[-2:-1]}"
    return key.replace(piece, exchanged if exchanged != piece else f"{piece}x")


def test_a_slip_in_a_copy_is_named() -> None:
    path = PACKAGE / "questions" / "select" / "answer.py"
    slips = unknown(path, path.read_text().replace('row["coverage"]', 'row["covrage"]', 1))
    assert len(slips) == 1
    assert re.fullmatch(r"questions/select/answer\.py:\d+ covrage", slips[0])
