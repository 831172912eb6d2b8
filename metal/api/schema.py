"""`metal.schema`: the open format of METAL's records as JSON Schemas, and files compared with
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Option, StrPath, documented
from metal.data.files import parse_json
from metal.data.holdings import CRITERION_RECORD, EXPORTED, SIDECAR, is_export
from metal.errors import DataError, MetalError, UsageError, check_known

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.validating import Faults

RECORDS = ("rating", "rater", "criterion", "dataset", "source", "output", "verdict", "passport")
# The record of a file by its name.
NAMED = {
    "dataset.toml": "dataset",
    "passport.json": "passport",
    "verdicts.json": "verdict",
    **{f"{name}s.jsonl": name for name in ("rating", "rater", "source", "output")},
}
# The record of any other file by keys that its first one has; the first that fits.
MARKS = (
    ("passport", {"passport"}),
    ("verdict", {"judge", "verdict"}),
    ("rating", {"rater", "score"}),
    ("rating", {"rater", "output"}),
    ("rater", {"rater", "kind"}),
    ("output", {"output", "source"}),
    ("dataset", {"name", "criteria"}),
    ("source", {"source", "language"}),
    ("criterion", {"levels"}),
    ("criterion", {"range"}),
    ("criterion", {"measure"}),
)
SAMPLES = "_samples.jsonl"  # the end of a file of Every Eval Ever's samples
EEE_RECORD, EEE_SAMPLE = "Every Eval Ever record", "Every Eval Ever sample"
TABLES = (".parquet", ".csv")  # of ratings; others are read by `metal.read`


@dataclass(frozen=True)
class Validated:
    """What `metal.schema_validate` found in a file or folder.

    records: how many records were compared, by their kind. faults: a line for each fault, with its
    place, at most 100. more: how many faults there are beyond these.
    """

    path: Path
    records: Mapping[str, int]
    faults: tuple[str, ...] = ()
    more: int = 0

    @property
    def valid(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


@documented
def schema(name: str = "") -> dict[str, Any]:
    """Show the JSON Schema (draft 2020-12) of a record: rating, rater, criterion, dataset, source,
    output, verdict or passport.

    These records are METAL's open format: what dataset folders, runs, `metal.audit` and
    `metal.passport` write. Each schema has its version in `$id`; a change that makes valid files
    invalid gets the next version.

    Args:
        name: The record; without one, all of them.

    Returns:
        The schema; without a name, the schema of each record by its name.

    Raises:
        UnknownName: For a record that does not exist.

    Example:
        metal.schema("rating")["properties"]["score"]
    """
    from metal.api.record_schemas import schemas

    if name:
        check_known("record", [name], RECORDS)
        return schemas()[name]
    return dict(schemas())


@documented
def schema_validate(
    path: StrPath,
    *,
    record: Annotated[
        str | None,
        Option("What the file holds, if neither its name nor its keys say it.", choices=RECORDS),
    ] = None,
) -> Validated:
    """Compare a file (JSON, JSON Lines or TOML) with the schema of its records. In a dataset
    folder, a run folder or a folder of Every Eval Ever (its records and METAL's sidecar), every
    record is compared.

    If a folder of data has no faults, METAL also reads it to check that its parts fit together:
    each rating belongs to an output that exists, and its score is on the scale. A passport must
    have the SHA-256 of its content.

    Args:
        path: The file or folder.

    Returns:
        The faults, each with its place; nothing is raised for them.

    Raises:
        UsageError: If there is no such file or folder, or its records are not known.

    Example:
        metal.schema_validate("datasets/news").faults
    """
    from metal.data.validating import Faults

    faults = Faults()
    if Path(path).is_dir():
        _compare_folder(Path(path), record, faults)
    else:
        _compare_file(Path(path), record, faults)
    return Validated(Path(path), dict(faults.records), tuple(faults.lines), faults.more)


def _compare_folder(folder: Path, record: str | None, faults: Faults) -> None:
    """Compare every record of a dataset folder, a run folder or a folder of Every Eval Ever."""
    if record:
        raise UsageError(f"{folder}: `record` is for files; a folder says what its files hold")
    files = dict(_files_of(folder))
    theirs = [] if files else _files_of_eee(folder)
    if not files and not theirs:
        raise UsageError(
            f"{folder}: neither a dataset folder, nor a run folder, nor records of Every Eval Ever;"
            " give a file of records"
        )
    for file, kind in files.items():
        _compare_file(file, kind, faults)
    if theirs:
        _compare_eee(folder, theirs, faults)
    if (theirs or "dataset" in files.values()) and not faults.lines:
        _read_as_well(folder, faults)


def _files_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files of records in a dataset folder or run folder, each with its record."""
    for name, kind in (*NAMED.items(), ("run.toml", "criterion")):
        if (folder / name).is_file():
            yield folder / name, kind
    for ending in TABLES:
        if (folder / f"ratings{ending}").is_file():
            yield folder / f"ratings{ending}", "rating"
    if (folder / "tables" / "verdicts.json").is_file():
        yield folder / "tables" / "verdicts.json", "verdict"


def _files_of_eee(folder: Path) -> list[Path]:
    """The files of records in a folder of Every Eval Ever, without METAL's sidecar."""
    inside = [file.relative_to(folder) for file in folder.rglob("*.json*")]
    files = [folder / file for file in sorted(inside) if file.parts[0] != SIDECAR]
    if not any(file.name.endswith(SAMPLES) for file in files):
        return []
    return files


def _compare_eee(folder: Path, files: Iterable[Path], faults: Faults) -> None:
    """Compare records of Every Eval Ever with what METAL needs of them, and their sidecar."""
    from metal.api.record_schemas import eee_schemas
    from metal.data.validating import values_in

    for file in files:
        kind = EEE_SAMPLE if file.name.endswith(SAMPLES) else EEE_RECORD
        faults.compare(kind, eee_schemas()[kind], values_in(file, faults))
    for file, kind in _files_of(folder / SIDECAR):
        _compare_file(file, kind, faults)


def _compare_file(path: Path, record: str | None, faults: Faults) -> None:
    """Compare the records of a file. Raises UsageError if it is unknown which records the file
    holds.
    """
    from metal.api.record_schemas import schemas
    from metal.data.tables.first_names import first_names
    from metal.data.validating import values_in

    if path.is_file() and first_names(path) >= EXPORTED:
        _compare_export(path, faults)
        return
    if path.suffix in TABLES and path.is_file():
        _compare_table(path, faults)
        return
    if path.name == "run.toml":
        faults.compare("criterion", schemas()["criterion"], _criteria_of(path))
        return
    values = values_in(path, faults)
    kind = record or NAMED.get(path.name, "")
    if not kind:
        first = _first(values, faults)
        if not first:
            return
        kind, values = _kind_of(path, first[0][1]), chain(first, values)
    faults.compare(kind, schemas()[kind], values)
    if kind == "passport" and not faults.lines:
        _check_passport(path, faults)


def _first(values: Iterator[tuple[str, Any]], faults: Faults) -> list[tuple[str, Any]]:
    """The first record of a file with its place; none if the file has no record or cannot be
    read.
    """
    try:
        return list(islice(values, 1))
    except DataError as error:
        faults.add(error.where, error.problem)
        return []


def _kind_of(path: Path, value: object) -> str:
    """The kind of a record, recognized by its keys. Raises UsageError if it is no known record."""
    for kind, keys in MARKS:
        if isinstance(value, Mapping) and keys <= value.keys():
            return kind
    if is_export(path):
        problem = f"{path}: an export for another program, to which METAL's schemas do not apply"
        raise UsageError(f"{problem}; `metal.read(...)` says whether METAL can read it")
    raise UsageError(
        f"{path}: no record is known by its keys; name it: `record`, one of {', '.join(RECORDS)}"
    )


def _criteria_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The criteria in run.toml."""
    from metal.data.run_toml import read_run_toml

    for name, criterion in read_run_toml(path.parent)["criteria"].items():
        yield f"{path} criterion {name}", criterion


def _compare_table(path: Path, faults: Faults) -> None:
    """Compare a table of ratings. Its columns have types, so one row of each sort is compared."""
    from metal.api.record_schemas import schemas
    from metal.data.ratings import row_of
    from metal.data.ratings_files import read_facts

    try:
        facts = read_facts(path)
    except DataError as error:
        faults.add(error.where, error.problem)
        return
    sorts = _sorts(facts)
    first = facts[~sorts.duplicated()]
    plain = first.astype(object).where(first.notna(), None)
    rows = zip(first.index, plain.to_dict("records"), strict=True)
    located = ((row_of(path, int(row)), rating) for row, rating in rows)
    faults.compare("rating", schemas()["rating"], located)
    faults.records["rating"] += len(facts) - len(first)


def _compare_export(path: Path, faults: Faults) -> None:
    """Compare the ratings and criteria in a table that `metal.export` wrote, and read it."""
    from metal.api.record_schemas import schemas
    from metal.data.ratings import row_of
    from metal.data.tables.files import read_frame

    try:
        frame = read_frame(path).astype(object)
    except DataError as error:
        faults.add(error.where, error.problem)
        return
    if CRITERION_RECORD in frame:
        records = frame[CRITERION_RECORD].replace("", None).dropna()
        located = [(row_of(path, row), records[row]) for row in records.index]
        faults.compare("criterion", schemas()["criterion"], _parsed(located, faults))
    of_rating = [name for name in schemas()["rating"]["properties"] if name in frame]
    rows = _with_numbers(frame[of_rating]).to_dict("records")
    ratings = ((row_of(path, row), rating) for row, rating in enumerate(rows))
    faults.compare("rating", schemas()["rating"], ratings)
    if not faults.lines:
        _read_as_well(path, faults)


def _with_numbers(ratings: pd.DataFrame) -> pd.DataFrame:
    """Ratings with numbers where texts spell them, None without a number, and "" without a text."""
    import pandas as pd

    from metal.data.ratings import NUMBERS

    columns = {}
    for name in ratings:
        column = ratings[name]
        columns[name] = column.fillna("")
        if name in ("score", *NUMBERS):
            numbers = pd.to_numeric(column, errors="coerce").astype(object)
            columns[name] = numbers.where(numbers.notna(), column).where(column.notna(), None)
    return pd.DataFrame(columns)


def _parsed(located: Iterable[tuple[str, str]], faults: Faults) -> Iterator[tuple[str, Any]]:
    """The values of JSON texts with their places; what is no JSON is a fault."""
    for location, text in located:
        try:
            yield location, parse_json(text)
        except ValueError:
            faults.add(location, f"{CRITERION_RECORD} is not JSON")


def _sorts(facts: pd.DataFrame) -> pd.DataFrame:
    """The facts about a row that the schema of a rating looks at: whether there is a score and a
    reason, and whether the confidence is a probability.
    """
    import pandas as pd

    sorts = {"answered": facts["score"].notna(), "reason": facts["reason"].astype(str) != ""}
    if "confidence" in facts:
        confidence = facts["confidence"]
        sorts["probable"] = confidence.isna() | confidence.between(0, 1)
    return pd.DataFrame(sorts)


def _read_as_well(folder: Path, faults: Faults) -> None:
    """Read a folder. If reading it raises an error, that error is a fault."""
    from metal.api.read import read

    try:
        read(folder)
    except DataError as error:
        faults.add(error.where, error.problem)
    except MetalError as error:
        faults.add(folder, str(error))


def _check_passport(path: Path, faults: Faults) -> None:
    """Read a passport. If reading it raises an error, that error is a fault."""
    from metal.runs.passport import read_passport

    try:
        read_passport(path)
    except DataError as error:
        faults.add(error.where, error.problem)
