"""What a submitted program may use, and how it is kept from writing more."""

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
    """Where a program writes, which depends on what the system allows.

    OWN: a file system of its own, in memory, with a fixed size. COUNTED: a folder on the disk;
    files are small, and each new one is counted while the program runs, which limits their total
    size wherever they are. NONE: nowhere.
    """

    OWN = "own"
    COUNTED = "counted"
    NONE = "none"


@dataclass(frozen=True)
class Limits:
    """What a submitted program may use.

    seconds: wall-clock time, for a run over all texts. memory_mb, file_mb: the size of memory, and
    of each file that it writes. Memory counts as the system counts addresses: libraries with many
    threads ask for more than they use. disk_mb, files: the size of all its files together, and
    their number, including folders and links. They are in memory, in addition to memory_mb; if the
    system allows no such file system, each file has to be small, and all files ever made are
    counted (see Disk). threads: how many at a time, checked several times a second.
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
        """How many files a program may make if it has no file system of its own."""
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
            return f"{size} per file, {self.disk_mb:,} MB and {self.files:,} files at a time"
        counted = f"{self.files_counted:,} files in all, a folder counted as {FOLDER}"
        return f"{size} per file and {counted}: this system grants it no file system of its own"
