"""Find texts that only look like a verdict, and the surroundings on which a verdict depends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import regex

from metal.raters.judges.forms import (
    ASPECT,
    DIGITS,
    GET,
    GIVE,
    JUDGED,
    NAMED_LINE,
    NUMBER,
    NUMBER_ANYWHERE,
    OUT_OF,
    OUT_OF_TOP,
    THINGS,
    UNIT,
)
from metal.raters.judges.reply_words import Deferred, any_of, pattern_of, words_in

# ---------------------------------------------------------------- what stands around a verdict

# Score: 85% | a low score, perhaps around 10-20%, | a combined average of 65%
PERCENT = Deferred(
    r"(?<=(?:\A[^\w\n]{0,6}|\b(?:score|rating|average)\b[^\d.;!?\n]{0,60}"
    r"(?:\d{1,3}\s?(?:[-\N{EN DASH}]|to)\s?)?)"
    r"\d{1,3}(?:\.\d+)?)\s*%(?!\s+of\b)",
    regex.I,
)
IN_BRACKETS = regex.compile(r"(?<=\w\W{0,9})\([^()\n]*\Z")  # a better text, in its view (score: 90)
QUOTATION = Deferred(
    r"(?<=[\s(\[:,*_\N{EM DASH}])(?<![.!?\n]\s?)"
    r"(?:[\"“„][^\"“”„\n]+[\"”“]|«[^«»\n]+»|[‘'](?=\w)(?:[^'‘’\n]|['’](?=\w)){1,200}['’](?!\w))"
    r"|「[^」\n]+」|『[^』\n]+』"
)
_OTHER = (
    r"(?:previous|earlier|last|other|another|revised|improved|corrected|alternative|better"
    r"|perfect|ideal)"
)
_ONE = rf"(?:one|rater|judge|reviewer|version|system|sentence|{JUDGED})"
_SOMEBODY = (
    rf"(?:(?:{_OTHER}\s+{_ONE}|human(?:\s+\p{{L}}+)?|"
    rf"reference(?:\s+{JUDGED})?)(?:['’]s|\s+(?:{GIVE}|{GET}|has|had|was|an?|would|might|could|scored?)\b)|initially|"
    r"sa(?:ys|id)|state[sd]|asks|asked\s+me|order(?:s|ed)|claim(?:s|ed)(?=\s*:|\s+(?:that|to|it|the|an?)\b)|tells|told|demand(?:s|ed)|"
    r"instruct(?:s|ed)|want(?:s|ed)|tri(?:es|ed)|attempt(?:s|ed)|insert(?:s|ed)|(?<!\b(?:that|which)\s)(?:contain|include)(?:s|d|ed))"
)
# Those whose ratings the rated text tells of, or that are rated in it.
_OTHERS = (
    r"(?:customer|user|author|guest|reviewer|critic|client|visitor|viewer|reader|student|buyer|travell?er|magazine|article|"
    r"source|review|film|movie|book|restaurant|hotel|product|phone|game|album|show)s?"
)
# Just before a score that is another's, that somebody else speaks of, or that is hypothetical: the
# previous summary
# got | it says: Score: 5 | gives the hotel | it could have been | if it was (had it been) shorter,
# it would get
BORROWED = Deferred(
    rf"(?i)\b(?:{_SOMEBODY}|(?<!\b(?:even|as)\s)if(?!\s+(?:any|anything|at\s+all)\b)|"
    rf"(?:could|would|might|should)(?:\s+not)?\s+have(?!\s+to\b)|"
    rf"(?<!\bI\s+)(?:gives|gave)\s+the\s+(?!{JUDGED}\b)\p{{L}}+|"
    rf"{_OTHER}\s+{_ONE},?\s+(?:which|that)\s+I\s+(?:gave|rated|scored)|"
    rf"{_OTHERS}\s+(?:gave|gives?|rated?|rates|award(?:s|ed)|earn(?:s|ed)|gets?|got|has|receive[sd])|"
    r"(?:if\s+(?!I\b|forced)|had\s+(?:it|the|this)\s)[^.!?;\n]+,\s[^.!?;,\n]*\b(?:would|could))\b"
    r"(?:[\s:\"“‘'(*]+(?!(?:I|my|so|but|which|this(?!\s*:))\b|and\b(?!\s+(?:give|rate|score|answer|assign|award|return|say)\b))"
    r"[\p{L}'’]+){0,12}[^\w.!?;,]*\Z",
)
# Just before a score that something could have, or that something else than the judge would give:
# it could be 5
_CONDITIONAL = regex.compile(
    r"\b(?:(?<!\bI\s)(?:could|might)|(?:it|this|that|which|version|one)\s+would\s+(?:score|get|earn|receive|deserve|merit))\b"
    r"[^.!?;\n\d]{0,24}\Z",
    regex.I,
)
# Just after a score that is hypothetical or asked about: (would be 5) if it was shorter | (Score:
# 5)?
DOUBTED = Deferred(
    r"(?i)(?<=\b(?:would|could|might)\b[^.!?;\n]{0,80})[^\w.!?;\n]*(?:\p{L}+\s+){0,3}?(?<!\b(?:even|as)\s)(?:if|unless)\b"
    r"(?!\s+(?:I|forced)\b)|\s*(?:\p{L}+\s*)?[\"'*_]*\?",
)
# Just after a number: (Good)
NAMED = Deferred(
    rf"(?im){OUT_OF_TOP}[*_\s]*[(=:][\s\"'*_]*(?P<label>\p{{L}}[\p{{L}}\s-]*)[\"'*_]*\s*(?:[).;]|$)"
)
REFUSAL = Deferred(r"\W*(?:I\s+)?(?:refuse|decline|cannot|can['’]t|unable|n/?a|none|no)\b", regex.I)
# A reply that opens with a refusal to judge.
DECLINED = Deferred(
    r"\W*(?:I(?:['’]m|\s+am)?\s+)?(?:(?:must|have\s+to|will|would|respectfully)\s+){0,2}(?:decline|refuse|abstain|"
    r"(?:(?:can|will|do|could)\s*not|can['’]t|won['’]t|don['’]t|unable\s+to|not\s+able\s+to)\s+(?:\p{L}+\s+){0,2}?"
    r"(?:rate|score|judge|assess|evaluate|grade|assist|help|comply)|no\s+(?:score|rating|verdict|grade)|"
    r"not\s+(?:applicable|rated|scored)|n/?a)\b(?!\s+but\b)",
    regex.I,
)
QUOTED_LINE = regex.compile(r"^[ \t]*>[^\n]*", regex.M)  # of Markdown
# Before a score, in its sentence, that is about all there is: overall, I would give ...
_CONCLUDING = (
    r"\b(?:overall|altogether|all\s+in\s+all|in\s+(?:total|conclusion|summary)|"
    r"on\s+(?:the\s+whole|balance)|taken\s+together|considering\s+(?:all|every)\p{L}*)\b"
)
_CONCLUSIONS = ("therefore", "resulting in")
_CONCLUDES = regex.compile(_CONCLUDING, regex.I)
_CONCLUDES_HERE = Deferred(rf"{_CONCLUDING}[^.!?\n]*\Z", regex.I)
# 90/100 for meaning
OF_ASPECT = Deferred(rf"(?i){DIGITS}{OUT_OF_TOP}\s+for\s+(?!this|the|it)\p{{L}}")
# Just before and after an object that only shows what a verdict could be: for example, {...} would
# mean | > {...}
_SHOWN_BEFORE = Deferred(
    r"(?i)(?:\b(?:for\s+(?:example|instance)|e\.g\.?|such\s+as|(?:an?|this|the)\s+(?:example|sample)|example|like|than|not|"
    r"instead\s+of)[\s,:]*(?:(?:an?|the)\s+)?(?:(?:reply|answer|output|response|verdict|score)\s*(?:of|is|like)?)?[\s,:\"'`]*|"
    r"(?:\A|\n)[ \t]*>[^\n]*\n)\Z",
)
_SHOWN_AFTER = Deferred(
    r"(?i)[\s\"'`]*\b(?:would|could|might|means?|stands?\s+for|requires?|needs?|is\s+(?:for|reserved))\b",
)
_LABEL_BEGINS = Deferred(
    r"(?i)(?:\A|\n|[.!?:;,)\]。"
    r"！？])[\s*_#\"'`-]*(?:(?:my|the|so|new|revised|corrected|updated)\s+){0,2}\Z"
)
_LABEL_ENDS = Deferred(r"[:=：][\s\"'*_`(\[]*\Z")
# a number or label that ends a clause: , 3. | : 3/5) | , it's Good.
_SCORE_ALONE = (
    r"[^\w\n]{1,6}(?:it['’]s\s+|it\s+is\s+)?(?:an?\s+)?"
    rf"(?:(?P<n>{DIGITS}){OUT_OF_TOP}|(?P<label>{{labels}}))[\"'*_`)]*\s*(?=[.,;!)\n。、]|\Z)"
)
_SENTENCE_END = regex.compile(r"[.!?](?=\s)|[。！？।\n]")


class Surroundings:
    """A text, with questions about the words before a position in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[int, bool] = {}

    @cached_property
    def _lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def _concludes(self) -> bool:
        return _CONCLUDES.search(self.text) is not None

    @cached_property
    def _borrows(self) -> Any:
        return _compiled(words_in(self._lowered, "borrows"), r"[^.!?。！？।\n]{0,80}\Z")

    @cached_property
    def _corrects(self) -> Any:
        return _compiled(
            (*words_in(self._lowered, "corrects", "en"), *words_in(self._lowered, "corrects"))
        )

    def borrowed(self, place: int) -> bool:
        """Whether the text at this position is quoted, hypothetical or somebody else's."""
        if place not in self._known:
            begin = max(0, place - 200)
            borrows = BORROWED.search(self.text, begin, place)
            if not borrows and self._borrows:
                borrows = self._borrows.search(self.text, begin, place)
            self._known[place] = borrows is not None
        return self._known[place]

    def corrects(self, place: int, since: int) -> bool:
        """Whether words between two positions say that the later text replaces the earlier one.

        A score for one aspect replaces nothing, and a second conclusion does not replace the first.
        """
        if self._corrects is None or OF_ASPECT.match(self.text, place):
            return False
        correction = self._corrects.search(self.text, max(since, place - 100), place)
        if correction is None or correction[0].lower() not in _CONCLUSIONS:
            return correction is not None
        return correction[0].lower() not in self._lowered[max(0, since - 100) : since]

    @cached_property
    def _instead(self) -> tuple[str, ...]:
        keys = ("corrects", "instead")
        listed = [words_in(self._lowered, key, *of) for key in keys for of in (("en",), ())]
        return tuple(chain.from_iterable(listed))

    def instead(self, place: int, labels: tuple[str, ...]) -> Any:
        """The match of a number (group `n`) or label that replaces the one ending at this position:
        4, no wait, 3. None if nothing replaces it.
        """
        pattern = self._instead and _instead_pattern(self._instead, labels)
        return pattern and pattern.match(self.text, place)

    def conditional(self, place: int) -> bool:
        """Whether the text at this position is only a possibility."""
        return _CONDITIONAL.search(self.text, max(0, place - 80), place) is not None

    def concludes(self, place: int) -> bool:
        """Whether the text at this position is about the whole output."""
        begin = max(0, place - 300)
        return self._concludes and _CONCLUDES_HERE.search(self.text, begin, place) is not None


def is_shown(prose: str, place: int) -> bool:
    """Whether an object that was at this position of the prose is an example or a quotation."""
    before = _SHOWN_BEFORE.search(prose, max(0, place - 200), place)
    return before is not None or _SHOWN_AFTER.match(prose, place) is not None


def is_labelled(text: str, match: Any, start: int) -> bool:
    """Whether a form of a verdict stands alone as a clause: Score: 2 | <score>2</score>. start:
    where its score begins.
    """
    if match[0].startswith(("<", "\\boxed")):
        return True
    # perhaps of an aspect
    if NAMED_LINE.has_found(match) or ASPECT.has_found(match) or OF_ASPECT.match(text, start):
        return False
    if not _LABEL_ENDS.search(text, match.start(), start):
        return False
    return _LABEL_BEGINS.search(text, max(0, match.start() - 60), match.start()) is not None


@lru_cache(maxsize=512)
def _compiled(words: tuple[str, ...], then: str = "") -> Any:
    """A pattern of any of these words; None without words."""
    return regex.compile(f"(?i){pattern_of(words)}{then}") if words else None


@lru_cache(maxsize=512)
def _instead_pattern(words: tuple[str, ...], labels: tuple[str, ...]) -> Any:
    alone = _SCORE_ALONE.replace("{labels}", any_of(labels))
    return regex.compile(rf"(?i){OUT_OF_TOP}[^\d\n]{{1,24}}?{pattern_of(words)}{alone}")


# ---------------------------------------------------------------- what only looks like a verdict

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?:,?\s+\d{4}\b)?"
)
ITEM = regex.compile(r"^[ \t*_-]{0,6}(?P<place>\d{1,2})[.)]\s", regex.M)  # of a numbered list
_OR = r"(?:(?:or|and|ou|oder|und|или|veya|o|y|e|또는|或|または|या|বা|أو|au)\s*)"
_WHOLE = r"\d{1,9}+(?:\.\d+)?+"
_FITS = (
    r"\s+(?:\p{L}+\s+)?(?:be|seem|feel)\s+(?:\p{L}+\s+)?"
    r"(?:appropriate|fair|fitting|suitable|right|reasonable|accurate|best|warranted|justified|apt|correct|my)\b"
)
# ~~4~~ 3 | <s>4</s> 3: struck out
_STRUCK_OUT = r"~~[^~\n]{1,200}~~|<(s|del|strike)>[^<\n]{0,200}</\1>"
# I cannot give a 3 or any other score | unable to rate this 5-sentence text: to the end of the
# clause
_UNABLE = (
    r"\b(?:(?:can|could|would|will)(?:\s*not|n['’]?t)|won['’]t|(?:not\s+|un)able\s+to|(?:refuse|decline|impossible)\s+to|"
    r"not\s+possible\s+to)\s+(?!rate\s+it\b)(?:\p{L}+\s+){0,2}?"
    r"(?:rate|score|judge|assess|evaluate|grade|give|provide|assign|offer|assist|help(?!\s+but)|answer|comply|determine|fulfil\p{L}*)\b"
    r"(?:[^.!?;,\n]|[.,](?=\d)|,(?!\s*(?:but|so|I|it|my|the|instead|hence|thus)\b))*+"
)
# A score in a range, which is not that of the scale: a score in the range of 70-80, a score ranging
# from 50 to 60
_SCORE_OF = (
    r"\b(?:an?|its|this)\s+(?:[\p{L}-]+\s+){0,4}?(?:score|rating)\s+"
    r"(?:(?:that\s+is\s+)?in\s+(?:the|a)\s+)?"
)
# What makes the number after it, or the one before it, an open quantity; points that add up to 4
# are 4.
_OPEN_BEFORE = (
    r"(?<!\d\s?)(?:[≥≤]|[<>]=|\b(?:at\s+(?:the\s+very\s+)?(?:least|most)|(?<!\b(?:adds?|adding|sums?|summing)\s+)up\s+to|upwards?\s+of|"
    r"no\s+(?:more|less|fewer|higher|lower|better|worse)\s+than|(?<!\bout\s+of\s+)an?\s+(?:minimum|maximum)\s+of)\b)(?:\s+an?\b)?"
)
_OPEN_AFTER = (
    r"(?:(?<=\d)\+(?![\d+])|(?:\s+(?:points?|stars?|marks?))?,?\s+(?:or\s+(?:even\s+)?|and\s+)"
    r"(?:(?<=\bor\s+(?:even\s+)?)(?:more|less|fewer|greater|better|worse)(?!\s+(?:yet|still)\b)|higher|lower|above|below|"
    r"over|under|up(?:wards?)?)\b(?!\s+(?!is|are|would|for|if)\p{L}))"
)
# Whether it holds a number, and the pattern.
NO_VERDICTS = tuple(
    (pattern not in (_STRUCK_OUT, _UNABLE), Deferred(pattern, regex.I))
    for pattern in (
        _STRUCK_OUT,
        # 4 → 3
        rf"{DIGITS}(?:{OUT_OF}{NUMBER})?[\s*_]*(?:[→➔➜⇒]|[-=]+>)(?=[\s\"'*_`(]*\d)",
        # 1|2|3 | 1, 2 or 3 | 1/2/3: an enumeration
        rf"(?<![\d.,/]){_WHOLE}(?:\s*\|\s*{_WHOLE})+",
        (
            rf"(?<![\d.,/]){_WHOLE}(?:\s*[,/、"
            rf"،]\s*{_OR}?{_WHOLE}){{2,}}|(?<![\d.,/]){_WHOLE}(?:,\s*{_WHOLE})+,?\s+{_OR}{_WHOLE}"
        ),
        _UNABLE,
        # what would have to be: which would make it a 5 out of 5 | to elevate it to a perfect 5
        r"\b(?:would|could|might|to)\s+(?:\p{L}+\s+)?(?:make|turn|bring|raise|lift|elevate|push|bump|improve|boost)\b[^.!?;,\n\d]{0,60}?"
        rf"\b(?:an?|to|at|of|perfect|full)\s+{NUMBER}(?:{OUT_OF}{NUMBER})?",
        # open to one side: 3 or more | one or higher | at least 3 | up to 4 points | ≥ 3 | 4+
        rf"{_OPEN_BEFORE}\s*{NUMBER}(?:{OUT_OF}{NUMBER})?|"
        rf"(?<![\d.])(?=\D|\d{{1,9}}(?!\d)){NUMBER}(?:{OUT_OF}{NUMBER})?{_OPEN_AFTER}",
        # confidence: 90%
        r"\bconfiden(?:ce|t)\b[^\d.;\n]{0,24}+\d+(?:\.\d+)?(?:\s*/\s*\d+|\s*%)?",
        # the highest possible score is 5
        r"\b(?:max(?:imum)?|highest|top|best|perfect|min(?:imum)?|lowest)\s+(?:\p{L}+\s+){0,5}?(?:score|rating)"
        rf"\s*(?:is|being|:|=)\s*{NUMBER}",
        # a score of 5 would need ... | rating it 1 would be unfair | a 5 is reserved for ...; but 4
        # would be fair
        rf"\b(?:scor(?:es?|ing)|rat(?:e|ing)|giving)[:\s]+(?:(?:of|it|this|an?)\s+){{0,2}}{NUMBER}\s+(?:would(?!{_FITS})|"
        r"impl(?:y|ies)|requires?|needs?|allows?|means|stands|(?:is|was)\s+(?:for|reserved|given|not))\b",
        (
            rf"(?<![\d.]){NUMBER}["
            r" \t]+(?:being|mean(?:s|ing)|denot(?:es|ing)|represent(?:s|ing)"
            r"|stand(?:s|ing)\s+for)\b"
        ),
        rf"\bto\s+score\s+(?:an?\s+)?{NUMBER}\b",
        # on a scale from 1 to 5 | (1-5)
        rf"(?<!{_SCORE_OF}\s*)\b(?:scale|range|ranging|ranges)\b[^.;:\n]{{0,24}}?"
        rf"{NUMBER}\s*(?:-|to|through|and|\N{{EN DASH}})\s*{NUMBER}",
        r"[(\[]\s*\d+\s*(?:-|to|\N{EN DASH})\s*\d+[^)\]]{0,20}[)\]]",
        # keeps it from earning a 5 | not a 5 | rather than a score of 4 | to reach 5
        r"\bfrom\s+(?:being|achieving|getting|earning|receiving|deserving|scoring)(?:\s+\p{L}+){0,6}?\s+"
        rf"{NUMBER}(?:{OUT_OF}{NUMBER})?",
        r"\b(?:not|never|neither|nor|\p{L}+n['’]t|rather\s+than|instead\s+of|less\s+than|more\s+than|below|above|short\s+of|"
        r"to\s+(?:get|reach|earn|achieve|make\s+it)|closer\s+to|"
        r"higher\s+(?:score|rating|evaluation)(?:,|\s+such\s+as|\s+more\s+like|\s+of|\s+around){0,3}|"
        r"(?:revised|improved|corrected)\b(?!\s+(?:score|rating|grade|verdict)\s*:)(?:\s+\p{L}+){0,3}:)"
        r"(?:\s+(?:it|this|that|quite|overall|final|be|rate|rated|score|scored|being|receive|deserve|merit|warrant|earn|give|a|an|the|perfect|full|rating|of|as|"
        rf"to|get|at|reach)\b){{0,8}}+\s+[\"'(]?{NUMBER}(?:{OUT_OF}{NUMBER})?",
        # Errors: 4 | Error code: 4 | Assistant A: 4
        rf"\b{THINGS}(?:\s+(?:code|count|found))?\s*[:=]\s*{NUMBER}",
        rf"\b(?:assistant|model|system|response|candidate|translation|summary)\s+[A-C]\s*:\s*{NUMBER}(?:{OUT_OF}{NUMBER})?",
        # 2 January 2026 | January 2, 2026
        rf"\b\d{{1,2}}\s+(?:of\s+)?{_MONTH}\b|\b{_MONTH}\s+\d{{1,2}}\b(?!\s*/)",
        # deducted 1 point
        r"\b(?:deduct\w*|subtract\w*|los(?:e|es|ing)|lost|minus|took\s+off|remov\w+)\s+(?:by\s+)?"
        rf"{NUMBER}(?:\s+points?)?",
    )
)


def without_verdicts_of_none(text: str, percent: bool) -> str:
    """Replace everything that only looks like a verdict by spaces, so that offsets stay the same.

    percent: whether `%` after a score means nothing special, because the scale goes to 100.
    """
    has_number = NUMBER_ANYWHERE.search(text) is not None
    patterns = [pattern for with_number, pattern in NO_VERDICTS if has_number or not with_number]
    lowered = text.lower()
    if has_number:
        patterns += _of_numbers(text, lowered, percent)
    for pattern in patterns:
        text = blanked(pattern, text)
    if refusal := _compiled(words_in(lowered, "cannot")):
        text = _without_sentences(refusal, text)
    return text


def _of_numbers(text: str, lowered: str, percent: bool) -> Iterator[Any]:
    """The patterns of numbers that depend on the text and on the scale."""
    if len({"1", "2"} & {match["place"] for match in ITEM.finditer(text)}) == 2:
        yield ITEM
    if percent:
        yield PERCENT
    if before := words_in(lowered, "not_before"):
        yield _denied_before(before)
    if after := words_in(lowered, "not_after"):
        yield _denied_after(after)


def blanked(pattern: Any, text: str) -> str:
    """Replace matches of the pattern by blanks. The middle of a long match becomes NULs, so that
    other patterns do not run through many blanks.
    """
    return str(pattern.sub(lambda match: _blanks(len(match[0])), text))


def _blanks(length: int) -> str:
    return " " * length if length <= 100 else " " * 50 + "\0" * (length - 100) + " " * 50


@lru_cache(maxsize=512)
def _denied_before(words: tuple[str, ...]) -> Any:
    return regex.compile(rf"(?i)(?<!\d\s?){pattern_of(words)}\s*(?:\p{{L}}+\s+){{0,2}}?{DIGITS}")


@lru_cache(maxsize=512)
def _denied_after(words: tuple[str, ...]) -> Any:
    return regex.compile(rf"(?i){DIGITS}[^\S\n]?{UNIT}?[^\S\n]*{pattern_of(words)}")


def _without_sentences(pattern: Any, text: str) -> str:
    """Blank out each sentence in which the pattern matches."""
    kept, done = "", 0
    for match in pattern.finditer(text):
        if match.start() < done:
            continue
        begin = done
        for end in _SENTENCE_END.finditer(text, done, match.start()):
            begin = end.end()
        after = _SENTENCE_END.search(text, match.end())
        ends = after.start() if after else len(text)
        kept, done = kept + text[done:begin] + _blanks(ends - begin), ends
    return kept + text[done:]
