"""`metal.demo`: the datasets that come with METAL, audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metal.api.options import Progress, no_progress

if TYPE_CHECKING:
    from metal.api.results import Audit


def demo(*, progress: Progress | None = None) -> dict[str, Audit]:
    """Audit the two datasets that come with METAL.

    `mlqe`: what three people a language pair and Mixtral think of the same 1,052 translations. The people and the judge
    are real; the dataset holds their scores, and says where the texts are. `demo`: summaries in four languages, people
    and four judges, all constructed so that every verdict occurs.

    progress: called with the cells done and the cells in all, of one audit after the other.

    Returns the audits by the dataset's name. Nothing is written before `save`.
    """
    from metal.api.analyses import audit
    from metal.data.files import bundled

    datasets = ("mlqe", "demo")
    return {name: audit(bundled(f"datasets/{name}"), progress=progress or no_progress) for name in datasets}
