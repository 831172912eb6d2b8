"""What identifies a board's figures and its ensembles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from metal import __version__
from metal.boards.cells import ALL_LANGUAGES, OVERALL
from metal.boards.ensemble import BoardEnsemble
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset
from metal.data.records import METRIC_SCORE
from metal.data.text import signature_line


def signature(data: str, settings: BoardSettings, **about: object) -> str:
    """Program, data, what the figure is about, and every setting that changes it. data: Dataset.identity."""
    parts: dict[str, object] = {"metal": __version__, "data": data, "version": settings.version} | about
    parts |= {
        "ref": settings.reference or "all-people",
        "without": f"noisy@{settings.exclude_noisy}" if settings.exclude_noisy else "",
        "raters": "+".join(settings.raters),
        "langs": "+".join(settings.languages) if about.get("lang") == "all" else "",
        "common": "yes" if settings.common else "",
        "members": "+".join(settings.members),
        "nonzero": settings.nonzero,
        "alpha": settings.rule if settings.alpha is None else f"{settings.alpha:.10g}",
        "written": "+".join(settings.human_generators),
        "families": "+".join(f"{name}={family}" for name, family in settings.families.items()),
        "bs": settings.resamples,
        "perm": settings.permutations,
        "seed": settings.seed,
    }
    return signature_line(parts)


def ensemble_base(dataset: Dataset, ensemble: BoardEnsemble) -> str:
    """`ensemble.BOARD+refs.AB`, with criterion (unless overall) and language where the dataset has several.

    refs: a letter for each reference of the source that has the most. The name does not depend on what is ranked.
    """
    most = max((len(source.references) for source in dataset.sources.values()), default=0)
    letters = ascii_uppercase[:most] if most <= len(ascii_uppercase) else str(most)
    parts = [f"ensemble.{dataset.card.name}", f"refs.{letters or 'none'}"]
    several = len(set(dataset.criteria) - {METRIC_SCORE.name}) > 1
    parts += [f"criterion.{ensemble.criterion}"] if several and ensemble.criterion != OVERALL else []
    parts += [] if len(dataset.languages) < 2 else [f"language.{ensemble.language or 'all'}"]
    return "+".join(part.replace("+", "%2B") for part in parts)


def ensemble_signature(base: str, record: Mapping[str, Any], stored: Sequence[Mapping[str, Any]]) -> str:
    """`BASE+version.1`: the version of the stored ensemble that gives the same scores, else the next version."""
    version = 0
    for earlier in stored:
        head, _, number = str(earlier["ensemble"]).rpartition("+version.")
        if head != base:
            continue
        if _scoring(earlier) == _scoring(record):
            return str(earlier["ensemble"])
        version = max(version, int(number))
    return f"{base}+version.{version + 1}"


def _scoring(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What decides an ensemble's scores: ensembles with equal parts give every output the same score."""
    members = sorted(record["members"], key=lambda member: str(member["rater"]))
    numbers = [tuple(f"{member[key]:.9g}" for key in ("coefficient", "mean", "spread")) for member in members]
    return f"{record['intercept']:.9g}", [(member["rater"], member["signature"]) for member in members], numbers


def language_shown(language: str) -> str:
    """`all` for all languages together."""
    return "all" if language == ALL_LANGUAGES else language
