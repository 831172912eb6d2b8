"""A passport in words: what it is, and what it does not say."""

from __future__ import annotations

from collections.abc import Sequence

from metal.auditing.verdict import AS_GOOD, LIKE_A_PERSON
from metal.questions.passport.run import Passport
from metal.runs.columns import Row
from metal.runs.passport import HASH_NOTE

SOURCES = {"Alone, beside people": "the rules of a verdict"}


def facts(run: Passport) -> dict[str, str]:
    """The file, its dates and its data."""
    content = run.content
    return {
        "Valid": f"From {content['issued']} until the day before {content['expires']}.",
        "The file": f"passport.json in the folder of this passport; SHA-256 {content['sha256']}.",
        "Issued from": (
            f"{content['data']['identity']} (digest {content['data']['digest']}),"
            f" {content['signature']}."
        ),
        "Do not conclude": (
            "That a judge may be used in another language, on another criterion, with another "
            "prompt or for other kinds of text."
        ),
        "What the hash guards against": HASH_NOTE.replace("sha256", "The SHA-256", 1),
    }


def definitions(run: Passport) -> dict[str, str]:
    """The definitions behind the page."""
    best = best_verdict(run.records("uses"))
    return {
        "Alone, beside people": (
            f"Alone: the verdict is *{best}*. With people: it is *informative*, so the judge makes"
            " people's figures more precise (`metal correct`) but does not replace people. No:"
            " any other verdict, or another run passed with the audit disqualifies the judge"
            " there."
        ),
        "Kept of what a person knows": "0 is a constant answer, 1 a person.",
        "How they were asked": (
            "Model, parameters and the hash of the prompt on each criterion, as `metal judge`"
            " recorded them; below the model are the versions that answered. A judge that is"
            " asked differently is another judge."
        ),
        "SHA-256": (
            "The hash is of the canonical content: the JSON without `sha256`, in ASCII, with "
            "sorted keys and no blanks."
        ),
    }


def best_verdict(rows: Sequence[Row]) -> str:
    """The audit's name for the best verdict; audits before version 0.2 have another name for it."""
    return AS_GOOD if any(row["verdict"] == AS_GOOD for row in rows) else LIKE_A_PERSON
