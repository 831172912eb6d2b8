"""The forms in which prose gives a verdict, each with its rank, and what only looks like one."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import regex

ASIDE, OTHER, QUOTED, TIED, FINAL, STRUCTURED = range(6)

# ---------------------------------------------------------------- parts: numbers

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: float(value) for value, word in enumerate(_WORDS)}
_DIGITS = r"\d{1,9}(?:\.\d{1,15}|,\d{1,2})?"
# What makes a number another one: `4 and a half`, `four point five`, `three hundred`, `4 1/2`, `4½`.
_FRACTION = r"[\s-]+(?:and\s+a\s+half|point\s|hundred|thousand|\d/\d)|[\p{No}]"
# Not followed by the rest of a range (`3-4`, `3 to 4`), a percentage or a fraction.
_NOTHING_MORE = rf"(?!\s*(?:[-+=]|\N{{EN DASH}}|to|or)\s*\d|\s*%|\s+percent|{_FRACTION})"
_NO_UNIT = r"(?!分(?!钟)|点)"  # 4分: four points
_NUMERAL = rf"(?<![\w.,/-])[-\N{{MINUS SIGN}}]?{_DIGITS}(?!{_NO_UNIT}\w|[.,/:]\d|-\w){_NOTHING_MORE}"
_NUMBER_WORD = rf"\b(?<!\b(?:this|that|which|no)\s)(?:{'|'.join(NUMBER_WORDS)})\b(?!{_FRACTION})"
ANY_NUMBER = regex.compile(rf"\d|{_NUMBER_WORD}", regex.I)
_SCORE = rf"(?P<n>{_NUMERAL}|{_NUMBER_WORD})"  # the number that a form reads
_NUMBER = rf"(?:\d+(?:\.\d+)?|{_NUMBER_WORD})"  # any number, inside what is not a verdict
# The top of the scale: `/5`, ` out of 5`, ` stars out of a possible five`.
_OUT_OF = (
    r"(?:\s*/\s*|\s+(?:(?:points?|marks?|stars?)\s+)?(?:\(\s*)?out\s+of\s+(?:a\s+(?:possible\s+|total\s+(?:of\s+)?)?)?)"
)
_OUT_OF_ELSEWHERE = r"\s+(?:sur|von|из|من|kati\s+ya)\s+"
_TOP = rf"(?P<top>\d{{1,9}}(?:\.0+)?|{_NUMBER_WORD})"
_OUT_OF_TOP = rf"(?:(?:{_OUT_OF}|{_OUT_OF_ELSEWHERE}){_TOP})?+"
_GIVEN_TOP = rf"(?:\s+(?:out\s+of\s+{_NUMBER}|\([^()\n]{{1,40}}\))(?=\s*[:=]))?"  # Score out of 5: 4
_STARS = r"\N{BLACK STAR}\N{WHITE MEDIUM STAR}"
_IS_NO_TOP = r"(?<!\bout\s+of\s+(?:an?\s+)?(?:possible\s+)?|/\s*)"  # not itself after `out of`

LETTERED = r"(?i:(?:assistant|response|output|answer|option)\s+)"  # Assistant A
LEVEL = regex.compile(r"\A(?:level|option)\s+(?=\d)", regex.I)  # Level 4

# ---------------------------------------------------------------- parts: words around a score

_SCORE_NOUN = r"(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|verdict|grad(?:e|es|ed|ing)|mark|answer|points?)"
_NOUN_BEGINS = r"(?:\b|(?<=_)|(?-i:(?=Score|Rating)))"  # fluency_score, FluencyScore
_FINAL = r"(?P<final>\b(?:final|overall|total)\b[*_]{0,3}\s+(?:\p{L}+\s+){0,2}?)?"  # its final fluency score
_GIVE = (
    r"(?:giv(?:e|es|en|ing)|gave|(?:assign|award)(?:s|ed|ing)?|deserv(?:e|es|ing)|merit(?:s|ing)?|"
    r"rat(?:e|es|ed|ing)|choose)"
)
_GET = (
    r"(?:choose\s+option|gets|got|receive[sd]|earn(?:s|ed)|say|go\s+with|"
    r"(?:settl|round|lower|rais|reduc|drop|fall)\p{L}*(?:\s+(?:it|up|down))?\s+(?:on|to|at)|"
    r"(?:(?:it|this)(?:['’]s|\s+is)|but)(?=\s+an?\b)|this\s+one)"
)
_JUDGED = r"(?:summary|text|output|answer|response|translation|passage|fluency|quality|relevance|coherence|consistency)"
_LINK = (
    r"(?:\s*[:=：→]\s*|\s+[-\N{EN DASH}\N{EM DASH}]\s+|,\s+(?=around|about|perhaps|maybe)|"
    r"\s+(?:of|is|as|at|was|be|it|a|an|the|to|with|would be|should be)\s+)"
)
_PRAISE = r"(?:(?:an?|perfect|full|solid|around|about|approximately|roughly|perhaps|maybe|only|just|but)\s+)*"
_OPENING_MARKS = r"[\"'*_`(\[\s~≈$]*"
_CLOSING_MARKS = r"[\"'*_`)\]]*"
# Up to twelve words between a noun and its score; none of them compares the score with another.
_NOT_COMPARING = r"(?!(?:out|not|below|above|under|over|less|more|than|if|unless|between|from)\b)"
_WORDS_BETWEEN = rf"(?:,?\s+{_NOT_COMPARING}[\p{{L}}'’-]+){{0,12}}?,?"
# The same between a noun and a label: nor does one of them turn the label round.
_NOT_NEGATING = r"(?!(?:not?|nothing|none|never|neither|nor|hardly|cannot|without)\b|\p{L}+n['’]t\b)"
_PLAIN_WORDS_BETWEEN = rf"(?:\s+{_NOT_NEGATING}{_NOT_COMPARING}[\p{{L}}'’-]+){{0,8}}?"
_NEGATION = r"\b(?:not|cannot|never|\p{L}+n['’]t)\s+"
# Not followed by what it counts: it gives 4 examples.
_COUNTS_NOTHING = r"(?!\s+(?!stars?|points?|for|on|in|as|with|because|since|here|overall|due|given|but|not)\p{L})"

_THINGS = r"(?:claim|fact|sentence|statement|detail|word|name|item|question|error|mistake|issue|problem|case|line)s?"
_COUNTED = rf"[ \t]+(?:(?:key|main|of\s+the|the)\s+)?{_THINGS}\b"  # 4 out of 5 claims
_GIVE_OR_SCORE = r"(?:give|gave|rate|score|assign|award|grade|put|place|lean|estimate)"
_BOXED = r"\\boxed\{(?:\\(?:text|math)\w*\{)?"
_CLAUSE = r"(?:[^\d\n\"“”]|[\"“][^\"“”\n]{0,300}[\"”]){1,120}?"  # what is judged, perhaps quoted

# The same in other languages of METAL, whose numbers may stand close to letters.
_OF_TOP_BEFORE = r"(?:\s+üzerinden|\s+में\s+से|\s*এর\s+মধ্যে|(?:[分点]满?満?点?|段階)中)"
_BARE = rf"(?P<n>(?<![\d.,/-]){_DIGITS}(?![.,/:%]?\d|{_OF_TOP_BEFORE}){_NOTHING_MORE})"
_NOUN_ELSEWHERE = (
    r"(?:\b(?:une|la|ma)\s+note|\bnote(?=\s+(?:finale|globale))|оценк\p{L}|балл\p{L}*|\bpuan\p{L}*|स्कोर|अंक|স্কোর|"
    r"নম্বর|الدرجة|درجة|التقييم|评分|得分|分数|分(?=\s*[:：])|打|スコア|評価|点数|점수|\balama|\bbewertung)"
)
_FINAL_ELSEWHERE = (
    r"(?P<final>finale|globale|итогов\p{L}+|общ\p{L}+|nihai|toplam|genel|अंतिम|চূড়ান্ত|النهائي\p{L}?|最终|最終|综合|総合|总|"
    r"ya\s+mwisho)"
)
_UP_TO_NUMBER = r"(?:\s*[:=：]\s*|\s+[-\N{EN DASH}\N{EM DASH}]\s+|\s*(?:为|是|は|est)\s*|\s+(?:est\s+)?de\s+|\s*)"
_LINE_BEGINS = r"^[ \t*_#\"'|]{0,8}+(?:\p{L}[\p{L}\p{M} \t]{1,30}+[*_]{0,3}+[:=：|]\s?)?[ *_\"']{0,4}+"

# ---------------------------------------------------------------- forms of a verdict

# A number that the text begins with: `2 (Good)`.
LEADING_NUMBER = regex.compile(
    rf"\s*(?P<n>[-\N{{MINUS SIGN}}]?{_DIGITS})(?=\s*[^\w.,/%\s-]|\s+[-\p{{L}}]|\s*$){_NOTHING_MORE}(?!{_OUT_OF}\d)",
    regex.I,
)
FORMS = (
    # Score: 4 | Score out of 5: 4 | a score of 4 | I rate its fluency as a 4 | scores 4 | Final score: 4
    (
        TIED,
        rf"{_FINAL}{_NOUN_BEGINS}{_SCORE_NOUN}\b{_CLOSING_MARKS}{_GIVEN_TOP}(?:{_WORDS_BETWEEN}{_LINK}|\s+)"
        rf"{_OPENING_MARKS}{_PRAISE}{_SCORE}{_OUT_OF_TOP}",
    ),
    # Overall: 4 | Final evaluation: 4 | Average: 4 | overall fluency 4
    (
        FINAL,
        rf"\b(?:final|overall|average)\b(?:(?:\s+\p{{L}}+){{0,2}}{_CLOSING_MARKS}\s*[:=：]\s*|"
        rf"(?:\s+\p{{L}}+)?\s+{_JUDGED}\s+){_OPENING_MARKS}{_SCORE}{_OUT_OF_TOP}(?!{_COUNTED})",
    ),
    # I would give it a 4 | it deserves a 4
    (
        TIED,
        rf"\b{_GIVE}\b(?:\s+(?:it|this|that|them|the|one|its?|\p{{L}}+['’]s|{_JUDGED})\b){{0,4}}\s+"
        rf"{_OPENING_MARKS}{_PRAISE}{_SCORE}{_OUT_OF_TOP}{_COUNTS_NOTHING}",
    ),
    # this gets 2 | I would go with a 4 | it falls to a 3
    (OTHER, rf"\b{_GET}\s+{_OPENING_MARKS}{_PRAISE}{_SCORE}{_OUT_OF_TOP}{_COUNTS_NOTHING}"),
    # I would score the translation "..." a 40 | I would rate it, all in all, as a 40
    (
        TIED,
        rf"\bI\b(?:['’]\p{{L}}+)?(?:\s+\p{{L}}+){{0,2}}?\s+{_GIVE_OR_SCORE}\b{_CLAUSE}"
        rf"(?:[.:]|\b(?:an?|as|at|of|be|is))\s*{_OPENING_MARKS}{_PRAISE}(?P<n>{_NUMERAL}){_OUT_OF_TOP}"
        rf"{_COUNTS_NOTHING}",
    ),
    # 4 out of 5 | 4/5
    (TIED, rf"(?P<n>(?<![\w.,/-]){_DIGITS}|{_NUMBER_WORD}){_OUT_OF}{_TOP}(?![\w/]|\.\d|{_COUNTED})"),
    # 4 stars | Four stars
    (TIED, rf"{_IS_NO_TOP}{_SCORE}[\s-]*(?:stars?\b|[{_STARS}])"),
    # <score>4</score> | \boxed{{\text{{4}}}} | [RESULT] 4
    (TIED, rf"(?:<\w{{1,20}}>|{_BOXED})\s?{_SCORE}\s?(?:</\w{{1,20}}>|\}})|\[RESULT\]\s*{_SCORE}"),
    # (90 + 80) / 2 = 85
    (TIED, rf"(?<=[\d)]\s*)=\s*{_OPENING_MARKS}{_SCORE}"),
    # Je donne une note de 3 | スコアは3です
    (
        TIED,
        rf"(?:{_FINAL_ELSEWHERE}\s*)?{_NOUN_ELSEWHERE}(?:\s*{_FINAL_ELSEWHERE})?{_UP_TO_NUMBER}{_BARE}{_OUT_OF_TOP}",
    ),
    # 5 üzerinden 4 | 4 из 5 | 4分
    (
        OTHER,
        rf"{_TOP}{_OF_TOP_BEFORE}\s*{_BARE}|(?<!满分为?){_BARE}"
        rf"(?:{_OUT_OF_ELSEWHERE}{_TOP}|\s?(?:分(?!钟|之)|点(?![满満])|अंक|puan\b|балл))",
    ),
    # 100. The text ... | 75 - The text ...
    (
        TIED,
        rf"\A[^\w\n-]{{0,9}}{_SCORE}{_OUT_OF_TOP}{_CLOSING_MARKS}"
        r"(?:\s*[.:;,(\n]|\s+[-\N{EN DASH}\N{EM DASH}])(?!\s*\d)",
    ),
    # ... therefore it is irrelevant (1). | ... as a whole. 4 | ... Level 4
    (
        TIED,
        rf"(?:\(|[.!?:;。！？]{_CLOSING_MARKS}\s+{_OPENING_MARKS}|\bno[,:]\s+|\n[^\w\n-]{{0,9}}+)"
        rf"(?:(?:level|option)\s+)?{_SCORE}{_OUT_OF_TOP}[\s.!\"'*_`)\]。]*\Z",
    ),
    # the same of a line
    (OTHER, rf"^{_SCORE}(?:[.:]|\s+[-\N{{EN DASH}}\N{{EM DASH}}])\s+\p{{L}}|[.!?:;…。]\s+{_SCORE}[ \t.*]{{0,6}}+$"),
    # alone on a line, after the criterion's name or bare
    (OTHER, rf"{_LINE_BEGINS}{_SCORE}{_OUT_OF_TOP}[分点]?[ \t*_.。\"'|]{{0,6}}+$"),
)
PERCENT = regex.compile(r"(?<=(?:\A|\b(?:score|rating))[^\w\n]{0,6}\d{1,3}(?:\.\d+)?)\s*%", regex.I)  # Score: 85%
IN_BRACKETS = regex.compile(r"(?<=\w\W{0,9})\([^()\n]*\Z")  # a better text, in its view (score: 90)
QUOTATION = regex.compile(
    r"(?<=[\s(\[:,*_\N{EM DASH}])(?<![.!?\n]\s?)"
    r"(?:[\"“„][^\"“”„\n]+[\"”“]|«[^«»\n]+»|[‘'](?=\w)(?:[^'‘’\n]|['’](?=\w)){1,200}['’](?!\w))"
)
_SOMEBODY = (
    rf"(?:(?:(?:previous|last|other|another)\s+(?:one|rater|judge|reviewer|version|system|{_JUDGED})|human(?:\s+\p{{L}}+)?|"
    rf"reference(?:\s+{_JUDGED})?)(?:['’]s|\s+(?:{_GIVE}|{_GET}|has|had|was|an?|would|might|could|scored?)\b)|initially|"
    r"says|states|asks|asked\s+me|orders|claims(?=\s+(?:that|to|it|the|an?)\b)|tells|demands|instructs|wants|tries|"
    r"attempts|(?<!\b(?:that|which)\s)(?:contains|includes))"
)
# Those whose ratings the rated text tells of, or that are rated in it.
_OTHERS = (
    r"(?:customer|user|author|guest|reviewer|critic|client|visitor|viewer|reader|student|buyer|travell?er|magazine|article|"
    r"source|review|film|movie|book|restaurant|hotel|product|phone|game|album|show)s?"
)
# Just before a score that is another's, that somebody else speaks of, or that is hypothetical: the previous summary
# got | it says: Score: 5 | gives the hotel | it could have been | if it was (had it been) shorter, it would get
BORROWED = regex.compile(
    rf"(?i)\b(?:{_SOMEBODY}|(?<!\b(?:even|as)\s)if|(?:could|would|might|should)(?:\s+not)?\s+have(?!\s+to\b)|"
    rf"(?<!\bI\s+)(?:gives|gave)\s+the\s+(?!{_JUDGED}\b)\p{{L}}+|"
    rf"{_OTHERS}\s+(?:gave|gives?|rated?|rates|award(?:s|ed)|earn(?:s|ed)|got|received)|"
    r"(?:if\s+(?!I\b|forced)|had\s+(?:it|the|this)\s)[^.!?;\n]+,\s[^.!?;,\n]*\b(?:would|could))\b"
    r"(?:[\s:\"“‘'(*]+(?!(?:I|my|so|but|which|this)\b|and\b(?!\s+(?:give|rate|score|answer|assign|award|return|say)\b))"
    r"[\p{L}'’]+){0,12}[^\w.!?;,]*\Z",
)
# Just after a score that is hypothetical or asked about: (would be 5) if it was shorter | (Score: 5)?
DOUBTED = regex.compile(
    r"(?i)(?<=\b(?:would|could|might)\b[^.!?;\n]{0,80})[^\w.!?;\n]*(?:\p{L}+\s+){0,3}?(?<!\b(?:even|as)\s)(?:if|unless)\b"
    r"(?!\s+(?:I|forced)\b)|\s*(?:\p{L}+\s*)?[\"'*_]*\?",
)
# Just after a number: (Good)
NAMED = regex.compile(rf"(?im){_OUT_OF_TOP}[*_\s]*[(=:][\s\"'*_]*(?P<label>\p{{L}}[\p{{L}}\s-]*)[\"'*_]*\s*(?:[).;]|$)")
REFUSAL = regex.compile(r"\W*(?:I\s+)?(?:refuse|decline|cannot|can['’]t|unable|n/?a|none|no)\b", regex.I)
REASONING = regex.compile(r"<(reasoning|explanation|justification|rationale|analysis)>.*?</\1>", regex.I | regex.S)
# ★★★☆☆ | ★★★½
STARS = regex.compile(
    rf"(?<![\p{{L}}\d\ufe0f{_STARS}][\s-]*)(?:[{_STARS}]\ufe0f?[ \t]?+)++(?P<half>\p{{No}})?"  # after no number: 3 ⭐
)
STAR = regex.compile(rf"[{_STARS}]")


@cache
def form_pattern(form: str) -> Any:
    """One of FORMS, compiled when it is first needed: that takes a while."""
    return regex.compile(form, regex.I | regex.M)


@lru_cache(maxsize=64)
def keys_of(criterion: str, endings: tuple[str, ...] = ("", "_score", "_rating")) -> tuple[str, ...]:
    """The keys under which an object may hold the score on a criterion: `fluency`, `fluency_score`."""
    name = regex.sub(r"[\s_-]+", "_", criterion.strip().lower())
    parts = [f"{name}{ending}" for ending in endings]
    return tuple(dict.fromkeys(part.replace("_", gap) for part in parts for gap in ("_", " ", "-", "")))


@lru_cache(maxsize=64)
def label_pattern(labels: tuple[str, ...]) -> Any:
    """A label as a verdict: after a noun of judging and a link, alone on a line, at the beginning; or (group `bold`) in
    bold, alone on a line after a name.
    """
    alternatives = "|".join(regex.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = rf"(?P<label>{alternatives})"
    return regex.compile(
        rf"(?:(?<!{_NEGATION}){_FINAL}\b{_SCORE_NOUN}\b[\"'*_`)\]]*{_PLAIN_WORDS_BETWEEN}{_LINK}{_OPENING_MARKS}{label}\b"
        rf"(?!\s*(?:/|or\b)\s*(?:{alternatives})\b))"  # and not: answer Good or Bad
        rf"|(?:^[^\S\n]*[\"'*_`# -]{{0,12}}{label}[ \"'*_`.!]{{0,12}}$)"
        rf"|(?:\A[\"'*_`]{{0,4}}{label}[\"'*_`]{{0,4}}(?:[,.:;!،。、，।]|\s+[-\N{{EN DASH}}\N{{EM DASH}}]\s))"
        rf"|<\w{{1,20}}>\s?{label}\s?</|{_BOXED}\s?{label}\s?\}}|\bno[,:]\s+{label}[.!]?\s*\Z"
        rf"|(?P<bold>\*\*{label}\*\*|\b(?:it|{_JUDGED})\s+is\s+(?<!{_NEGATION}[^.!?\n]{{0,60}}){label}[.!\"*]*\s*\Z|"
        rf"{_LINE_BEGINS}{label}[ \t*_.。।\"'|]{{0,6}}$)",
        regex.I | regex.M,
    )


@lru_cache(maxsize=16)
def letter_pattern(letters: tuple[str, ...]) -> Any:
    """A capital letter as a verdict: `Answer: B`, `[RESULT] B`, or `B)` and `B` at the beginning of a line."""
    letter = rf"(?P<letter>[{''.join(regex.escape(letter) for letter in letters)}])"
    nouns = r"(?i:\b(?:answer|choice|option|verdict|score|rating|grade))\b"
    asked = rf"(?:{nouns}[^\w\n]{{0,4}}(?:\s*(?i:is|would be)\s+)?|\[RESULT\])[^\w\n]{{0,4}}"
    return regex.compile(
        rf"(?:{asked}{LETTERED}?{letter}\b(?!['’]))|(?:^\W{{0,3}}{letter}(?:[).:]|\s*$))",
        regex.M,
    )


# ---------------------------------------------------------------- what only looks like a verdict

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)(?:,?\s+\d{4}\b)?"
ITEM = regex.compile(r"^[ \t*_-]{0,6}(?P<place>\d{1,2})[.)]\s", regex.M)  # of a numbered list
NO_VERDICTS = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        # confidence: 90%
        r"\bconfiden(?:ce|t)\b[^\d.;\n]{0,24}+\d+(?:\.\d+)?(?:\s*/\s*\d+|\s*%)?",
        # the highest possible score is 5
        r"\b(?:max(?:imum)?|highest|top|best|perfect|min(?:imum)?|lowest)\s+(?:\p{L}+\s+){0,5}?(?:score|rating)"
        rf"\s*(?:is|being|:|=)\s*{_NUMBER}",
        # a score of 5 would need ... | 0 being the worst | to score a 5 | a score 5 is reserved for ...
        rf"\b(?:scores?|rating)\s+(?:of\s+)?(?:an?\s+)?{_NUMBER}\s+(?:would|impl(?:y|ies)|requires?|needs?|allows?|means|stands|"
        r"(?:is|was)\s+(?:for|reserved|given|not))\b",
        rf"(?<![\d.]){_NUMBER}[ \t]+(?:being|mean(?:s|ing)|denot(?:es|ing)|represent(?:s|ing)|stand(?:s|ing)\s+for)\b",
        rf"\bto\s+score\s+(?:an?\s+)?{_NUMBER}\b",
        # on a scale from 1 to 5 | (1-5)
        r"\b(?:scale|range|ranging|ranges)\b[^.;:\n]{0,24}?"
        rf"{_NUMBER}\s*(?:-|to|through|and|\N{{EN DASH}})\s*{_NUMBER}",
        r"[(\[]\s*\d+\s*(?:-|to|\N{EN DASH})\s*\d+[^)\]]{0,20}[)\]]",
        # keeps it from earning a 5 | not a 5 | rather than a score of 4 | to reach 5
        r"\bfrom\s+(?:being|achieving|getting|earning|receiving|deserving|scoring)(?:\s+\p{L}+){0,6}?\s+"
        rf"{_NUMBER}(?:{_OUT_OF}{_NUMBER})?",
        r"\b(?:not|never|neither|nor|\p{L}+n['’]t|rather\s+than|instead\s+of|less\s+than|more\s+than|below|above|short\s+of|"
        r"to\s+(?:get|reach|earn|achieve|make\s+it)|closer\s+to|"
        r"higher\s+(?:score|rating|evaluation)(?:,|\s+such\s+as|\s+more\s+like|\s+of|\s+around){0,3}|"
        r"(?:revised|improved|corrected)\b(?:\s+\p{L}+){0,3}:)"
        r"(?:\s+(?:it|this|that|quite|overall|final|be|rate|rated|score|scored|being|receive|deserve|merit|warrant|earn|give|a|an|the|perfect|full|rating|of|as|"
        rf"to|get|at|reach)){{0,8}}+\s+[\"'(]?{_NUMBER}(?:{_OUT_OF}{_NUMBER})?",
        # Errors: 4 | Error code: 4 | Assistant A: 4
        rf"\b{_THINGS}(?:\s+(?:code|count|found))?\s*[:=]\s*{_NUMBER}",
        rf"\b(?:assistant|model|system|response|candidate|translation|summary)\s+[A-C]\s*:\s*{_NUMBER}(?:{_OUT_OF}{_NUMBER})?",
        # 2 January 2026 | January 2, 2026
        rf"\b\d{{1,2}}\s+(?:of\s+)?{_MONTH}\b|\b{_MONTH}\s+\d{{1,2}}\b(?!\s*/)",
        # deducted 1 point
        r"\b(?:deduct\w*|subtract\w*|los(?:e|es|ing)|lost|minus|took\s+off|remov\w+)\s+(?:by\s+)?"
        rf"{_NUMBER}(?:\s+points?)?",
    )
)
