"""`metal.serve` and the functions of studies."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import (
    Force,
    Names,
    Option,
    PromptFolders,
    Seed,
    StrPath,
    TestQuestions,
    documented,
    names,
)
from metal.api.platforms import Say, silent
from metal.data.files import read_text
from metal.data.missing import no_such
from metal.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from metal.serving.server import Served as Served
    from metal.serving.studies import Study as Study

Database = Annotated[
    str,
    Option(
        "PostgreSQL for the ledger, e.g. postgresql+psycopg://USER@HOST/NAME. [default: a file in"
        " FOLDER; or METAL_DATABASE]",
        metavar="URL",
    ),
]
ServedFolder = Annotated[
    StrPath, Option("The folder that `metal.serve` serves.", metavar="FOLDER", rare=True)
]


@documented
def serve(
    folder: StrPath = ".",
    *,
    host: Annotated[str, Option("Address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[
        int | None, Option("Port. [default: 8642, or a free one]", metavar="N", least=1)
    ] = None,
    database: Database = "",
    root_path: Annotated[
        str, Option("Path under which a proxy shows it, e.g. /metal.", metavar="PATH")
    ] = "",
    https: Annotated[
        bool, Option("Browsers reach it by https, through a proxy; cookies then need it.")
    ] = False,
) -> Served:
    """Serve studies and boards on the web: people rate, teams submit, and you watch.

    A study asks people to rate the outputs of a dataset in their browsers. A board shows the
    rankings of a dataset to whom you allow, and takes generators and metrics from teams.

    The datasets of FOLDER stay the truth: answers and submissions come into them as people send
    them. The ledger (people, teams, links, who holds which task, answers, submissions) is in
    FOLDER/metal-serve.db, or in PostgreSQL.

    Everybody comes by a link of their own; only hashes of links are kept. The first start shows the
    owner's link; `metal.serve_token` makes a new one, which ends those before.

    Args:
        folder: Where the datasets are.

    Returns:
        The server at work. It ends with `stop()`, or with the program. Its `owner` is a new link of
        the owner.

    Raises:
        UsageError: If there is no such folder, if the port, the database or the path cannot be
            used, or if the extra `serve` is not installed.

    Example:
        metal.serve("datasets")
    """
    _check_extra()
    from metal.serving.server import begin

    return begin(
        _existing(folder),
        host=host,
        port=port,
        database=_database(database),
        root_path=root_path,
        https=https,
        worker=True,
    )


@documented
def study_new(
    data: StrPath,
    *,
    name: Annotated[
        str, Option("Name of the study. [default: the dataset's]", metavar="NAME")
    ] = "",
    languages: Annotated[Names, Option("Languages; default all.", "-l")] = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    template: Annotated[
        str | None, Option("How tasks look, as in `metal.annotate_export`.", metavar="NAME")
    ] = None,
    generators: Annotated[
        Names, Option("Only outputs of these generators.", "-g", metavar="NAME[,NAME]", rare=True)
    ] = (),
    raters: Annotated[int, Option("People who rate each output.", metavar="N", least=1)] = 3,
    one_more: Annotated[bool, Option("Ask one more person where people split.")] = False,
    people: Annotated[
        int, Option("Make links for N people of each language.", metavar="N", least=0)
    ] = 0,
    test_questions: TestQuestions = "",
    qualify: Annotated[
        int,
        Option(
            "Test questions that each person answers first, 80% of them rightly.",
            metavar="N",
            least=0,
        ),
    ] = 0,
    most: Annotated[
        int, Option("Outputs that one person may rate. [default: any number]", metavar="N", least=0)
    ] = 0,
    pay: Annotated[float, Option("What an answer costs.", metavar="X", least=0, rare=True)] = 0.0,
    budget: Annotated[
        float, Option("What all answers may cost.", metavar="X", least=0, rare=True)
    ] = 0.0,
    consent: Annotated[
        StrPath | None, Option("Text that people agree to before they rate.", metavar="FILE")
    ] = None,
    group: Annotated[str, Option("Group of the raters, e.g. native, expert, crowd.")] = "native",
    code: Annotated[
        str, Option("Completion code of a crowd platform.", metavar="TEXT", rare=True)
    ] = "",
    screen_out: Annotated[
        str,
        Option(
            "Code or address of a crowd platform for people who do not pass `qualify`.",
            metavar="TEXT",
            rare=True,
        ),
    ] = "",
    prompt_folders: PromptFolders = (),
    seed: Seed = 0,
    folder: ServedFolder = ".",
    database: Database = "",
    say: Say = silent,
) -> tuple[Study, list[tuple[str, str]]]:
    """Make a study: people will rate the outputs of a dataset on the server.

    People see what the forms of `metal.annotate_export` show. Every output gets `raters` people;
    nobody rates an output twice. The server does not have to run.

    A folder that `metal.adjudicate_plan(to="study")` wrote becomes a study, too: its adjudicators
    decide in their browsers, and their answers come into that folder as files.

    Args:
        data: The dataset's folder, or that of a plan, in the folder that is served.
        say: Called with each note.

    Returns:
        The study, and (person, path of their link) for each of `people`; the links are not shown
        again.

    Raises:
        UsageError: For a dataset elsewhere, a name that is taken, or nothing to rate.
        UnknownName: For an unknown language, criterion, generator or template.

    Example:
        study, links = metal.study_new("datasets/news", people=3)
    """
    _check_extra()
    from metal.running.handing_out import AskingPeople
    from metal.serving.making import begin_study
    from metal.serving.studies import StudySettings

    root = _existing(folder)
    asking = AskingPeople(
        languages=names(languages),
        criteria=names(criteria),
        generators=names(generators),
        template=template,
        test_questions=test_questions,
        seed=seed,
    )
    text = _text(consent)
    settings = StudySettings(
        raters=raters,
        one_more=one_more,
        most=most,
        qualify=qualify,
        pay=pay,
        budget=budget,
        consent=text,
        group=group,
        code=code,
        screen_out=screen_out,
        seed=seed,
    )
    with closing(_ledger(folder, database)) as ledger:
        return begin_study(
            ledger,
            root,
            Path(data),
            asking,
            settings,
            say,
            name=name,
            people=people,
            prompt_folders=tuple(map(str, prompt_folders)),
        )


def _text(file: StrPath | None) -> str:
    if file is None:
        return ""
    path = Path(file)
    if not path.is_file():
        raise no_such(path, "file")
    return read_text(path).strip()


@documented
def study_ls(folder: ServedFolder = ".", *, database: Database = "") -> list[dict[str, Any]]:
    """List the studies of a server, with their progress.

    Returns:
        A record for each study: study, dataset, state, answered (answers that are there), answers
        (those that are wanted), and its languages.

    Raises:
        UsageError: If there is no such folder, or the database cannot be used.

    Example:
        metal.study_ls("datasets")
    """
    _check_extra()
    from metal.serving.studies import all_studies, progress

    ledger = _ledger(folder, database)
    rows = []
    for study in all_studies(ledger):
        languages = progress(ledger, study.id)
        row = {"study": study.id, "dataset": study.dataset, "state": study.state}
        row["answered"] = sum(each["answered"] for each in languages)
        row["answers"] = sum(each["wanted"] for each in languages)
        rows.append({**row, "languages": languages})
    ledger.close()
    return rows


@documented
def serve_backup(
    out: StrPath,
    *,
    folder: ServedFolder = ".",
    database: Database = "",
    force: Force = False,
) -> Path:
    """Write a copy of a server's ledger, while the server is at work.

    The datasets are folders: copy them as you copy others. A ledger in PostgreSQL is backed up with
    `pg_dump`.

    Args:
        out: The file to write.

    Returns:
        The file.

    Raises:
        UsageError: If there is no ledger, it is in a database, or the file exists.

    Example:
        metal.serve_backup("ledger.db", folder="datasets")
    """
    from metal.serving.ledger import FILE, copy_of

    if _database(database):
        raise UsageError(
            "the ledger is in the database that `database` or METAL_DATABASE names; copy it with"
            " `pg_dump`"
        )
    ledger, target = _existing(folder) / FILE, Path(out)
    if not ledger.is_file():
        raise UsageError(f"{folder} has no ledger ({FILE}); nothing was served from it")
    if target.exists() and not force:
        raise UsageError(f"{target} exists; pass `force=True` to replace it")
    copy_of(ledger, target)
    return target


@documented
def serve_restore(file: StrPath, *, folder: ServedFolder = ".", database: Database = "") -> Path:
    """Put a copy of a ledger in the place of a server's, which must not run; the ledger there is
    kept beside it.

    Answers that are already in the datasets stay there. No new rater is given the name of a rater
    whose answers are in them.

    Args:
        file: What `metal.serve_backup` wrote.

    Returns:
        The ledger.

    Raises:
        UsageError: If the file is no ledger, the ledger is in a database, or a server is at work.

    Example:
        metal.serve_restore("ledger.db", folder="datasets")
    """
    from metal.data.files import new_file
    from metal.data.replacing import kept_name
    from metal.serving.ledger import FILE, ServingLedger, check_ledger, copy_of, stop_using
    from metal.serving.making import note_names_since

    if _database(database):
        raise UsageError(
            "the ledger is in the database that `database` or METAL_DATABASE names; restore it with"
            " `psql`"
        )
    target = _existing(folder) / FILE
    check_ledger(Path(file))
    if target.is_file():
        stop_using(target)
        with new_file(kept_name(target)) as kept:
            kept.touch(0o600)  # before anything is in it
            shutil.copyfile(target, kept)
        for ending in ("-wal", "-shm"):  # they belong to the ledger that is replaced
            target.with_name(target.name + ending).unlink(missing_ok=True)
    copy_of(Path(file), target)
    with closing(ServingLedger(Path(folder))) as ledger:
        note_names_since(ledger, Path(folder))
    return target


@documented
def serve_token(folder: ServedFolder = ".", *, database: Database = "") -> str:
    """Make a new owner's link; those before let nobody in any more.

    Returns:
        The path of the link, after the server's address.

    Raises:
        UsageError: If there is no such folder, or the database cannot be used.

    Example:
        metal.serve_token("datasets")
    """
    _check_extra()
    from metal.serving.owner_pages import renew_owner

    ledger = _ledger(folder, database)
    secret = renew_owner(ledger)
    ledger.close()
    return f"/owner/{secret}"


def _check_extra() -> None:
    from importlib.util import find_spec

    if not find_spec("sqlalchemy") or not find_spec("segno"):
        raise MissingExtra("metal serve", "serve")


def _existing(folder: StrPath) -> Path:
    start = Path(folder)
    if not start.is_dir():
        raise no_such(start, "folder")
    return start


def _database(address: str) -> str:
    import os

    return address or os.environ.get("METAL_DATABASE", "")


def _ledger(folder: StrPath, database: str) -> Any:
    from metal.serving.ledger import ServingLedger

    return ServingLedger(_existing(folder), _database(database))
