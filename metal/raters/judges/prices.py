"""Prices of tokens, and how many tokens a model thinks before an answer, from prices.toml and the
model's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.raters.judges.providers import called, find_provider

# How much a model thinks: parameters of providers, and the keys in them; and what says that it does
# not.
THINKING = (
    *("reasoning_effort", "reasoning", "effort", "thinking", "type", "budget_tokens"),
    *("thinking_config", "thinking_budget", "thinking_level"),
)
UNTHINKING, THOUGHTS = {"none", "minimal", "disabled", 0}, 500.0


@dataclass(frozen=True)
class Price:
    """A price in US dollars per million tokens. as_of: the date of the price list; empty for a
    price that the user set.
    """

    input: float
    output: float
    as_of: str = ""

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        """The cost of tokens in US dollars."""
        return (tokens_in * self.input + tokens_out * self.output) / 1e6

    def halved(self) -> Price:
        """The price of a batch at OpenAI, Azure, Google and Anthropic."""
        return Price(self.input / 2, self.output / 2, self.as_of)


@lru_cache(maxsize=1)
def _price_list() -> Mapping[str, Any]:
    return read_toml(Path(__file__).with_name("prices.toml"))


def listed_price(provider: str, model: str) -> Price | None:
    """The list price of a model in prices.toml; None if it has none."""
    listed = _listed(provider, model)
    return Price(listed[0], listed[1], str(_price_list()["as_of"])) if listed else None


def thoughts(provider: str, model: str, parameters: Mapping[str, Any]) -> float:
    """About how many tokens a model thinks before an answer: the listed number, unless its
    parameters say whether it thinks.
    """
    outer = list(map(parameters.get, THINKING))
    inner: list[Any] = []
    for each in outer:
        if isinstance(each, dict):
            inner += list(map(each.get, THINKING))
    if stated := [
        each
        for each in (*outer, *inner)
        if isinstance(each, str | int) and not isinstance(each, bool)
    ]:
        return 0 if UNTHINKING.intersection(stated) else THOUGHTS
    return (*_listed(provider, model), 0, 0, 0)[2]


def _listed(provider: str, model: str) -> list[float]:
    """The entry in prices.toml for a model's exact name, or for its name without the date; empty if
    there is none.
    """
    provider, name = called(provider, model)
    record = find_provider(provider)
    maker = record.maker or provider
    if record.names_maker:
        maker, _, name = name.rpartition(":")
    maker = "gemini" if maker == "google_genai" else maker  # LangChain's name of it
    prices = _price_list().get(maker)
    if not isinstance(prices, dict):
        return []
    for candidate in (name, re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4}|latest)$", "", name)):
        if candidate in prices:
            return list(map(float, prices[candidate]))
    return []
