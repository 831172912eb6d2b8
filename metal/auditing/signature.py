"""The signature of a figure: the same signature means the same figure."""

from __future__ import annotations

from metal import __version__
from metal.auditing.settings import AuditSettings
from metal.data.text import signature_line


def signature(data: str, settings: AuditSettings, **about: object) -> str:
    """The long form: program, data, what the figure is about, and every setting that moves it.

    data: Dataset.identity. about: judge, language (lang), criterion (crit), n, dropped, ... in this order;
    the separators | and : never occur unescaped in a value.
    """
    parts: dict[str, object] = {"metal": __version__, "data": data}
    parts |= about
    parts["agg"] = settings.aggregate
    parts["minr"] = settings.min_raters or "panel"
    if settings.reference:
        parts["ref"] = settings.reference.removeprefix("group=")
    if settings.exclude_noisy:
        parts["without"] = f"noisy@{settings.exclude_noisy}"
    parts["eps"] = "group" if settings.epsilon is None else f"{settings.epsilon:g}"
    if settings.wilcoxon:
        parts["small"] = "wilcoxon"
    parts["bs"] = settings.resamples
    parts["seed"] = settings.seed
    if settings.paper_compat:
        parts["compat"] = "paper"
    return signature_line(parts)


def short_signature(data: str, **about: object) -> str:
    """The short form, for captions: data and what the figure is about."""
    return signature_line({"metal": __version__, "data": data} | about)
