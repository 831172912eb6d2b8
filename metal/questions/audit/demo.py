"""`metal.demo`: audits of the two datasets that come with METAL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.options import Progress, documented, no_progress

if TYPE_CHECKING:
    from metal.questions.audit.result import Audit


@documented
def demo(*, progress: Progress | None = None) -> dict[str, Audit]:
    """Audit the two datasets that come with METAL.

    `mlqe`: scores of the same 1,052 translations by three people per language pair and by Mixtral.
    The people and the judge are real. The dataset holds their scores, and says where to get the
    texts. `demo`: summaries in four languages, rated by people and four judges. Everything in it is
    invented so that every verdict occurs.

    Args:
        progress: Called with the number of cells done and of all cells, first for one audit, then
            for the other.

    Returns:
        The audits by the dataset's name. Nothing is written before `save`.

    Example:
        audits = metal.demo()
    """
    from metal.data.files import bundled
    from metal.questions.audit.verb import audit

    audits, here = {}, Path.cwd()
    for name in ("mlqe", "demo"):
        # as commands name it: a page need not tell whose disk it was made on
        folder = bundled(f"datasets/{name}")
        folder = folder.relative_to(here) if folder.is_relative_to(here) else folder
        audits[name] = audit(folder, progress=progress or no_progress)
    return audits
