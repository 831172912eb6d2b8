"""The first screen of generated texts: how many there are, how many can be rated, and what is wrong
with the rest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from metal.data.languages import language_name
from metal.data.text import count, plural, within
from metal.questions.generate.run import GeneratedTexts
from metal.show.view import Remark


def headline(run: GeneratedTexts) -> str:
    """Say how many texts were written in how many languages, and how many are ready to be rated or
    flagged.
    """
    rows = run.records("languages")
    texts, chosen, flagged = (
        sum(row[name] for row in rows) for name in ("texts", "chosen", "flagged")
    )
    if not texts:
        why = f": {plural(run.not_asked, 'call')} not made yet" if run.not_asked else ""
        return f"No text was written{why}."
    written = sum(bool(row["texts"]) for row in rows)
    answer = (
        f"{plural(texts, 'text')} in {plural(written, 'language')}: {count(chosen)} ready to be"
        f" rated, {count(flagged)} flagged"
    )
    return (
        f"{answer}; {plural(run.not_asked, 'call')} not made yet."
        if run.not_asked
        else f"{answer}."
    )


def cards(run: GeneratedTexts) -> Iterator[Remark]:
    """Cards: the generator with the most flags, passages without a text to rate, and what to do
    next.
    """
    rows = [row for row in run.records("texts") if row["flagged"]]
    if rows:
        worst = max(rows, key=lambda row: (row["flagged"] / row["texts"], row["flagged"]))
        sentence = (
            f"{within(worst['generator'])} in {language_name(worst['language'])}:"
            f" {count(worst['flagged'])} of {plural(worst['texts'], 'text')} flagged"
            f" ({within(worst['reasons'])})."
        )
        yield Remark("Flagged texts", sentence)
    left = [row for row in run.records("languages") if row["without"]]
    if left:
        most = max(left, key=lambda row: row["without"] / row["passages"])
        sentence = (
            f"{plural(sum(row['without'] for row in left), 'passage')} in"
            f" {plural(len(left), 'language')}; in {language_name(most['language'])}"
            f" {count(most['without'])} of {count(most['passages'])}."
        )
        if not run.not_asked:
            flagged = ", or flagged texts as well (`keep_flagged`)," if rows else ""
            sentence += f" To get texts for them, use another model{flagged.rstrip(',')}."
        yield Remark("Passages without a text to rate", sentence)
    title, data = "What to do next", shlex.quote(str(run.data.get("path", "DATASET")))
    if run.not_asked:
        sentence = (
            f"{plural(run.not_asked, 'call')} not made yet. To make them (RUN is the folder of this"
            " run):"
        )
        yield Remark(title, sentence, "metal generate --resume RUN")
    elif any(row["chosen"] for row in run.records("languages")):
        yield Remark(title, "Give the texts to people:", f"metal annotate export {data} --to html")


def scope(run: GeneratedTexts) -> str:
    """The models that wrote the texts, for the line above the headline."""
    generators = run.rows("texts")["generator"].nunique()
    passages = sum(row["passages"] for row in run.records("languages"))
    return f"{plural(generators, 'generator')} · {plural(passages, 'passage')}"
