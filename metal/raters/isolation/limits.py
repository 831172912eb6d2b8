"""What a stranger's program may use."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metal.errors import UsageError


@dataclass(frozen=True)
class Limits:
    """seconds by the clock for a run over all texts; megabytes of memory, and of each file it writes.

    Memory counts as the system counts addresses: libraries with many threads ask for more than they use.
    """

    seconds: float = 600
    memory_mb: int = 4096
    file_mb: int = 64

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds > 0 and self.memory_mb > 0 and self.file_mb > 0):
            raise UsageError(f"limits of {self.seconds} s, {self.memory_mb} MB, {self.file_mb} MB; give more than 0")
