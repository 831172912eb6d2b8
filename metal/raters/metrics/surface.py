"""BLEU, chrF, chrF++ and TER of single texts, computed by sacrebleu with tokens that suit the
language.

If a language is written without spaces, BLEU and TER over words would be all or nothing. So the
tokens are:

language              BLEU                                   TER
Chinese               sacrebleu's `zh`                       sacrebleu's Asian support
Japanese              `ja-mecab` where installed, else `char` sacrebleu's Asian support
Thai, Lao, Khmer, ... `char`                                 one token per character
others                `13a`                                  words

`tokenize=` sets one tokenizer for all languages. Several references are passed to sacrebleu
together. Texts are first brought to Unicode's composed form. Scores are on sacrebleu's scale: 0 to
100; for TER, from 0 (best) upwards without limit.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from metal.data.records import Direction
from metal.errors import UsageError
from metal.raters.metrics.contract import Answer, Asked, Item, Metric, MetricFactory, at_least_one
from metal.raters.metrics.words import HAN, JAPANESE, OTHER_UNSPACED, composed, script_of, spread

# those that download nothing
BLEU_TOKENS = ("auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")
SMOOTHING = ("exp", "floor", "add-k", "none")
TER_TOKENS = ("auto", "words", "asian", "char")


def bleu_tokens(language: str) -> str:
    """sacrebleu's name of the tokenizer for a language."""
    script = script_of(language)
    if script in HAN:
        return "zh"
    if script in JAPANESE:
        return "ja-mecab" if _has_mecab() else "char"
    return "char" if script in OTHER_UNSPACED else "13a"


def ter_tokens(language: str) -> str:
    """The units whose edits TER counts: `words`, `asian` (sacrebleu's characters of Chinese and
    Japanese) or `char`.
    """
    script = script_of(language)
    if script in HAN | JAPANESE:
        return "asian"
    return "char" if script in OTHER_UNSPACED else "words"


def open_bleu(asked: Asked) -> Metric:
    """Open `bleu(tokenize=, smooth=, lowercase=)`. Raises UsageError for a tokenizer that is not
    installed.
    """
    name, options = asked.fill(tokenize=BLEU_TOKENS, smooth=SMOOTHING, lowercase=False)
    chosen = str(options["tokenize"])

    @cache
    def scorer(tokenizer: str) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        try:
            return BLEU(
                tokenize=tokenizer,
                smooth_method=str(options["smooth"]),
                lowercase=bool(options["lowercase"]),
                effective_order=True,  # else a text of three words has no BLEU
            )
        except (RuntimeError, ImportError):
            raise UsageError(
                f"metric {name}: tokenizer {tokenizer} is not installed: pip install"
                f" 'sacrebleu[{tokenizer[:2]}]'"
            ) from None

    def score(item: Item) -> Answer:
        tokenizer = bleu_tokens(item.language) if chosen == "auto" else chosen
        return _score(scorer(tokenizer), item)

    if chosen == "auto":
        usual, japanese = _signature(scorer("13a")), _signature(scorer(bleu_tokens("ja")))
        _, _, rest = japanese.partition("|tok:")
        of_japanese, _, _ = rest.partition("|")
        others = ",".join(sorted(OTHER_UNSPACED))
        by_script = f"auto(Han:zh;Jpan:{of_japanese};{others}:char;else:13a)"
        signature = usual.replace("|tok:13a|", f"|tok:{by_script}|")
    else:
        signature = _signature(scorer(chosen))
    return _metric(name, "BLEU of a text, smoothed", score, signature)


def open_chrf(asked: Asked) -> Metric:
    """Open `chrf` or `chrf++` with the options char_order=, beta=, lowercase= and whitespace=."""
    from sacrebleu.metrics.chrf import CHRF

    word_order = 2 if asked.name == "chrf++" else 0
    name, options = asked.fill(char_order=6, beta=2, lowercase=False, whitespace=False)
    for key in ("char_order", "beta"):
        at_least_one(asked.name, key, options[key])
    settings: dict[str, Any] = dict(options)
    scorer = CHRF(word_order=word_order, **settings)
    summary = "F-score of rows of characters" + (" and of words" if word_order else "")
    metric = _metric(name, summary, partial(_score, scorer), _signature(scorer))
    # sacrebleu takes the reference with the highest F: asked one at a time, equal pairs of texts
    # are scored once.
    return replace(metric, multi_reference=False)


def open_ter(asked: Asked) -> Metric:
    """Open `ter(tokenize=, case_sensitive=, no_punct=)`."""
    name, options = asked.fill(tokenize=TER_TOKENS, case_sensitive=False, no_punct=False)
    chosen = str(options["tokenize"])

    @cache
    def scorer(tokenizer: str) -> Any:
        from sacrebleu.metrics.ter import TER

        asian = tokenizer == "asian"
        flags: dict[str, Any] = {key: options[key] for key in ("case_sensitive", "no_punct")}
        return TER(normalized=asian, asian_support=asian, **flags)

    def score(item: Item) -> Answer:
        tokenizer = ter_tokens(item.language) if chosen == "auto" else chosen
        return _score(scorer(tokenizer), item, spread if tokenizer == "char" else str)

    others = ",".join(sorted(OTHER_UNSPACED))
    units = f"auto(Han,Jpan:asian;{others}:char;else:words)" if chosen == "auto" else chosen
    signature = f"{_signature(scorer(chosen))}|units:{units}"
    return _metric(
        name, "edits and shifts to the reference / its length", score, signature, "lower", None
    )


def _metric(
    name: str,
    summary: str,
    score: Callable[[Item], Answer],
    signature: str,
    direction: Direction = "higher",
    high: float | None = 100.0,
) -> Metric:
    def scores(items: Sequence[Item]) -> list[Answer]:
        return list(map(score, items))

    return Metric(
        name,
        summary,
        scores,
        signature,
        direction=direction,
        low=0.0,
        high=high,
        multi_reference=True,
    )


def _score(scorer: Any, item: Item, prepare: Callable[[str], str] = str) -> Answer:
    output, *references = (prepare(composed(text)) for text in (item.text, *item.references))
    result = scorer.sentence_score(output, references)
    # BLEU of equal texts can be 100.00000000000004.
    return float(result.score) if result.name == "TER" else min(float(result.score), 100.0)


def _signature(scorer: Any) -> str:
    """sacrebleu's own signature, for any number of references, and the settings that METAL adds."""
    # it has no signature before it has seen references
    name = scorer.sentence_score("a", ["a"]).name
    scorer.num_refs = -1
    return f"sacrebleu|{name}|{scorer.get_signature().format()}|unicode:NFC"


@cache
def _has_mecab() -> bool:
    return all(map(importlib.util.find_spec, ("MeCab", "ipadic")))


BLEU = MetricFactory("BLEU of a text, 0 to 100 (sacrebleu)", open_bleu)
CHRF = MetricFactory(
    "F-score of character n-grams, 0 to 100 (sacrebleu); the safest across scripts", open_chrf
)
CHRF_PLUS_PLUS = MetricFactory("chrF with word n-grams, 0 to 100 (sacrebleu)", open_chrf)
TER = MetricFactory(
    "edits to reach the reference, 0 is best (sacrebleu); slow on texts of 50 words or more",
    open_ter,
)
