"""What identifies a board's figures and its ensembles."""

from __future__ import annotations

from string import ascii_uppercase

from metal import __version__
from metal.billboard.cells import ALL_LANGUAGES
from metal.billboard.ensemble import BoardEnsemble
from metal.billboard.settings import BoardSettings
from metal.dataset import Dataset
from metal.signature import join


def signature(data: str, settings: BoardSettings, **about: object) -> str:
    """Program, data, what the figure is about, and every setting that moves it. data: Dataset.identity."""
    parts: dict[str, object] = {"metal": __version__, "data": data, "version": settings.version} | about
    parts |= {
        "ref": settings.reference or "all-people",
        "raters": "+".join(settings.raters),
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
    return join(parts)


def ensemble_signature(
    dataset: Dataset, settings: BoardSettings, found: BoardEnsemble, *, main: bool, languages: int
) -> str:
    """`ensemble.BOARD+refs.AB+version.1`, with criterion and language where the board has several.

    refs: a letter a reference, of the source that has the most. main: whether this is the criterion shown first.
    """
    most = max((len(source.references) for source in dataset.sources.values()), default=0)
    letters = ascii_uppercase[:most] if most <= len(ascii_uppercase) else str(most)
    parts = [f"ensemble.{dataset.card.name}", f"refs.{letters or 'none'}", f"version.{settings.version}"]
    parts += [] if main else [f"criterion.{found.criterion}"]
    parts += [] if languages < 2 else [f"language.{found.language or 'all'}"]
    return "+".join(part.replace("+", "%2B") for part in parts)


def language_shown(language: str) -> str:
    """`all` for all languages together."""
    return "all" if language == ALL_LANGUAGES else language
