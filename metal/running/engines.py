"""Which engine a run folder needs, and which of its questions are in open batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metal.errors import UsageError
from metal.raters.judges.batch.ledger import FOLDER, open_calls
from metal.raters.judges.engine import EngineOptions

LOCAL, BATCH = "local", "batch"


@dataclass(frozen=True)
class How(EngineOptions):
    """An engine by name, and its options."""

    engine: str = LOCAL


def engine_of(out: Path) -> str:
    """The engine that a run continues with when it is resumed: the one it was begun with."""
    return BATCH if (out / FOLDER).is_dir() else LOCAL  # there before the first question is asked


def under_way(out: Path, how: How) -> set[bytes]:
    """The keys of questions in open batches. Raises UsageError when another engine would pay for them again."""
    keys = open_calls(out)
    if keys and how.engine != BATCH:
        raise UsageError(
            f'{out}: {len(keys):,} calls are in open batches; fetch them with `metal.judge(resume="{out}")`, or '
            f'cancel them with `metal.judge_cancel("{out}")`'
        )
    return keys
