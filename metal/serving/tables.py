"""The tables of the ledger: what a server must remember that is not in the dataset folders.

Times are seconds since 1970 (UTC). Secrets are kept only as hashes.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = 3  # of these tables; `metal.serving.ledger` upgrades older ones
Number = BigInteger().with_variant(Integer, "sqlite")  # what SQLite counts up by itself

metadata = MetaData()


def _key() -> Column[int]:
    return Column("id", Number, primary_key=True, autoincrement=True)


def _of(table: str, *, index: bool = False) -> Column[int]:
    name = "person" if table == "people" else table.removesuffix("s")
    return Column(name, ForeignKey(f"{table}.id"), nullable=False, index=index)


schema = Table("schema", metadata, Column("version", Integer, nullable=False))

# state: open, paused or closed. settings: see metal.serving.studies.StudySettings.
# dataset: the folder, relative to the server's.
studies = Table(
    "studies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("figures", JSON, nullable=False),
    Column("made", Float, nullable=False),
)

# What people are asked in a language, as it was when the study began.
forms = Table(
    "forms",
    metadata,
    Column("study", ForeignKey("studies.id"), primary_key=True),
    Column("language", Text, primary_key=True),
    Column("content", JSON, nullable=False),
)

# kind: rate; of a test question, its side (positive or negative). place: the order in which tasks
# are handed out. wanted: how many people are to answer; free: how many more it can be handed to.
tasks = Table(
    "tasks",
    metadata,
    _key(),
    Column("study", ForeignKey("studies.id"), nullable=False),
    Column("task", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("free", Integer, nullable=False),
    Column("answered", Integer, nullable=False),
    UniqueConstraint("study", "task"),
)
Index(
    "tasks_free",
    *(tasks.c.study, tasks.c.language, tasks.c.kind, tasks.c.place),
    sqlite_where=text("free > 0"),
    postgresql_where=text("free > 0"),
)

# How much of a study is out, for its budget: the database adds this up without reading the tasks.
tasks_out = Index("tasks_out", *(tasks.c.study, tasks.c.kind, tasks.c.wanted, tasks.c.free))

# What a task shows; apart, so that looking for a free task reads little.
shown = Table(
    "shown",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)

# state: active, excluded, withdrawn. qualified: passed, failed, or empty before. platform: what a
# crowd platform said of the person.
people = Table(
    "people",
    metadata,
    _key(),
    Column("study", ForeignKey("studies.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("languages", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("qualified", Text, nullable=False),
    Column("platform", JSON, nullable=False),
    Column("consent", Text, nullable=False),
    Column("consented", Float),
    Column("recovery", Text),
    Column("made", Float, nullable=False),
    UniqueConstraint("study", "name"),
)

# A board that the owner opened. dataset: the folder, relative to the server's. settings: see
# metal.serving.boards.BoardRules. seen: the state of the folder whose pages were made last.
boards = Table(
    "boards",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("seen", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("says", Text, nullable=False),
    Column("made", Float, nullable=False),
)

# Who submits to a board.
teams = Table(
    "teams",
    metadata,
    _key(),
    Column("board", ForeignKey("boards.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("made", Float, nullable=False),
    UniqueConstraint("board", "name"),
)

# kind: generator, metric-scores or metric-program. state: see metal.serving.boards. says: what its
# team may read of it; full: what the owner may read, with a program's own words. since: the
# versions that the board had before it ran. version: with which it joined, 0 before.
submissions = Table(
    "submissions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("board", ForeignKey("boards.id"), nullable=False, index=True),
    Column("team", ForeignKey("teams.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("says", Text, nullable=False),
    Column("full", Text, nullable=False),
    Column("since", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("made", Float, nullable=False),
)

# A link that lets somebody in. role: owner, rater, join, viewer or submitter.
links = Table(
    "links",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("study", ForeignKey("studies.id"), index=True),
    Column("person", ForeignKey("people.id"), index=True),
    Column("board", ForeignKey("boards.id")),
    Column("team", ForeignKey("teams.id")),
    Column("label", Text, nullable=False),
    Column("until", Float, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

# A browser that came by a link.
sessions = Table(
    "sessions",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("link", ForeignKey("links.hash"), nullable=False, index=True),
    Column("csrf", Text, nullable=False),
    Column("until", Float, nullable=False),
)

# Forms of the owner that make links. once: the name of the form, with what it makes. by: the
# attempt that carries it out. page: the path that shows what came of it.
sent = Table(
    "sent",
    metadata,
    Column("once", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("page", Text, nullable=False),
    Column("made", Float, nullable=False),
)

# state: held, answered, skipped or lapsed. until: when a held task may be given to somebody else.
handed = Table(
    "handed",
    metadata,
    _key(),
    _of("tasks"),
    _of("people"),
    Column("study", ForeignKey("studies.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("until", Float, nullable=False),
    UniqueConstraint("person", "task"),
)
Index(
    "handed_held",
    *(handed.c.study, handed.c.until),
    sqlite_where=text("state = 'held'"),
    postgresql_where=text("state = 'held'"),
)

# version rises with each change; kept is the version that the dataset has.
answers = Table(
    "answers",
    metadata,
    Column("handed", ForeignKey("handed.id"), primary_key=True),
    Column("study", ForeignKey("studies.id"), nullable=False),
    Column("scores", JSON, nullable=False),
    Column("comment", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("whole", Boolean, nullable=False),
    Column("consent", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kept", Integer, nullable=False),
)
Index(
    "answers_new",
    answers.c.study,
    sqlite_where=text("kept < version"),
    postgresql_where=text("kept < version"),
)

# Work for worker processes. state: waiting, running, done or failed. until: when a worker that runs
# it counts as dead. tries: how often it was begun.
jobs = Table(
    "jobs",
    metadata,
    _key(),
    Column("kind", Text, nullable=False),
    Column("about", JSON, nullable=False),
    Column("state", Text, nullable=False, index=True),
    Column("says", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("until", Float, nullable=False),
    Column("made", Float, nullable=False),
)
