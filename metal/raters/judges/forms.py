"""The forms in which prose gives a verdict, each with its rank, and texts that only look like
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from metal.raters.judges.reply_words import Deferred, number_words, pattern_of, words_of

ASIDE, OTHER, QUOTED, OF_TOP, TIED, FINAL, STRUCTURED = range(7)

# ---------------------------------------------------------------- parts: numbers

NUMBER_WORDS = number_words("en")
# too short, or too common, to be looked for in English prose
NUMBER_WORDS_ELSEWHERE = number_words()
DIGITS = r"\d{1,9}(?:\.\d{1,15}|,\d{1,2})?"
# What makes a number another one: `4 and a half`, `four point five`, `three hundred`, `4 1/2`,
# `4½`.
_FRACTION = r"[\s-]+(?:and\s+a\s+half|point\s|hundred|thousand|\d/\d)|[\p{No}]"
# Not followed by the rest of a range (`3-4`, `3 to 4`), a percentage or a fraction.
_NOTHING_MORE = rf"(?!\s*(?:[-+=|]|\N{{EN DASH}}|to|or)\s*\d|\s*%|\s+percent|{_FRACTION})"
_NO_UNIT = r"(?!分(?!钟)|点)"  # 4分: four points
_NUMERAL = (
    rf"(?<![\w.,/#-])[-+\N{{MINUS SIGN}}]?{DIGITS}"
    rf"(?!{_NO_UNIT}\w|[.,:]\d|/\d+[/.]?\d*/|-\w){_NOTHING_MORE}"
)
_NO_PRONOUN = r"(?<!\b(?:this|that|which|no|choose|pick|select|each|every|any)\s)"  # choose one
_NUMBER_WORD = rf"\b(?=[zotfsen]){_NO_PRONOUN}(?:{'|'.join(NUMBER_WORDS)})\b(?!{_FRACTION})"
ANY_NUMBER = regex.compile(rf"\d|{_NUMBER_WORD}", regex.I)
# The same whatever stands around it, so that no text without one has a number once parts of it are
# blanked out.
NUMBER_ANYWHERE = regex.compile(rf"\d|\b(?=[zotfsen])(?:{'|'.join(NUMBER_WORDS)})\b", regex.I)
_BEGINS_NUMBER = rf"(?:[-+\N{{MINUS SIGN}}]?\d|\b(?=[zotfsen])(?:{'|'.join(NUMBER_WORDS)})\b)"
# A word that is followed by what it counts is no score: two towns, a four-year-old.
AFTER_WORD = (
    r"(?!-\p{L}|\s+(?!(?:stars?|points?|marks?|out|for|on|in|as|with|because|since|here|overall|due|"
    r"given|but|not|and|or|to|if)\b)\p{L})"
)
_SCORE_WORD = rf"{_NUMBER_WORD}{AFTER_WORD}"
_SCORE = rf"(?P<n>{_NUMERAL}|{_SCORE_WORD})"  # the number that a form reads
NUMBER = rf"(?:\d+(?:\.\d+)?|{_NUMBER_WORD})"  # any number, inside what is not a verdict
# The top of the scale: `/5`, ` out of 5`, ` stars out of a possible five`.
OUT_OF = (
    r"(?:\s*[/／]\s*|"
    r"\s+(?:(?:points?|marks?|stars?)\s+)?(?:\(\s*)?out\s+of\s+(?:a\s+(?:possible\s+|total\s+(?:of\s+)?)?)?)"
)
_WORD_ELSEWHERE = pattern_of(NUMBER_WORDS_ELSEWHERE)
_OUT_OF_ELSEWHERE = rf"\s+{pattern_of(words_of('out_of'))}\s+"
_TOP = rf"(?P<top>\d{{1,9}}(?:\.0+)?|{_NUMBER_WORD})"
OUT_OF_TOP = (
    rf"(?:(?:{OUT_OF}|{_OUT_OF_ELSEWHERE}){_TOP}|{_OUT_OF_ELSEWHERE}(?P<top>{_WORD_ELSEWHERE}))?+"
)
_GIVEN_TOP = rf"(?:\s+(?:out\s+of\s+{NUMBER}|\([^()\n]{{1,40}}\))(?=\s*[:=]))?"  # Score out of 5: 4
_STARS = r"\N{BLACK STAR}\N{WHITE MEDIUM STAR}"
_IS_NO_TOP = r"(?<!\bout\s+of\s+(?:an?\s+)?(?:possible\s+)?|/\s*)"  # not itself after `out of`

LETTERED = r"(?i:(?:assistant|response|output|answer|option)\s+)"  # Assistant A
LEVEL = regex.compile(r"\A(?:level|option)\s+(?=\d)", regex.I)  # Level 4

# ---------------------------------------------------------------- parts: words around a score

_SCORE_NOUN = (
    r"(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|verdict|grad(?:e|es|ed|ing)|mark|label|answer"
    r"|points?(?=\s*[:=]))"
)
# fluency_score, FluencyScore, but not perfect-scoring
_NOUN_BEGINS = r"(?:\b(?!(?<=-)(?:scor|rat|grad)(?:ing|ed)\b)|(?<=_)|(?-i:(?=Score|Rating)))"
_FINAL = (  # its final fluency score
    r"(?P<final>\b(?:final|overall|total|combined|composite|average)\b[*_]{0,3}\s+(?:\p{L}+\s+){0,2}?)?"
)
GIVE = (
    r"(?:giv(?:e|es|en|ing)|gave|(?:assign|award)(?:s|ed|ing)?|deserv(?:e|es|ing)|merit(?:s|ing)?|"
    r"rat(?:e|es|ed|ing)|choose)"
)
GET = (
    r"(?:choose\s+option|gets|got|receive[sd]|earn(?:s|ed)|say|go\s+with|"
    r"(?:settl|round|lower|rais|reduc|drop|fall)\p{L}*(?:\s+(?:it|up|down))?\s+(?:on|to|at)|"
    r"(?:(?:it|this)(?:['’]s|\s+is)|but)(?=\s+an?\b)|this\s+one)"
)
JUDGED = (
    r"(?:summary|text|output|answer|response|translation|passage|fluency|quality|relevance"
    r"|coherence|consistency)"
)
_ABOUT = r"(?:around|about|approximately|roughly|perhaps|maybe|probably|likely)"
_LINK = (
    rf"(?:\s*[:=：→]\s*|\s+[-\N{{EN DASH}}\N{{EM DASH}}]\s+|,\s+(?={_ABOUT})|"
    r"\s+(?:of|is|as|at|was|be|it|a|an|the|to|with|would be|should be)\s+)"
)
_PRAISE = (
    rf"(?:(?:an?|perfect|full|solid|{_ABOUT}|only|just|but"
    r"|(?:in|within)\s+the(?:\s+range\s+of)?)\s+)*"
)
_OPENING_MARKS = r"[\"'*_`(\[\s~≈$]*"
_CLOSING_MARKS = r"[\"'*_`)\]]*"
# Up to twelve words between a noun and its score; none of them compares the score with another.
_NOT_COMPARING = r"(?!(?:out|not|below|above|under|over|less|more|than|if|unless|between|from)\b)"
_WORDS_BETWEEN = rf"(?:,?\s+{_NOT_COMPARING}(?:\d{{1,3}}-)?[\p{{L}}'’-]+){{0,12}}?,?"
# The same between a noun and a label: nor does one of them turn the label round.
_NOT_NEGATING = (
    r"(?!(?:not?|nothing|none|never|neither|nor|hardly|cannot|without)\b|\p{L}+n['’]t\b)"
)
_PLAIN_WORDS_BETWEEN = rf"(?:\s+{_NOT_NEGATING}{_NOT_COMPARING}[\p{{L}}'’-]+){{0,8}}?"
_NEGATION = r"\b(?:not|cannot|never|\p{L}+n['’]t)\s+"
# Not followed by what it counts: it gives 4 examples.
_COUNTS_NOTHING = (
    r"(?!\s+(?!stars?|points?|for|on|in|as|with|because|since|here|overall|due|given|but|not)\p{L})"
)

THINGS = (
    r"(?:claim|fact|sentence|statement|detail|word|name|item|question|error|hallucination|mistake|issue|"
    r"problem|case|line)s?"
)
_COUNTED = rf"[ \t]+(?:(?:key|main|of\s+the|the)\s+)?{THINGS}\b"  # 4 out of 5 claims
_GIVE_OR_SCORE = r"(?:give|gave|rate|score|assign|award|grade|put|place|lean|estimate)"
_FOR = r"(?:for|on|in)"
_GIVE_IT = (
    rf"\b{GIVE}\b(?:\s+(?:it|this|that|them|the|one|its?|\p{{L}}+['’]s|{JUDGED})\b){{0,4}}"
    rf"\s+{_OPENING_MARKS}{_PRAISE}"
)
_I_GIVE = rf"\bI\b(?:['’]\p{{L}}+)?(?:\s+\p{{L}}+){{0,2}}?\s+{_GIVE_OR_SCORE}\b"
_LAST_BEGINS = (  # before what closes a text
    r"(?:\(|[.!?:;。"
    rf"！？]{_CLOSING_MARKS}\s+{_OPENING_MARKS}|\bno[,:]\s+|\n[^\w\n-]{{0,9}}+)(?:(?:level|option)\s+)?"
)
_BOXED = r"\\boxed\{(?:\\(?:text|math)\w*\{)?"
_CLAUSE = r"(?:[^\d\n\"“”]|[\"“][^\"“”\n]{0,300}[\"”]){1,120}?"  # what is judged, perhaps quoted

# The same in other languages of METAL, whose numbers may stand close to letters.
_OF_TOP_BEFORE = rf"(?:\s*{pattern_of(words_of('of_before'))}|(?:[分点]満?满?点?|段階)中)"
_BARE = rf"(?P<n>(?<![\d.,/-])[-+]?{DIGITS}(?![.,/:%]?\d|{_OF_TOP_BEFORE}){_NOTHING_MORE})"
UNIT = rf"(?:分(?!钟|之)|点(?![満满])|점(?!\s*만점)|{pattern_of(words_of('units'))})"
_FINAL_WORD = pattern_of(words_of("final"))
_FINAL_ELSEWHERE = rf"(?P<final>{_FINAL_WORD})"
NAMES_THE_WHOLE = Deferred(_FINAL_WORD, regex.I)  # note globale
_LINK_WORD = pattern_of(words_of("links"))
_UP_TO_NUMBER = (
    rf"[*_]{{0,3}}(?:\s*[:=：]\s*|\s+[-\N{{EN DASH}}\N{{EM DASH}}]\s+|\s*{_LINK_WORD}\s*|\s*)"
    r"[*_\"']{0,3}"
)
# A number word of these languages is a score where the clause ends with it: Puntuación: cuatro.
AFTER_WORD_ELSEWHERE = (
    rf"(?=[*_\"']{{0,3}}\s?{UNIT}?(?:\s*[.,;。！।(\n]|\s*\Z|{_OUT_OF_ELSEWHERE}))"
)
_BARE_WORD = rf"(?P<n>{_WORD_ELSEWHERE}){AFTER_WORD_ELSEWHERE}"
_NAME = r"^[ \t*_#\"'|-]{0,8}+\p{L}[\p{L}\p{M} \t]{1,30}+[*_]{0,3}+[:=：|]\s?[ *_\"']{0,4}+"
_LINE_BEGINS = rf"(?:{_NAME}|^[ \t*_#\"'|]{{0,8}}+)"
_LINE_ENDS = rf"{OUT_OF_TOP}{UNIT}?[ \t*_.。\"'|]{{0,6}}+$"

# ---------------------------------------------------------------- forms of a verdict

# A number that the text begins with: `2 (Good)`.
LEADING_NUMBER = Deferred(
    rf"\s*(?P<n>[-\N{{MINUS SIGN}}]?{DIGITS})(?=\s*[^\w.,/%?\s-]|\s+[-\p{{L}}]|\s*$)"
    rf"{_NOTHING_MORE}(?!{OUT_OF}\d)",
    regex.I,
)


@dataclass(frozen=True)
class Form:
    """A form of a verdict. rank: how much it counts. begins: a pattern of the form's beginning,
    which compiles and searches faster than the whole form.
    """

    rank: int
    begins: Deferred
    pattern: Deferred


def _form(rank: int, *, begins: str, pattern: str) -> Form:
    return Form(rank, Deferred(begins, regex.I | regex.M), Deferred(pattern, regex.I | regex.M))


FORMS = (
    # Score: 4 | Score out of 5: 4 | a score of 4 | I rate its fluency as a 4 | scores 4 | Final
    # score: 4
    _form(
        TIED,
        begins=rf"{_NOUN_BEGINS}{_SCORE_NOUN}\b{_CLOSING_MARKS}{_GIVEN_TOP}(?:{_WORDS_BETWEEN}{_LINK}|\s+)"
        rf"{_OPENING_MARKS}{_PRAISE}{_BEGINS_NUMBER}",
        pattern=rf"{_FINAL}{_NOUN_BEGINS}{_SCORE_NOUN}\b{_CLOSING_MARKS}{_GIVEN_TOP}(?:{_WORDS_BETWEEN}{_LINK}|\s+)"
        rf"{_OPENING_MARKS}{_PRAISE}{_SCORE}{OUT_OF_TOP}(?!{_COUNTED})",
    ),
    # Overall: 4 | Final evaluation: 4 | Average: 4 | overall fluency 4 | a combined average of 4
    _form(
        FINAL,
        begins=rf"\b(?:final|overall|average)\b(?:(?:\s+\p{{L}}+){{0,2}}{_CLOSING_MARKS}\s*[:=：]|"
        rf"(?:\s+\p{{L}}+)?\s+{JUDGED}\s|[,:]?\s+(?:of\s+)?{_BEGINS_NUMBER})",
        pattern=rf"\b(?:final|overall|average)\b(?:(?:\s+\p{{L}}+){{0,2}}{_CLOSING_MARKS}\s*[:=：]\s*|"
        rf"(?:\s+\p{{L}}+)?\s+{JUDGED}\s+){_OPENING_MARKS}{_SCORE}{OUT_OF_TOP}(?!{_COUNTED})|"
        rf"\b(?:overall[,:]?|average\s+of)\s+{_SCORE}{OUT_OF_TOP}(?=\s*(?:[.;,\n]|\Z))",
    ),
    # I would give it a 4 | it deserves a 4
    _form(
        TIED,
        begins=rf"{_GIVE_IT}{_BEGINS_NUMBER}",
        pattern=rf"{_GIVE_IT}{_SCORE}{OUT_OF_TOP}{_COUNTS_NOTHING}",
    ),
    # this gets 2 | I would go with a 4 | it falls to a 3
    _form(
        OTHER,
        begins=rf"\b{GET}\s",
        pattern=rf"\b{GET}\s+{_OPENING_MARKS}{_PRAISE}{_SCORE}{OUT_OF_TOP}{_COUNTS_NOTHING}",
    ),
    # I would score the translation "..." a 40 | I would rate it, all in all, as a 40
    _form(
        TIED,
        begins=_I_GIVE,
        pattern=rf"{_I_GIVE}{_CLAUSE}"
        rf"(?:[.:]|,\s+(?={_ABOUT})|\b(?:an?|as|at|(?<!out\s)of|be|is))\s*{_OPENING_MARKS}{_PRAISE}(?P<n>{_NUMERAL}){OUT_OF_TOP}"
        rf"{_COUNTS_NOTHING}",
    ),
    # 4 out of 5 | 4/5
    _form(
        OF_TOP,
        begins=r"[/／]|\bout\s",
        pattern=rf"(?P<n>(?<![\w.,/-]){DIGITS}|{_NUMBER_WORD}){OUT_OF}{_TOP}(?![\w/]|\.\d|{_COUNTED})",
    ),
    # <score>4</score> | \boxed{{\text{{4}}}} | [RESULT] 4
    _form(
        TIED,
        begins=r"<\w|\\boxed|\[RESULT\]",
        pattern=rf"(?:<\w{{1,20}}>|{_BOXED})\s?{_SCORE}{OUT_OF_TOP}\s?(?:</\w{{1,20}}>|\}})|\[RESULT\]\s*{_SCORE}{OUT_OF_TOP}",
    ),
    # (90 + 80) / 2 = 85
    _form(
        TIED,
        begins=rf"=\s*{_OPENING_MARKS}{_BEGINS_NUMBER}",
        pattern=rf"(?<=[\d)]\s*)=\s*{_OPENING_MARKS}{_SCORE}{OUT_OF_TOP}",
    ),
    # 5 üzerinden 4 | 4 из 5 | 4分
    _form(
        OTHER,
        begins=NUMBER,
        pattern=rf"(?P<top>\d{{1,9}}){_OF_TOP_BEFORE}\s*{_BARE}|(?<!满分为?){_BARE}(?:{_OUT_OF_ELSEWHERE}{_TOP}|\s?{UNIT})",
    ),
    # 100. The text ... | 75 - The text ...
    _form(
        TIED,
        begins=rf"\A[^\w\n-]{{0,9}}{_BEGINS_NUMBER}",
        pattern=rf"\A[^\w\n-]{{0,9}}{_SCORE}{OUT_OF_TOP}{_CLOSING_MARKS}"
        r"(?:\s*[.:;,(\n]|\s+[-\N{EN DASH}\N{EM DASH}])(?!\s*\d)",
    ),
    # ... therefore it is irrelevant (1). | ... as a whole. 4 | ... Level 4
    _form(
        TIED,
        begins=rf"{_LAST_BEGINS}{_BEGINS_NUMBER}",
        pattern=rf"{_LAST_BEGINS}{_SCORE}{OUT_OF_TOP}[\s.!\"'*_`)\]。]*\Z",
    ),
    # the same of a line
    _form(
        OTHER,
        begins=r"",
        pattern=(
            rf"^{_SCORE}(?:[.:]|\s+[-\N{{EN DASH}}\N{{EM DASH}}])\s+\p{{L}}|[.!?:;…。]\s+{_SCORE}["
            r" \t.*]{0,6}+$"
        ),
    ),
    # : trois sur cinq
    _form(OTHER, begins=r"", pattern=rf"[:：|][ \t*_\"']{{0,4}}{_BARE_WORD}{OUT_OF_TOP}"),
    # alone on a line
    _form(OTHER, begins=r"", pattern=rf"^[ \t*_#\"'|]{{0,8}}+{_SCORE}{_LINE_ENDS}"),
)
# Alone on a line after a name. Where such a line closes the reply, the others like it say as much:
# Style: 4 / Facts: 2
NAMED_LINE_BEGINS = Deferred(rf"{_NAME}{_BEGINS_NUMBER}", regex.I | regex.M)
NAMED_LINE = Deferred(rf"{_NAME}{_SCORE}{_LINE_ENDS}", regex.I | regex.M)
# Several of these on one line are scores for aspects: Clarity: 4. Accuracy: 2.
_ENDS_ASPECT = r"(?=[*_]{0,3}\s?(?:[.;,|](?!\d)|$))"
ENDS_IN_NUMBER = Deferred(rf"[:=：]\s?[*_]{{0,3}}{_BEGINS_NUMBER}", regex.I)
ASPECT = Deferred(
    r"(?:^[ \t*_#\"'|-]{0,8}+|[.;,|]\s{1,2}[*_]{0,3})"
    r"(?P<name>\p{L}[\p{L}\p{M} \t]{1,30}+)[*_]{0,3}+[:=：]\s?[*_]{0,3}"
    rf"{_SCORE}{OUT_OF_TOP}{_ENDS_ASPECT}",
    regex.I | regex.M,
)
_NAMES_THE_SCORE = Deferred(
    rf"\b(?:{_SCORE_NOUN}|points?|final|overall|total|average|combined|composite|result)\b|{_FINAL_WORD}|"
    rf"{pattern_of([noun.rstrip(':：') for noun in words_of('nouns')])}|\b(?:note|nota|not)\b",
    regex.I,
)


def aspects_in(text: str) -> list[Any]:
    """The scores for aspects in a line, if the line has several names and each is an aspect; empty
    otherwise.
    """
    if not ENDS_IN_NUMBER.search(text):
        return []
    aspects = list(ASPECT.finditer(text))
    names = {aspect["name"].strip().casefold() for aspect in aspects}
    return aspects if len(names) > 1 and not any(map(_NAMES_THE_SCORE.search, names)) else []


# 4 stars | Four stars, where they open or close a clause
COUNTED_STARS = Deferred(
    rf"{_IS_NO_TOP}(?P<opens>(?<=(?:\A|[.!?:;,(\n])[\s\"'*_]{{0,4}}))?{_SCORE}[\s-]*(?:stars?\b|[{_STARS}])"
    r"(?(opens)|(?=[\"'*_]*\s*(?:[.!?,;)\n]|\Z)))",
    regex.I | regex.M,
)
# 85 for meaning, 60 for grammar
ONE_OF_EACH = Deferred(rf"(?:,|;|\band)\s+(?:an?\s+)?{_BEGINS_NUMBER}", regex.I)
FOR_EACH = Deferred(
    rf"{_SCORE}{OUT_OF_TOP}\s+{_FOR}\s+\p{{L}}[^.;\d\n]{{0,40}}?(?:,|;|\band)\s+(?:an?\s+)?\d[^\s]*\s+{_FOR}\s|"
    rf"\b{_FOR}\s+\p{{L}}[^.;\d\n]{{0,40}}?(?:,|;|\band)\s+(?:an?\s+)?{_SCORE}{OUT_OF_TOP}\s+{_FOR}\s+\p{{L}}",
    regex.I,
)
# the meaning a 95 and the grammar as 90
_THING = r"\b(?:the|its)\s+\p{L}+(?:\s+\p{L}+){0,2}?\s+(?:(?:as|at|an?)\s+){0,2}"
ONE_OF_BOTH = Deferred(rf"\band\s+{_THING}{_BEGINS_NUMBER}", regex.I)
OF_BOTH = Deferred(
    rf"{_THING}{_SCORE}{OUT_OF_TOP}(?=,?\s+and\s+{_THING}{_BEGINS_NUMBER})|"
    rf"(?<={_THING}{DIGITS}(?:{OUT_OF}\d{{1,9}})?,?\s+and\s+){_THING}{_SCORE}{OUT_OF_TOP}",
    regex.I,
)
# ★★★☆☆ | ★★★½
STARS = regex.compile(
    # after no number: 3 ⭐
    rf"(?<![\p{{L}}\d\ufe0f{_STARS}][\s-]*)(?:[{_STARS}]\ufe0f?[ \t]?+)++(?P<half>\p{{No}})?"
)
STAR = regex.compile(rf"[{_STARS}]")
ANY_STAR = regex.compile(rf"stars?\b|[{_STARS}]", regex.I)


@lru_cache(maxsize=256)
def noun_pattern(nouns: tuple[str, ...]) -> Any:
    """The pattern of a number after a noun that is not English: `note de 3`, `スコアは3`."""
    noun = pattern_of(nouns)
    return regex.compile(
        rf"(?:{_FINAL_ELSEWHERE}\s*)?{noun}(?:\s*{_FINAL_ELSEWHERE})?{_UP_TO_NUMBER}"
        rf"(?:{_BARE}|{_BARE_WORD}){OUT_OF_TOP}",
        regex.I | regex.M,
    )


# Just after an object: {"score": 3} // out of 10
TOP_AFTER = Deferred(rf"[ \t]*\n?[ \t]*(?://|#)?[ \t]*(?:out\s+of|/)[ \t]*{_TOP}", regex.I)


@lru_cache(maxsize=64)
def keys_of(
    criterion: str, endings: tuple[str, ...] = ("", "_score", "_rating")
) -> tuple[str, ...]:
    """The keys under which an object may hold the score on a criterion: `fluency`,
    `fluency_score`.
    """
    name = regex.sub(r"[\s_-]+", "_", criterion.strip().lower())
    parts = [f"{name}{ending}" for ending in endings]
    return tuple(
        dict.fromkeys(part.replace("_", gap) for part in parts for gap in ("_", " ", "-", ""))
    )


@lru_cache(maxsize=64)
def label_pattern(labels: tuple[str, ...]) -> Any:
    """The pattern of a label as a verdict: after a noun of judging and a linking word; alone on a
    line; at the beginning; or (group `bold`) in bold, alone on a line after a name.
    """
    alternatives = "|".join(map(regex.escape, sorted(labels, key=len, reverse=True)))
    label = rf"(?P<label>{alternatives})"
    other_label = rf"\s*(?:/|or\b)\s*(?:{alternatives})\b"  # answer Good or Bad
    after_noun = (
        rf"(?:(?<!{_NEGATION}){_FINAL}\b{_SCORE_NOUN}\b[\"'*_`)\]]*"
        rf"{_PLAIN_WORDS_BETWEEN}{_LINK}{_OPENING_MARKS}{label}\b(?!{other_label}))"
    )
    alone_on_a_line = rf"(?:^[^\S\n]*[\"'*_`# -]{{0,12}}{label}[ \"'*_`.!]{{0,12}}$)"
    first = (
        rf"(?:\A[\"'*_`]{{0,4}}{label}[\"'*_`]{{0,4}}"
        r"(?:[,.:;!،。、，।]|\s+[(]|\s+[-\N{EN DASH}\N{EM DASH}]\s))"
    )
    in_a_tag, boxed = rf"<\w{{1,20}}>\s?{label}\s?</", rf"{_BOXED}\s?{label}\s?\}}"
    last = rf"(?:\bno[,:]|[.!?][\"'”’*_]*)\s+{label}[.!]?\s*\Z"
    bold = rf"\*\*{label}\*\*"
    it_is = rf"\b(?:it|{JUDGED})\s+is\s+(?<!{_NEGATION}[^.!?\n]{{0,60}}){label}[.!\"*]*\s*\Z"
    after_name = rf"{_LINE_BEGINS}{label}[ \t*_.。।\"'|]{{0,6}}$"
    forms = (after_noun, alone_on_a_line, first, in_a_tag, boxed, last)
    return regex.compile(
        rf"{'|'.join(forms)}|(?P<bold>{bold}|{it_is}|{after_name})", regex.I | regex.M
    )


@lru_cache(maxsize=64)
def enumeration_of(labels: tuple[str, ...]) -> Any:
    """The pattern of several labels in a row: Bad, Medium or Good."""
    longest_first = sorted(labels, key=len, reverse=True)
    label = rf"\b(?:{'|'.join(map(regex.escape, longest_first))})\b"
    return regex.compile(
        rf"{label}(?:[\"'*_]*\s*(?:[,/|、،]|\b(?:or|and)\b)[\s\"'*_]*(?:or\s+|and\s+)?{label})+",
        regex.I,
    )


@lru_cache(maxsize=16)
def letter_pattern(letters: tuple[str, ...]) -> Any:
    """The pattern of a capital letter as a verdict: `Answer: B`, `[RESULT] B`, or `B)` and `B` at
    the beginning of a line.
    """
    letter = rf"(?P<letter>[{''.join(map(regex.escape, letters))}])"
    nouns = r"(?i:\b(?:answer|choice|option|verdict|score|rating|grade))\b"
    asked = rf"(?:{nouns}[^\w\n]{{0,4}}(?:\s*(?i:is|would be)\s+)?|\[RESULT\])[^\w\n]{{0,4}}"
    return regex.compile(
        rf"(?:{asked}{LETTERED}?{letter}\b(?!['’]))|(?:^\W{{0,3}}{letter}(?:[).:]|\s*$))",
        regex.M,
    )
