"""Members of a zip file of anybody's, also those that zstd compressed, which Python's zipfile reads
from 3.14 on only.

Nothing is unpacked to the disk. A member may have MOST_BYTES, and if it is LARGE, MOST_RATIO times
the bytes of its compressed form. No more is read of it than it claims to have.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from types import TracebackType

from metal.errors import DataError

ZSTD = 93  # its number among the methods of compression in the zip format
MOST_BYTES = 1 << 29
LARGE = 1 << 24
MOST_RATIO = 200
BLOCK = 1 << 20
TAKE_IT_AGAIN = "Copy or download it again"


class Archive:
    """A zip file, opened in a `with`. names: of its members, in their order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            self._members = {member.filename: member for member in self._zip.infolist()}
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
            raise DataError(path, f"not a complete zip file ({error})", TAKE_IT_AGAIN) from None
        self.names = list(self._members)

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """The content of a member. Raises DataError if it is damaged, or too large."""
        member = self._members[name]
        most = min(MOST_BYTES, max(LARGE, member.compress_size * MOST_RATIO))
        if member.file_size > most:
            problem = (
                f"unpacked it has {member.file_size >> 20:,} MiB, of {member.compress_size:,} bytes"
            )
            remedy = "That does not look like a log; if it is one, export it as JSON or CSV"
            raise DataError(f"{self.path}: {name}", problem, remedy)
        try:
            content = self._decompressed(member)
            if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
                raise ValueError("its size or checksum is not the one that the archive states")
        except MemoryError:
            raise
        except Exception as error:  # pyarrow, zlib and zipfile each have kinds of their own
            first_line = next(iter(str(error).strip().splitlines()), "unreadable")
            problem = f"damaged ({first_line})"
            raise DataError(f"{self.path}: {name}", problem, TAKE_IT_AGAIN) from None
        return content

    def _decompressed(self, member: zipfile.ZipInfo) -> bytes:
        """The member's content: one byte more than it claims to have at most."""
        if member.compress_type != ZSTD:
            with self._zip.open(member) as opened:
                return opened.read(member.file_size + 1)
        if member.flag_bits & 1:
            raise ValueError("it is encrypted")
        import pyarrow as pa

        packed = pa.BufferReader(pa.py_buffer(self._packed(member)))
        parts: list[bytes] = []
        left = member.file_size + 1
        with pa.CompressedInputStream(packed, "zstd") as stream:
            while left > 0 and (part := stream.read(min(BLOCK, left))):
                parts.append(part)
                left -= len(part)
        return b"".join(parts)

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        """The member's compressed bytes, which follow its header of 30 bytes, its name and more."""
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            header = file.read(30)
            if header[:4] != b"PK\x03\x04" or len(header) < 30:
                raise ValueError("its header is missing")
            behind = (
                int.from_bytes(header[26:28], "little"),
                int.from_bytes(header[28:30], "little"),
            )
            file.seek(sum(behind), 1)
            packed = file.read(member.compress_size)
        if len(packed) < member.compress_size:
            raise ValueError("it is cut off")
        return packed
