"""What a submitted program may use, and how METAL keeps it from writing more."""

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

    OWN: its own file system, in memory, with a fixed size. COUNTED: a folder on the disk; files are
    small, and each new file is counted while the program runs, which limits the total size of all
    files. NONE: it cannot write at all.
    """

    OWN = "own"
    COUNTED = "counted"
    NONE = "none"


@dataclass(frozen=True)
class Limits:
    """What a submitted program may use.

    seconds: wall-clock time for a run over all texts. memory_mb: the size of memory, counted as
    address space; libraries with many threads reserve more of it than they use. file_mb: the size
    of each file that the program writes. disk_mb, files: the total size and the number of its
    files, including folders and links. These files are in memory, in addition to memory_mb. If the
    system allows no such file system, each file has to be small, and all files ever made are
    counted (see Disk). threads: the number of threads at a time, checked several times a second.
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
        """How many files a program may make if its files are counted (Disk.COUNTED)."""
        return self.disk_mb * SMALL_FILES

    def file_bytes(self, disk: Disk) -> int:
        """How large one file may be."""
        if disk is Disk.NONE:
            return 0
        large = self.file_mb * MEGABYTE
        return large if disk is Disk.OWN else min(large, SMALL_FILE)

    def writing(self, disk: Disk) -> str:
        """What a program may write, as words that can follow "it may write"."""
        if disk is Disk.NONE:
            return "nothing: this system cannot limit what it writes"
        each = self.file_bytes(disk)
        size = f"{each >> 20:,} MB" if each >= MEGABYTE else f"{each >> 10:,} kB"
        if disk is Disk.OWN:
            return f"{size} per file, {self.disk_mb:,} MB and {self.files:,} files at a time"
        counted = f"{self.files_counted:,} files in all, a folder counted as {FOLDER}"
        return f"{size} per file and {counted}: this system grants it no file system of its own"
