"""What a stranger's program may use, and how it is kept from writing more."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum

from metal.errors import UsageError

MEGABYTE = 1 << 20
SMALL_FILE = 60 << 10  # bytes; 64 kB on the disk with the list of its parts
SMALL_FILES = 16  # a megabyte
FOLDER = 8  # files that a folder counts as: some disks take that much longer to delete one


class Disk(StrEnum):
    """Where a program writes: what holds depends on what the system allows.

    OWN: a file system of its own, in memory, with a size. COUNTED: a folder on the disk; files are
    small, and each that is made is counted for as long as the program runs, so that the sum has a
    bound wherever they go. NONE: nowhere.
    """

    OWN = "own"
    COUNTED = "counted"
    NONE = "none"


@dataclass(frozen=True)
class Limits:
    """What a stranger's program may use.

    seconds: by the clock, for a run over all texts. memory_mb, file_mb: of memory, and of each file
    it writes. Memory counts as the system counts addresses: libraries with many threads ask for
    more than they use. disk_mb, files: of all its files together, and their number, folders and
    links included. They lie in memory, beside memory_mb; where the system allows no such file
    system, each is small instead, and all ever made are counted (see Disk). threads: at a time,
    looked at several times a second.
    """

    seconds: float = 600
    memory_mb: int = 4096
    file_mb: int = 64
    disk_mb: int = 256
    threads: int = 512
    files: int = 16_384

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and min(asdict(self).values()) > 0):
            raise UsageError(f"limits {asdict(self)}: each must be above 0")

    @property
    def files_counted(self) -> int:
        """How many files a program may make that has no file system of its own."""
        return self.disk_mb * SMALL_FILES

    def file_bytes(self, disk: Disk) -> int:
        """How large one file may be."""
        if disk is Disk.NONE:
            return 0
        large = self.file_mb * MEGABYTE
        return large if disk is Disk.OWN else min(large, SMALL_FILE)

    def writing(self, disk: Disk) -> str:
        """What a program may write, in words that follow "it may write"."""
        if disk is Disk.NONE:
            return "nothing: this system cannot limit what it writes"
        each = self.file_bytes(disk)
        size = f"{each >> 20:,} MB" if each >= MEGABYTE else f"{each >> 10:,} kB"
        if disk is Disk.OWN:
            return f"{size} a file, {self.disk_mb:,} MB and {self.files:,} files at a time"
        counted = f"{self.files_counted:,} files in all, a folder counted as {FOLDER}"
        return f"{size} a file and {counted}: this system grants it no file system of its own"
