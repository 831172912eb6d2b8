"""A language-bias audit in words: what not to conclude, and what its figures mean."""

from __future__ import annotations

from metal.auditing.scored_outputs import MARGIN
from metal.questions.bias.between_languages import BESIDE, PEOPLE
from metal.questions.bias.run import LanguageBias

SOURCES = {
    "Quality held equal": "Carroll et al. 2006, chapter 4",
    "Even, leans": "Schuirmann 1987; Holm 1979",
    "Conditions": "McNemar 1947",
    "Noticed": "Wilson 1927",
    "Severity": "Linacre 1989; Bock and Aitkin 1981",
}


def facts(run: LanguageBias) -> dict[str, str]:
    """What the audit leaves open."""
    judges = {row["judge"] for row in run.records("language_bias")}
    parts = ["that a judge that is even here is even on other texts"] if judges != {PEOPLE} else []
    if PEOPLE in judges:
        parts.append(
            "that people are lenient or severe in a language: its outputs may be better or worse"
        )
    if any(row["by"] == BESIDE for row in run.records("language_bias")):
        parts.insert(
            0,
            "that the judge is biased: people of one language may be more severe than those of"
            " another",
        )
    return {"Do not conclude": f"{'; '.join(parts)}.".replace("that", "That", 1)}


def definitions(run: LanguageBias) -> dict[str, str]:
    """The definitions behind the page."""
    return {
        "Lean": (
            "How much more lenient the judge is in a language than in the mean of all "
            "languages, for equal quality, on the criterion's scale (reversed if lower is "
            "better). If languages share contents, it is measured on these contents; otherwise "
            "quality, as people see it, is held equal. Intervals are 95%, by the jackknife over "
            "contents or sources."
        ),
        "Even, leans": (
            f"Even: the 90% interval lies within {MARGIN:.0%} of the scale's range on either side"
            " of 0. Leans: not even, and not 0 at 5% after Holm's correction over the languages."
        ),
        "By sign flips": (
            "Tests whether contents get the same scores as in the pivot language, by flipping"
            " the signs of the differences; exact even for few contents; corrected by Holm"
            " over the languages."
        ),
        "Same contents": (
            "Each content has a level of its own and each language a shift; the shifts add up to 0."
        ),
        "Quality held equal": (
            "The judge's score regressed on people's mean, which is shrunk towards the"
            " language's mean by its reliability. Differences in people's severity within a"
            " language are removed. Undefined if the reliability is below 0.3."
        ),
        "With anchors": (
            "Quality held equal, plus people's own shift: how far their scores differ on contents"
            " that panels of several languages rated. What is left is due to the judge."
        ),
        "Naive": (
            "The usual figures: regression on people's raw mean, and judge minus people, each"
            " minus its mean over languages. When quality differs between languages, both find"
            " gaps that are not there."
        ),
        "Slope on quality": (
            "How closely the judge's score follows quality: 1 means as closely as people's "
            "scores, 0 not at all."
        ),
        "Other answer than in the pivot": (
            "Share of contents whose answer differs from that in the pivot language. More than "
            "when asked again (excess flips): this share minus the share of answers that change "
            "when the judge is asked again in the pivot language."
        ),
        "Severity": (
            "How severe a person is in a language, compared with those who rated the same "
            "outputs. In logits, a score depends on quality minus severity minus step "
            "(many-facet Rasch model, qualities integrated out). Severity is relative to the "
            f"group's mean. Intervals are by source. Severe, lenient: by more than {MARGIN:.0%} "
            "of the scale, and not 0 at 5% after Holm's correction. People who share no "
            "outputs, such as those of two languages, are never compared."
        ),
        "Conditions": (
            "An output judged with other instructions, or a changed output, compared with the "
            "original: the mean change, McNemar's exact test of worse against better, and how "
            "much closer the scores come to people's, as a share of the scale. “Even” and "
            "“changes” are defined like “even” and “leans” above."
        ),
        "Noticed": (
            "On criteria of language: the share of outputs in a wrong language or script whose"
            " score fell, among those that could fall. On other criteria: the share whose score"
            " changed. Intervals are Wilson's."
        ),
    }
