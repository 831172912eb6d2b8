"""The reply reader: finds the verdict in a judge's reply, or the reason why there is none.

A reply is read in four steps.

1. Thoughts are removed (thoughts.py). At the beginning of a reply, a mark such as `<think>` opens a
   thought, unless its name is the name of an answer. A thought that is never closed goes on to the
   end.
2. Passages that only look like a verdict are blanked out (not_verdicts.py): a struck-out score, the
   scale itself or several of its levels in a row, a refusal, a denied score, a count, a date. A
   reply that opens with a refusal or with a service's error has no verdict. On a scale of numbers,
   a range becomes its middle, and the verdict wavers. On levels, a range is no verdict, because it
   names several levels.
3. Everything that is given as a verdict is found, with its rank (structured.py, candidates.py,
   forms.py). The ranks from the highest are: a JSON object that opens or closes the reply; a final
   or overall score; a number, label or letter tied to a word of judging (`score: 2`, `I give it a
   4`), or one that opens or closes the reply; a number out of the maximum of the scale (`4/5`); an
   object amid prose, which may be a quotation; any other form (`this gets 2`). A verdict that is
   quoted, hypothetical or somebody else's is not the judge's own.
4. The judge's own verdict of the highest rank counts. A verdict that corrects (`on reflection`, `4,
   no: 3`) replaces earlier verdicts. If a word denies a label (`Present: no`), the verdict is the
   other label of two; with more labels, there is none. There is no score (*two verdicts*) in four
   cases: two verdicts of the same rank differ; a later object or labelled score (`Score: 2`)
   differs, whatever its rank; a number and the label beside it disagree; or the scores are for
   aspects (`85 for meaning, 60 for grammar`).

A number off the scale is not a verdict, and is never clipped. An object without a valid score means
the answer "no score". The words of each language (numbers, nouns, refusals, corrections) are in
reply_words.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import regex

from metal.data.records import Level, Scale
from metal.raters.judges import forms, not_verdicts
from metal.raters.judges.candidates import (
    LONGEST_END,
    Evidence,
    Field,
    evidence_in,
    number_of_field,
    of_criterion,
    read_number,
    tops,
    verdict_alone,
)
from metal.raters.judges.not_verdicts import Surroundings
from metal.raters.judges.ranges import RANGE, ranges_in_digits
from metal.raters.judges.structured import (
    REASON_KEYS,
    field_of,
    justification_in,
    objects_with,
)
from metal.raters.judges.thoughts import aloud, is_service_error, without_thoughts
from metal.raters.judges.traced import joined, replaced, span_of, traced_like

EMPTY = "empty"
UNPARSABLE = "unparsable"
# in the middle of its JSON, though the model did not say that it ran out of tokens
CUT_OFF = "cut off"
OFF_SCALE = "off the scale"
LEFT_OUT = "criterion left out"  # of a reply to several
TWO_VERDICTS = "two verdicts"  # that differ, and neither is quoted or corrected

SCORE_KEYS: tuple[str, ...] = (
    "revised_score",
    "final_score",
    "overall_score",
    "score",
    "rating",
    "overall",
    "verdict",
    "grade",
    "value",
    "label",
    "answer",
)
# Keys that other objects than verdicts have, too, and what may stand beside one in a verdict.
_COMMON_KEYS = ("value", "label", "answer")
_BESIDE_A_SCORE = (
    *REASON_KEYS,
    *(
        "criterion",
        "name",
        "metric",
        "aspect",
        "dimension",
        "max",
        "min",
        "scale",
        "confidence",
        "type",
    ),
    *(
        "analysis",
        "thought",
        "thoughts",
        "thinking",
        "feedback",
        "evidence",
        "evaluation",
        "assessment",
        "summary",
    ),
)
_FENCE = regex.compile(r"```\w*")
_PLACEHOLDER = regex.compile(r"\s*<")  # "<0, 1 or 2>": the form of the prompt, echoed
_BLANKS = regex.compile(r"\s{3,}+")
WORD = regex.compile(r"\w")
_LAST_WORD = regex.compile(r"(?r)\w")
_LABEL_NUMBER = regex.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class ReplyVerdict:
    """The verdict of a reply. If the score is None, there is a reason.

    wavering: whether the score is the middle of a range, or another valid verdict in the reply
    differs. Such another verdict is not the judge's own, was corrected, or has a lower rank but is
    in an object or tied to a word of judging. Before a final score, only another final score
    counts, because scores for aspects come there.
    """

    score: float | None
    reason: str = ""
    justification: str = ""
    wavering: bool = False


class ReplyReading(NamedTuple):
    """A verdict and what decided it.

    decisive: the evidence that agrees on the score; without a score, the evidence that differs or
    is off the scale. text: the text in which the fields of the evidence are.
    """

    verdict: ReplyVerdict
    decisive: Sequence[Evidence] = ()
    text: str = ""


def read_reply(
    text: str,
    scale: Scale,
    letters: Mapping[str, float] | None = None,
    criterion: str = "",
    numbered: bool = False,
) -> ReplyVerdict:
    """Read the verdict in a judge's reply. This never raises, and the score is always on the scale.

    Args:
        text: the reply.
        scale: the scale that the reply may use.
        letters: letter -> level, if the prompt asked for a letter.
        criterion: the criterion asked. A verdict under its name in an object without a score
            counts.
        numbered: whether the judge saw the number of each level. If not, and if each label
            contains a different number (S1 to S5), a number in the reply means a label.

    Returns:
        The verdict. Its justification is the field with the justification in a structured reply,
        else the text itself.
    """
    return reading_of(text, scale, letters, criterion, numbered).verdict


def reading_of(
    text: str,
    scale: Scale,
    letters: Mapping[str, float] | None = None,
    criterion: str = "",
    numbered: bool = False,
) -> ReplyReading:
    """Read a reply as read_reply does, and say what decided the verdict."""
    labelled = None if numbered else _numbers_of_labels(scale)
    if labelled:
        back = dict(zip(labelled.values, scale.values, strict=True))
        to = dict(zip(scale.values, labelled.values, strict=True))
        kept = {letter: to[value] for letter, value in (letters or {}).items() if value in to}
        reading = _read(text, labelled, kept if letters else letters, criterion)
        score = reading.verdict.score
        if score is None:
            return reading
        return reading._replace(verdict=replace(reading.verdict, score=back[score]))
    return _read(text, scale, letters, criterion)


@lru_cache(maxsize=64)
def _numbers_of_labels(scale: Scale) -> Scale | None:
    """The scale with the numbers in its labels as values; None if the labels do not each contain a
    different number.
    """
    held = [_LABEL_NUMBER.findall(level.label) for level in scale.levels]
    if not held or any(len(numbers) != 1 for numbers in held):
        return None
    values = [float(numbers[0]) for numbers in held]
    if values == list(scale.values) or len(set(values)) < len(values):
        return None
    levels = [Level(value, level.label) for value, level in zip(values, scale.levels, strict=True)]
    return Scale("nominal", tuple(levels))


# ---------------------------------------------------------------- the steps


def _read(
    text: str, scale: Scale, letters: Mapping[str, float] | None, criterion: str
) -> ReplyReading:
    answer = without_thoughts(text)
    # Runs of blanks are cut to two, so that no pattern has to try its way through them; a line
    # break stays one.
    shorter = replaced(
        _BLANKS, lambda blanks: "\n\n" if "\n" in blanks[0] else "  ", answer
    ).strip()
    if not shorter:
        return ReplyReading(ReplyVerdict(None, EMPTY))
    alone = verdict_alone(shorter, scale, letters)
    if alone is not None:
        middle, span = RANGE.search(shorter) is not None, span_of(shorter, 0, len(shorter))
        whole_reply = Evidence(forms.STRUCTURED, 0, alone, middle=middle, span=span)
        return ReplyReading(*_decided([whole_reply], scale, ""), shorter)
    keys, objects = _objects_with_score(shorter, scale, letters, criterion)
    if any(not fields for _, fields in objects):
        return ReplyReading(ReplyVerdict(None, CUT_OFF))
    if not objects and (is_service_error(shorter) or not_verdicts.DECLINED.match(shorter)):
        return ReplyReading(ReplyVerdict(None, UNPARSABLE, shorter))
    prose, places = prose_around([span for span, _ in objects], shorter)
    prose = traced_like(of_criterion(prose, criterion), prose) if criterion else prose
    around, evidence = Surroundings(prose), [*evidence_in(prose, scale, letters)]
    for start, (at, fields) in zip(places, objects, strict=True):
        evidence += _evidence_of_object(at, fields, keys, around, start, scale, letters)
    reasons = [justification_in(fields) for _, fields in reversed(objects)]
    justification = next(filter(None, reasons), "")
    evidence = _with_corrections(evidence, around)
    decided = _decided(evidence, scale, justification if objects else aloud(text))
    return ReplyReading(*decided, shorter)


def _objects_with_score(
    text: str, scale: Scale, letters: Mapping[str, float] | None, criterion: str
) -> tuple[tuple[str, ...], list[tuple[tuple[int, int], dict[str, Any]]]]:
    """The keys that may hold a score, and position and fields of each object with such a key."""
    keys, objects = SCORE_KEYS, list(objects_with(text, SCORE_KEYS))
    if criterion and not objects:
        keys = forms.keys_of(criterion)
        for at, fields in objects_with(text, keys):
            value = field_of(fields, keys)
            if not isinstance(value, bool) and number_of_field(value, scale, letters) is not None:
                objects.append((at, fields))
    # one object has several criteria
    elif criterion and len({at for at, _ in objects}) < len(objects):
        under = forms.keys_of(criterion)
        asked = [(at, field_of(fields, under)) for at, fields in objects_with(text, under)]
        objects = [(at, fields) for at, fields in asked if isinstance(fields, dict)] or objects
    return keys, objects


def _is_about_something_else(fields: Mapping[str, Any]) -> bool:
    """Whether an object is not a verdict: every field that may be a score has a common word as its
    key, and other keys never occur in verdicts.
    """
    if not fields or not fields.keys().isdisjoint(SCORE_KEYS[: -len(_COMMON_KEYS)]):
        return False
    return not fields.keys().isdisjoint(_COMMON_KEYS) and not fields.keys() <= {
        *_COMMON_KEYS,
        *_BESIDE_A_SCORE,
    }


def _evidence_of_object(
    at: tuple[int, int],
    fields: Mapping[str, Any],
    keys: tuple[str, ...],
    around: Surroundings,
    place: int,
    scale: Scale,
    letters: Mapping[str, float] | None,
) -> Iterator[Evidence]:
    """The verdicts that an object gives. at: its span. around, place: the prose, and the object's
    position in it.

    Amid prose, or in a line of prose, an object may be a quotation. An echo of the prompt's own
    form is not a verdict.
    """
    value = field_of(fields, keys)
    if _is_about_something_else(fields) or (isinstance(value, str) and _PLACEHOLDER.match(value)):
        return
    prose = around.text
    borrowed = around.borrowed(place) or not_verdicts.is_shown(prose, place)
    rank = forms.QUOTED if borrowed or _is_amid(prose, place) else forms.STRUCTURED
    scores = [
        (key, verdict_alone(str(fields.get(key, "")), scale, letters))
        for key in ("label", "verdict", "rating")
    ]
    key_of_value = next((key for key in keys if fields.get(key) is not None), "")
    scores.append((key_of_value, number_of_field(value, scale, letters)))
    top = forms.TOP_AFTER.match(prose, place)
    if top and read_number(top["top"]) not in tops(scale):
        return
    middle = isinstance(value, str) and RANGE.search(ranges_in_digits(value)) is not None
    for key, score in scores:
        field = Field(at, key, fields.get(key))
        yield Evidence(rank, place, score, borrowed, middle=middle, written=True, field=field)


def _is_amid(prose: str, place: int) -> bool:
    """Whether there are words before the position, and also in its line or after it."""
    starts = [match.start() for match in (WORD.search(prose), _LAST_WORD.search(prose)) if match]
    line = prose.rfind("\n", 0, max(0, place - 1)) + 1
    return bool(starts) and starts[0] < place and line <= starts[-1]


def _with_corrections(evidence: Sequence[Evidence], around: Surroundings) -> list[Evidence]:
    """Sort the evidence by position, and mark each verdict that replaces the previous one, by the
    words between them.
    """
    ordered = sorted(evidence, key=lambda verdict: verdict.place)
    before = place = 0
    marked = []
    for verdict in ordered:
        if verdict.place > place:
            before, place = place, verdict.place
        corrects = verdict.corrects or around.corrects(place, since=before)
        marked.append(verdict._replace(corrects=corrects))
    return marked


def _decided(
    evidence: Sequence[Evidence], scale: Scale, justification: str
) -> tuple[ReplyVerdict, Sequence[Evidence]]:
    """The valid score of the highest rank, or why there is none, with the evidence for it."""
    own = _own_since_correction(evidence, scale)
    highest = max((verdict.rank for verdict in own), default=forms.ASIDE)
    clearest = [verdict for verdict in own if verdict.rank == highest]
    best = _on_scale(clearest, scale)
    differing = [*best, *_written_later(own, best, scale)]
    scores = {verdict.score for verdict in differing}
    if len(scores) > 1:
        return ReplyVerdict(None, TWO_VERDICTS, justification), differing
    if not best:
        off_scale = [verdict for verdict in clearest if verdict.score is not None]
        reason = OFF_SCALE if off_scale else UNPARSABLE
        return ReplyVerdict(None, reason, justification), off_scale
    for verdict in _on_scale(evidence, scale):
        if _makes_doubtful(verdict, best):
            scores.add(verdict.score)
    wavering = len(scores) > 1 or any(verdict.middle for verdict in best)
    return ReplyVerdict(best[-1].score or 0.0, "", justification, wavering), best


def _own_since_correction(evidence: Sequence[Evidence], scale: Scale) -> list[Evidence]:
    """The judge's own verdicts since its last correction of a score."""
    corrected = 0
    for verdict in _on_scale(evidence, scale):
        if verdict.corrects and not verdict.borrowed:
            corrected = max(corrected, verdict.place)
    return [verdict for verdict in evidence if not verdict.borrowed and verdict.place >= corrected]


def _on_scale(evidence: Iterable[Evidence], scale: Scale) -> list[Evidence]:
    return [
        verdict for verdict in evidence if verdict.score is not None and scale.allows(verdict.score)
    ]


def _makes_doubtful(verdict: Evidence, best: Sequence[Evidence]) -> bool:
    """Whether another score means that the judge wavers: it is about as clear as the best score or,
    if the best is a final score, it is quoted or comes later.
    """
    highest = best[0].rank
    if verdict.rank < min(highest, forms.QUOTED):
        return False
    if highest != forms.FINAL or verdict.rank >= highest:
        return True
    return verdict.borrowed or verdict.place > best[-1].place


def _written_later(
    own: Sequence[Evidence], best: Sequence[Evidence], scale: Scale
) -> list[Evidence]:
    """The scores in objects, and labelled scores, that come after the first of the best verdicts;
    if the best is a final score, only scores in objects.
    """
    later: list[Evidence] = []
    for verdict in own:
        if not best or not verdict.written or verdict.place <= best[0].place:
            continue
        counts = best[0].rank != forms.FINAL or verdict.rank in (forms.QUOTED, forms.STRUCTURED)
        if counts and verdict.score is not None and scale.allows(verdict.score):
            later.append(verdict)
    return later


def prose_around(spans: Sequence[tuple[int, int]], text: str) -> tuple[str, list[int]]:
    """The reply without these spans and without fences, and the positions of the spans in it.

    A very long reply is cut to its two ends, because its verdict comes first or last.
    """
    pieces: list[str] = []
    places: list[int] = []
    begin = length = 0
    for start, end in spans:
        if start >= begin:
            pieces += [replaced(_FENCE, "", text[begin:start]), "\n"]
            length += len(pieces[-2]) + 1
        places.append(length)
        begin = end
    pieces.append(replaced(_FENCE, "", text[begin:]))
    prose = joined(pieces)
    left_out = max(0, len(prose) - 2 * LONGEST_END)
    if left_out:
        prose = joined([prose[:LONGEST_END], "\n", prose[-LONGEST_END:]])
    return prose, [
        place if place < LONGEST_END else max(LONGEST_END, place - left_out) for place in places
    ]
