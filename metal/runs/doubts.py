"""What an audit should say of a run of LLM judges."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from metal.data.dataset import Dataset
from metal.data.files import read_toml


def texts_digest(dataset: Dataset) -> str:
    """A hash of the outputs' and sources' texts: what judges have seen."""
    digest = blake2b(digest_size=8)
    for output in dataset.outputs.values():
        digest.update(f"{output.output}\0{output.text}\0{dataset.sources[output.source].text}\0".encode())
    return digest.hexdigest()


def doubts(run: Path, dataset: Dataset) -> Iterator[str]:
    """What an audit should say of a run of LLM judges: that it is not whole, or that the texts have changed since."""
    if not (run / "run.toml").is_file():
        return
    settings = read_toml(run / "run.toml").get("settings", {})
    state = settings.get("state", {})
    if "identities" in settings and not state.get("complete"):
        missing = f"{state['not_asked']:,} calls were not made" if "not_asked" in state else "it was not finished"
        yield f'{run} is not complete: {missing}; go on with `metal.judge(resume="{run}")`'
    if settings.get("texts", "") not in ("", texts_digest(dataset)):
        yield f"{run}: texts of the dataset have changed since its judges saw them"
