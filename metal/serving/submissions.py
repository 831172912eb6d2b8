"""Submissions to boards on the server: taken and checked, queued, run, accepted, withdrawn."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from unicodedata import normalize

from sqlalchemy import Connection, func, insert, select, update

import metal
from metal.errors import MetalError, UsageError
from metal.serving import tables
from metal.serving.boards import SUBMISSION, BoardVisitor, ServedBoard, shut_out
from metal.serving.desk import TooMany
from metal.serving.handing import storable
from metal.serving.jobs import ServingJob, add_job
from metal.serving.ledger import ServingLedger
from metal.serving.submitted_files import (
    FILES,
    GENERATOR,
    GIVEN_SCORES,
    LARGEST_FILE,
    LARGEST_PROGRAM,
    PROGRAM,
    SCORES,
    file_of,
    forget,
    submitted,
    take_in,
)

WAITING, QUEUED, RUNNING, JOINED = "waiting", "queued", "running", "joined"
FAILED, REFUSED, WITHDRAWN = "failed", "refused", "withdrawn"
PENDING = (WAITING, QUEUED, RUNNING)
OPTIONS = {GENERATOR: ("allow_missing", "human", "family"), SCORES: ("direction", "signature"),
           PROGRAM: ("direction", "function")}  # fmt: skip
FLAGS = ("allow_missing", "human")  # options that are yes or no
LONGEST_DESCRIPTION, LONGEST_OPTION = 2_000, 200
NOT_RUN = -1  # versions that a board had before a submission ran, where it did not run yet
LONGEST_ARRIVAL = 86_400.0  # seconds after which a file without submission is left over
SECONDS_TO_CHECK = 30.0  # that a submission waits while others are checked
# sentences of METAL that end in a program's own words
SAID_BY_PROGRAMS = re.compile("^(not scored by [^:]*|.*? without score)[,:] .*", re.DOTALL)
PROGRAM_FAILED = (
    "the program could not score the board's outputs. Only the board's owner sees what it "
    "printed, because that could hold hidden texts. Try it on data of your own: metal submit "
    "metric"
)
TEAM_LEFT = "your team left the board before it ran"
NOT_WITHDRAWN = "it could not be withdrawn; mend this, and withdraw it again"
RUNS_AGAIN = "the worker ended while it ran; it runs again"
GIVEN_UP = "the worker ended twice while it ran; ask the board's owner"
_checking = threading.Semaphore(1)  # a board in memory at a time


@dataclass(frozen=True)
class BoardSubmission:
    """A submission as the ledger has it. version: with which it joined; 0 before."""

    id: str
    board: str
    team: int
    by: str
    kind: str
    name: str
    description: str
    options: Mapping[str, Any]
    state: str
    says: str
    full: str
    since: int
    version: int
    made: float

    @property
    def what(self) -> str:
        """What it is on the board."""
        return GENERATOR if self.kind == GENERATOR else "metric"

    def to_dict(self) -> dict[str, Any]:
        """What its team may read of it."""
        when = datetime.fromtimestamp(self.made, UTC).isoformat(timespec="seconds")
        plain = {"id": self.id, "kind": self.kind, "name": self.name, "state": self.state}
        more = {"description": self.description, "version": self.version or None, "at": when}
        return {**plain, **more, "log": self.says.splitlines()}


class NoSuchSubmission(UsageError):
    """A submission that is not there, or of another team."""

    def __init__(self) -> None:
        super().__init__("your team has no such submission on this board")


def submit(
    ledger: ServingLedger,
    root: Path,
    board: ServedBoard,
    team: BoardVisitor,
    fields: Mapping[str, Any],
    content: IO[bytes],
    scores: IO[bytes] | None = None,
) -> BoardSubmission:
    """Take a submission: its file goes to the disk, is checked as `metal submit` checks it, and
    waits for a worker, or for the owner.

    scores: of a generator, a table of its scores by metrics that cannot run on the server. Raises
    UsageError or DataError for a submission that cannot join, of which nothing is kept.
    """
    assert team.team is not None
    kind, name, description = _described(board, fields)
    options = _options(kind, fields)
    if scores and kind != GENERATOR:
        raise UsageError("`scores` go with a generator; those of a metric are its `file`")
    _check_budget(ledger, board, team.team)
    identity = secrets.token_hex(12)
    path = file_of(root, identity, kind)
    path.parent.mkdir(parents=True)
    try:
        take_in(content, path, LARGEST_PROGRAM if kind == PROGRAM else LARGEST_FILE)
        if scores:
            take_in(scores, path.with_name(GIVEN_SCORES), LARGEST_FILE)
            options["scores"] = True
        lines = _checked(board.folder(root), path, kind, name, options)
        row = {"id": identity, "board": board.id, "team": team.team, "kind": kind, "name": name}
        row |= {
            "description": description,
            "options": options,
            "says": "\n".join(lines),
            "full": "",
        }
        _queue(ledger, board, row)
    except BaseException:
        shutil.rmtree(path.parent)
        raise
    return submission_of(ledger, board.id, identity)


def _described(board: ServedBoard, fields: Mapping[str, Any]) -> tuple[str, str, str]:
    """The kind, name and description. Raises UsageError for what cannot be taken."""
    kind = str(fields.get("kind", ""))
    if kind not in FILES:
        raise UsageError(f"kind {kind[:40]!r}: a submission is {', '.join(FILES)}")
    if kind == PROGRAM and not board.rules.programs:
        raise UsageError("this board takes no programs; submit a table of scores")
    description = storable(str(fields.get("description", "")).strip())
    if len(description) > LONGEST_DESCRIPTION:
        raise UsageError(f"the description has more than {LONGEST_DESCRIPTION:,} characters")
    name = normalize("NFC", storable(str(fields.get("name", "")).strip()))
    return kind, name, description


def _options(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The further options of a kind, as the functions of `metal submit` take them."""
    options: dict[str, Any] = {}
    for option in OPTIONS[kind]:
        value = str(fields.get(option, "")).strip()
        if len(value) > LONGEST_OPTION:
            raise UsageError(f"{option} has more than {LONGEST_OPTION} characters")
        if value:
            options[option] = storable(value)
    for flag in options.keys() & set(FLAGS):
        options[flag] = options[flag].lower() in ("true", "on", "1", "yes")
    if options.get("direction", "higher") not in ("higher", "lower"):
        raise UsageError(f"direction {options['direction']!r}: write higher or lower")
    return options


def _checked(
    folder: Path, path: Path, kind: str, name: str, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """What the check of `metal submit` says. Its messages show no path of the server."""
    if not _checking.acquire(timeout=SECONDS_TO_CHECK):
        raise TooMany("many submissions arrive; send yours again in a minute")
    asked = _with_scores(path, {"name": name, **options})
    try:
        if kind == GENERATOR:
            return metal.submit_generator(folder, path, check=True, **asked).lines
        isolated = kind == PROGRAM
        return metal.submit_metric(folder, path, check=True, isolated=isolated, **asked).lines
    except MetalError as error:
        raise UsageError(without_paths(str(error), path, folder)) from None
    finally:
        _checking.release()


def _with_scores(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the path of the scores that came beside outputs, if any did."""
    if not options.get("scores"):
        return dict(options)
    return {**options, "scores": path.with_name(GIVEN_SCORES)}


def without_paths(message: str, path: Path, folder: Path) -> str:
    """A message in which the server's paths are names."""
    scores = path.with_name(GIVEN_SCORES)
    for name in (path, path.resolve(), scores, scores.resolve(), folder, folder.resolve()):
        message = message.replace(str(name), name.name)
    return message


def _check_budget(ledger: ServingLedger, board: ServedBoard, team: int) -> None:
    """Raise UsageError if a team has used up its submissions of this month."""
    spent = ledger.reads(lambda connection: spent_by(connection, board.id, team))
    if spent >= board.rules.budget:
        raise UsageError(
            f"your team has used its {board.rules.budget} submissions of this month (UTC)"
        )


def spent_by(connection: Connection, board: str, team: int) -> int:
    """How many submissions a team has made this month."""
    submission = tables.submissions
    month = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    counted = select(func.count()).where(
        submission.c.board == board,
        submission.c.team == team,
        submission.c.made >= month.timestamp(),
    )
    return int(connection.scalar(counted) or 0)


def _queue(ledger: ServingLedger, board: ServedBoard, row: Mapping[str, Any]) -> None:
    """Write a submission into the ledger, within its team's budget."""
    submission, team = tables.submissions, tables.teams
    state = WAITING if board.rules.moderated else QUEUED

    def write(connection: Connection) -> None:
        if connection.scalar(select(submission.c.id).where(submission.c.id == row["id"])):
            return  # a connection that broke after it was written
        lock = select(team.c.id).where(team.c.board == board.id).with_for_update()
        connection.execute(lock)  # submissions of a board enter one after another
        if spent_by(connection, board.id, row["team"]) >= board.rules.budget:
            raise UsageError(
                f"your team has used its {board.rules.budget} submissions of this month (UTC)"
            )
        same = select(submission.c.id).where(
            submission.c.board == board.id,
            submission.c.name == row["name"],
            submission.c.state.in_(PENDING),
        )
        if connection.scalar(same):
            raise UsageError(
                f"{row['name']!r} is submitted already and is waiting; give another `name`"
            )
        new = {**row, "state": state, "full": "", "since": NOT_RUN, "version": 0}
        connection.execute(insert(submission).values(**new, made=time.time()))
        if state == QUEUED:
            add_job(connection, SUBMISSION, {"submission": row["id"]})

    ledger.writes(write)


# ---------------------------------------------------------------- looking


def submission_of(
    ledger: ServingLedger, board: str, identity: str, team: int | None = None
) -> BoardSubmission:
    """A submission to a board. Raises NoSuchSubmission for one that is not there, or of another
    team than the one that is named.
    """
    rows = submissions_of(ledger, board, team, identity)
    if not rows:
        raise NoSuchSubmission
    return rows[0]


def submissions_of(
    ledger: ServingLedger, board: str, team: int | None = None, identity: str = ""
) -> list[BoardSubmission]:
    """The submissions to a board, the newest first; only those of a team if one is named."""
    submission, teams = tables.submissions, tables.teams
    columns = [column for column in submission.c if column.name != "team"]
    wanted = (
        select(*columns, submission.c.team.label("of_team"), teams.c.name.label("by"))
        .select_from(submission.join(teams, submission.c.team == teams.c.id))
        .where(submission.c.board == board)
        .order_by(submission.c.made.desc())
    )
    if team is not None:
        wanted = wanted.where(submission.c.team == team)
    if identity:
        wanted = wanted.where(submission.c.id == identity)
    rows = ledger.reads(lambda connection: connection.execute(wanted).mappings().all())
    return list(map(_submission, rows))


def _submission(row: Mapping[Any, Any]) -> BoardSubmission:
    fields = {name: value for name, value in row.items() if name != "of_team"}
    return BoardSubmission(**fields, team=row["of_team"])


# ---------------------------------------------------------------- the owner's choices


def accept(ledger: ServingLedger, board: str, identity: str) -> None:
    """Let a submission that waits for the owner run."""
    submission = submission_of(ledger, board, identity)

    def write(connection: Connection) -> None:
        if _moved(connection, submission.id, (WAITING,), {"state": QUEUED}):
            add_job(connection, SUBMISSION, {"submission": submission.id})

    ledger.writes(write)


def refuse(ledger: ServingLedger, board: str, identity: str, reason: str) -> None:
    """Refuse a submission that waits for the owner."""
    submission = submission_of(ledger, board, identity)
    line = "the board's owner refused it" + (f": {reason}" if reason else "")
    values = {"state": REFUSED, "says": f"{submission.says}\n{line}"}
    ledger.writes(lambda connection: _moved(connection, submission.id, (WAITING,), values))


def dismiss(ledger: ServingLedger, board: str, team: int) -> None:
    """Let a team leave: its links end, and what it submitted and did not run is taken back. What
    joined stays until it is withdrawn.
    """
    shut_out(ledger, board, team)
    for submission in submissions_of(ledger, board, team):
        says = f"{submission.says}\n{TEAM_LEFT}"
        note(ledger, submission, (WAITING, QUEUED), state=REFUSED, says=says)


def tidy(ledger: ServingLedger, root: Path) -> None:
    """Delete the files of submissions that are over; the board has its own copy of what joined.
    Also delete files that belong to no submission, because a server was killed while they arrived.
    """
    identities = submitted(root)
    if not identities:
        return
    table = tables.submissions
    wanted = select(table.c.id, table.c.state).where(table.c.id.in_(identities))
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    states = {str(identity): state for identity, state in rows}
    for identity, since in identities.items():
        left_over = identity not in states and time.time() - since > LONGEST_ARRIVAL
        if left_over or (identity in states and states[identity] not in PENDING):
            forget(root, identity)


def _moved(
    connection: Connection, identity: str, states: tuple[str, ...], values: Mapping[str, Any]
) -> bool:
    """Change a submission that is in one of these states; return whether it was."""
    submission = tables.submissions
    chosen = (submission.c.id == identity) & submission.c.state.in_(states)
    return connection.execute(update(submission).where(chosen).values(**values)).rowcount > 0


def note(
    ledger: ServingLedger, submission: BoardSubmission, states: tuple[str, ...], **values: Any
) -> bool:
    """Change a submission that is in one of these states; return whether it was."""
    return ledger.writes(lambda connection: _moved(connection, submission.id, states, values))


# ---------------------------------------------------------------- what a worker does


def run_submission(ledger: ServingLedger, root: Path, job: ServingJob) -> str:
    """Let a submission join its board. If another worker died after it had joined, it is not added
    again. Returns the problem, if there was one.
    """
    submission, board = _of_job(ledger, job)
    folder = board.folder(root)
    if submission.since == NOT_RUN:
        versions = len(metal.billboard_history(folder))
        note(ledger, submission, (QUEUED,), state=RUNNING, since=versions)
        submission = submission_of(ledger, board.id, submission.id)
    if submission.state != RUNNING or _noted_as_joined(ledger, folder, submission):
        return ""
    if job.given_up:
        raise UsageError(GIVEN_UP)
    if job.tries > 1:
        note(ledger, submission, (RUNNING,), says=f"{submission.says}\n{RUNS_AGAIN}")
        submission = submission_of(ledger, board.id, submission.id)
    path = file_of(root, submission.id, submission.kind)
    try:
        result = _join(folder, path, submission)
    except MetalError as error:
        if _noted_as_joined(ledger, folder, submission):
            return ""
        raise UsageError(without_paths(str(error), path, folder)) from None
    _note_joined(ledger, submission, result.version, (*result.lines, *result.protections))
    return ""


def for_team(lines: Iterable[str]) -> list[str]:
    """The lines of a log without what a program said: its words could carry hidden references and
    sources out of the board.
    """
    return [re.sub(SAID_BY_PROGRAMS, r"\1", line) for line in lines]


def fail(ledger: ServingLedger, job: ServingJob, problem: str) -> None:
    """Note that a submission failed for a reason that is not its team's."""
    submission, _ = _of_job(ledger, job)
    line = problem
    if submission.kind == PROGRAM and problem != GIVEN_UP:
        line = PROGRAM_FAILED
    says = "\n".join([submission.says, *for_team([line])])
    note(ledger, submission, (QUEUED, RUNNING), state=FAILED, says=says, full=problem)


def _of_job(ledger: ServingLedger, job: ServingJob) -> tuple[BoardSubmission, ServedBoard]:
    from metal.serving.boards import board_of

    identity = str(job.content["submission"])
    wanted = select(tables.submissions.c.board).where(tables.submissions.c.id == identity)
    board = board_of(ledger, str(ledger.reads(lambda connection: connection.scalar(wanted))))
    return submission_of(ledger, board.id, identity), board


def _join(folder: Path, path: Path, submission: BoardSubmission) -> Any:
    """Add the submission to its board, by the function of `metal submit`."""
    options = _with_scores(path, submission.options)
    options |= {"name": submission.name, "by": submission.by}
    if submission.kind == GENERATOR:
        return metal.submit_generator(folder, path, **options)
    return metal.submit_metric(folder, path, isolated=submission.kind == PROGRAM, **options)


def _noted_as_joined(ledger: ServingLedger, folder: Path, submission: BoardSubmission) -> bool:
    """Whether a submission has joined since it first ran; the ledger then says so."""
    history = metal.billboard_history(folder)
    same = (
        (history["version"] > submission.since)
        & (history["what"] == submission.what)
        & (history["name"] == submission.name)
        & (history["by"] == submission.by)
    )
    versions = history.loc[same, "version"]
    for version in versions[:1]:
        _note_joined(ledger, submission, int(version), ())
    return len(versions) > 0


def _note_joined(
    ledger: ServingLedger, submission: BoardSubmission, version: int, lines: tuple[str, ...]
) -> None:
    says, full = "\n".join([submission.says, *for_team(lines)]), "\n".join(lines)
    note(ledger, submission, (RUNNING,), state=JOINED, version=version, says=says, full=full)


def _withdraw(folder: Path, submission: BoardSubmission) -> None:
    """Take a submission off its board, unless another worker did and died."""
    try:
        metal.submit_withdraw(folder, submission.name, by="the board's owner")
    except MetalError:
        history = metal.billboard_history(folder)
        later = history[history["version"] > submission.version]
        if not ((later["what"] == "withdrawn") & (later["name"] == submission.name)).any():
            raise


def run_withdrawal(ledger: ServingLedger, root: Path, job: ServingJob) -> str:
    """Take a submission off its board. Returns the problem, if there was one."""
    submission, board = _of_job(ledger, job)
    if submission.state != JOINED:
        return ""
    try:
        _withdraw(board.folder(root), submission)
    except MetalError as error:
        before = (submission.full or submission.says).partition(f"\n{NOT_WITHDRAWN}")[0]
        note(ledger, submission, (JOINED,), full=f"{before}\n{NOT_WITHDRAWN}: {error}")
        return str(error)
    says = f"{submission.says}\nwithdrawn by the board's owner"
    note(ledger, submission, (JOINED,), state=WITHDRAWN, says=says, full="", description="")
    return ""
