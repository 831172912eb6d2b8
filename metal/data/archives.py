"""Files in a .tar.gz, read in memory. Nothing is unpacked, so names in the archive lead nowhere."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from metal.errors import DataError

MOST_BYTES = 1 << 29  # of all files together, unpacked
ARCHIVES = (".tar.gz", ".tgz")


def is_archive(path: Path) -> bool:
    """Whether the file's name says that it is an archive."""
    return path.name.lower().endswith(ARCHIVES)


class _Limited:
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, stream: gzip.GzipFile, path: Path, most: int) -> None:
        self.stream, self.path, self.left = stream, path, most

    def read(self, size: int) -> bytes:
        content = self.stream.read(size)
        self.left -= len(content)
        if self.left < 0:
            problem = "too much in it for an archive that is read in memory"
            raise DataError(self.path, problem, "Unpack it, and give the file itself")
        return content


def files_in(path: Path, ending: str, most: int = MOST_BYTES) -> Iterator[tuple[str, IO[bytes]]]:
    """The name of each plain file with this ending, and the file opened: to be read before the next
    one. Links, devices and hidden files are skipped.

    most: the bytes that may be in the archive. Raises DataError if there are more, or if the file
    is damaged.
    """
    try:
        with gzip.open(path) as stream:
            limited: IO[bytes] = _Limited(stream, path, most)  # type: ignore[assignment]
            with tarfile.open(fileobj=limited, mode="r|") as archive:
                for member in archive:
                    name = member.name.rpartition("/")[2]
                    opened = archive.extractfile(member) if member.isreg() else None
                    if opened and name.endswith(ending) and not name.startswith("."):
                        yield name, opened
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        problem = f"not readable as .tar.gz ({' '.join(str(error).split())})"
        raise DataError(path, problem, "Take the file from the release again") from None
