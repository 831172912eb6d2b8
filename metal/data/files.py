"""Files and folders: read JSON, JSON Lines and TOML with the place of a fault, and write folders.

A folder is written completely or not at all, and never over something that METAL did not write. A
folder is read in one state: even if another process replaces it, old and new files never mix. JSON
may contain half of a surrogate pair (`"\\ud800"`), which no UTF-8 file can; it becomes U+FFFD when
read.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import json
import os
import shutil
import time
import tomllib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import tee
from pathlib import Path
from typing import IO, Any, TypeVar

from metal.data.missing import no_such
from metal.data.progress import BYTES, counted_as
from metal.errors import DataError, UsageError

Read = TypeVar("Read")

LARGE = 1 << 28  # bytes that any packed file may have
LARGEST_TOML = 10 * 1024 * 1024  # bytes
MOST_RATIO = 100  # of the bytes of a larger one to those of its packed form
_PACKAGE = Path(__file__).resolve().parents[1]


def bundled(name: str) -> Path:
    """A bundled folder, such as `prompts` or `datasets/demo`. Raises UsageError if the installation
    lacks it.
    """
    for folder in (_PACKAGE.parent / name, _PACKAGE / "_bundled" / name):
        if folder.is_dir() and (folder.parts[-2:] != ("site-packages", name)):
            return folder
    raise UsageError(
        f"the folder {name!r} is missing from this installation of METAL; install metal-eval again"
    )


# ---------------------------------------------------------------- read and write


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark, which says whether it is UTF-8 or UTF-16.
    Raises DataError with the number of the line that is not.
    """
    return text_in(content_of(path), path)


def content_of(path: Path) -> bytes:
    """The bytes of a file; of a file called .gz those that were packed, if there are not
    unreasonably many. Raises DataError if there are, or if the file is damaged.
    """
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    most = max(LARGE, path.stat().st_size * MOST_RATIO)
    try:
        with gzip.open(path) as file:
            content = file.read(most + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(path, f"not readable as gzip ({error})", "Copy it again") from None
    if len(content) > most:
        problem = f"unpacked it has more than {most >> 20:,} MiB"
        raise DataError(path, problem, "If that is right, unpack it yourself")
    return content


def text_in(content: bytes, file: object) -> str:
    """The text of a file's bytes, without a byte order mark.

    file: the file's name for messages.
    """
    try:
        return content.decode(encoding_of(content))
    except UnicodeDecodeError as error:
        raise not_utf8(file, content[: error.start].count(b"\n"), error) from None


def encoding_of(content: bytes) -> str:
    """The encoding of text that begins with these bytes: UTF-16 if its mark is there, as in Excel's
    "Unicode text", or if one of the first two bytes is 0; else UTF-8.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    first, second = content[:1], content[1:2]
    if second == b"\0" != first:
        return "utf-16-le"
    return "utf-16-be" if first == b"\0" and second not in (b"", b"\0") else "utf-8-sig"


def read_json(path: Path, shape: str) -> Any:
    """The value in a JSON file.

    shape: what it should be, for the message if it is no JSON at all.
    """
    try:
        return json_in(content_of(path), path, f"It should be {shape}")
    except FileNotFoundError:
        raise no_such(path, "file") from None


def json_in(content: bytes, file: object, remedy: str) -> Any:
    """The value of a JSON file's text. Raises DataError with the number of the line that is not
    JSON.
    """
    try:
        return parse_json(text_in(content, file))
    except json.JSONDecodeError as error:
        raise DataError(f"{file} line {error.lineno}", f"not JSON ({error.msg})", remedy) from None


def parse_json(text: str, **reading: Any) -> Any:
    """The value of a JSON text, with U+FFFD for lone surrogates. Raises JSONDecodeError for any
    fault.

    reading: options of json.loads.
    """
    try:
        value = json.loads(text, **reading)
        halves = "\\ud" in text or "\\uD" in text
        return json.loads(whole_text(json.dumps(value, ensure_ascii=False))) if halves else value
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", text, 0) from None
    except ValueError:
        raise json.JSONDecodeError("a number of thousands of digits", text, 0) from None


def whole_text(text: str) -> str:
    """Text that UTF-8 can hold: lone halves of surrogate pairs become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _in_utf8(opened: IO[bytes], path: Path) -> IO[bytes]:
    """The bytes of a text file in UTF-8; those of other encodings are read as a whole."""
    encoding = encoding_of(opened.read(2))
    opened.seek(0)
    if encoding == "utf-8-sig":
        return opened
    return io.BytesIO(text_in(opened.read(), path).encode())


def read_jsonl(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """The row (from 0) and the object of each line of a JSON Lines file; blank lines are skipped.

    Raises DataError for the first line that is not UTF-8, not JSON or not an object.
    """
    packed = path.suffix.lower() == ".gz"
    with io.BytesIO(content_of(path)) if packed else path.open("rb") as opened:
        file = _in_utf8(opened, path)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        row, (lines, sized) = 0, tee(file)
        for number, line in enumerate(counted_as(lines, BYTES, size, map(len, sized))):
            try:
                text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise not_utf8(path, number, error) from None
            if not text:
                continue
            try:
                record = parse_json(text)
            except json.JSONDecodeError as error:
                problem = f"not JSON ({error.msg})"
                raise DataError(
                    f"{path} line {number + 1}", problem, "One JSON object per line"
                ) from None
            if not isinstance(record, dict):
                raise DataError(
                    f"{path} line {number + 1}",
                    "not a JSON object",
                    'One per line: {"output": ...}',
                )
            yield row, record
            row += 1


def not_utf8(path: object, row: int, error: UnicodeDecodeError) -> DataError:
    """The error for bytes that are not UTF-8.

    row: the number of lines before the fault.
    """
    return DataError(
        f"{path} line {row + 1}",
        f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
        "Save it as UTF-8; from Excel choose 'CSV UTF-8'",
    )


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line in UTF-8, completely or not at all; lone surrogates become
    U+FFFD.
    """
    with new_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            text = json.dumps(record, ensure_ascii=False)
            file.write(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") + "\n")


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file. Raises DataError with the place if it cannot be read, or is much
    larger than people and METAL write them.
    """
    if path.stat().st_size > LARGEST_TOML:
        problem = f"larger than {LARGEST_TOML // 2**20} MB, which no dataset and no run needs"
        raise DataError(path, problem, "Restore the file")
    try:
        return tomllib.loads(read_text(path))
    # also a number of thousands of digits, arrays in arrays without end
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not TOML ({error})", "See https://toml.io") from None


# ---------------------------------------------------------------- folders


def recover(folder: Path) -> None:
    """Remove what a killed process left next to `folder`. If the process died while replacing the
    folder, put the old one back.

    If a running process is just replacing the folder, wait for it.
    """
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.*"):
        _, process, ending = left.name.rsplit(".", 2)
        aside = ending.startswith(ASIDE)
        if not (ending in ("part", "old") or aside) or not process.isdigit():
            continue
        if _alive(int(process)):
            for _ in range(100 if ending == "old" or aside else 0):
                if folder.exists():
                    break
                time.sleep(0.01)
        elif (ending == "old" or is_aside(left)) and not folder.exists():
            with suppress(OSError):  # another reader was first
                os.replace(left, folder)
        elif is_aside(left):
            put_aside(left, folder)
        else:
            shutil.rmtree(left, ignore_errors=True)


ASIDE = "aside"
REPLACED = ".replaced"  # what is replaced is kept under this ending, one copy


def aside_name(folder: Path, content: Path) -> Path:
    """The name under which the old version of `folder` is kept while it is replaced.

    Something with this name is the old version only if it has this `content` (see is_aside).
    """
    return folder.with_name(f".{folder.name}.{os.getpid()}.{ASIDE}{content.stat().st_ino}")


def is_aside(left: Path) -> bool:
    """Whether this is the old version kept under `aside_name`, rather than its replacement."""
    inode = left.name.rpartition(f".{ASIDE}")[2]
    try:
        return inode.isdigit() and left.stat().st_ino == int(inode)
    except OSError:
        return False


def put_aside(old: Path, folder: Path) -> Path:
    """Give `old`, the replaced version of `folder`, the name under which it is kept. An older copy
    that had this name is deleted.
    """
    kept = folder.with_name(folder.name + REPLACED)
    if not os.path.lexists(kept):
        try:
            os.rename(old, kept)
            return kept
        except OSError:  # another process was first
            if not os.path.lexists(kept):
                raise
    exchange(kept, old)
    shutil.rmtree(old, ignore_errors=True)
    return kept


def exchange(folder: Path, other: Path) -> None:
    """Swap two folders: in one step or, if the system cannot do that, with a moment in which
    `folder` does not exist.
    """
    if in_one_step(folder, other):
        return
    between = other.with_suffix(".old")
    os.replace(folder, between)
    os.replace(other, folder)
    os.replace(between, other)


def in_one_step(folder: Path, other: Path) -> bool:
    """Swap two folders so that both names exist at every moment; return False if the system cannot
    do that.
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # it is Linux's
        here, exchange = -100, 2
        return not ctypes.CDLL(None).renameat2(
            here, os.fsencode(folder), here, os.fsencode(other), exchange
        )
    return False


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


@contextmanager
def held(folder: Path, how: str) -> Iterator[None]:
    """Lock the folder now at this path: LOCK_SH to read it, LOCK_EX to replace it.

    If folders cannot be locked on this system, it stays unlocked.
    """
    handle = None
    with suppress(ImportError, OSError):
        import fcntl

        while handle is None or not os.path.samestat(os.fstat(handle), folder.stat()):
            if handle is not None:
                os.close(handle)
                handle = None
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, getattr(fcntl, how))
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def of_one_state(folder: Path, read: Callable[[], Read]) -> Read:
    """The result of `read` on the files of a folder; `read` is called again if the folder or a file
    in it was replaced.

    From the third attempt on, processes that want to replace the folder have to wait, so that the
    reader can finish.
    """
    target, attempt = folder.resolve(), 0
    while True:
        attempt += 1
        with held(target, "LOCK_SH") if attempt > 2 else nullcontext():
            before = _state(target)
            recover(target)
            try:
                result = read()
            except Exception:  # old and new files together can fail in any way
                if before == _state(target):
                    raise
            else:
                if before == _state(target):
                    return result


def _state(folder: Path) -> tuple[int, int] | None:
    """A value that changes when a folder or a file in it is replaced; None if there is no
    folder.
    """
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def copy_others(folder: Path, target: Path, names: Collection[str]) -> None:
    """Copy the entries of `folder` to `target`, except those of these names; links stay links."""
    for entry in folder.iterdir():
        if entry.name in names:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name, follow_symlinks=False)


def check_outside(folder: Path) -> None:
    """Raise UsageError if the working directory is in a folder that is to be replaced, because it
    would be gone.
    """
    if Path.cwd().is_relative_to(folder.resolve()):
        raise UsageError(f"{folder} will be rewritten; run the command from a folder outside of it")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Lock `folder` for a process that reads it in order to replace it; others wait.

    The lock ends with the process, even if the process is killed.

    A process that holds the lock can take it again. The lock file stays next to the folder, for
    other users who may write there.
    """
    import filelock

    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(target.with_name(f".{target.name}.lock"), mode=0o666, is_singleton=True):
        yield


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write; it becomes `path` only if the block ends without an error."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_new(path: Path, content: str | bytes) -> None:
    """Write a file with this content (text in UTF-8); an existing file is replaced completely or
    not at all.
    """
    with new_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to every OSError of the block, because the error for a full disk does not
    name the file.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
