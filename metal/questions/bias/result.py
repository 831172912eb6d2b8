"""What `metal.bias_language` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.bias.run import BiasRun


class LanguageBias(Result, BiasRun):
    """How each judge treats each language."""

    shown = "language_bias"
