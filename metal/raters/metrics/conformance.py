"""Does a metric behave as it declares? Trials on sentences in 45 languages, each of which ends in
one finding.

A failed trial does not prove that a metric is bad, because learned metrics rarely give identical
texts exactly the same score in every language. It says what a reader of the scores should know.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from metal.errors import UsageError
from metal.raters.metrics import score_all, scored
from metal.raters.metrics.contract import Item, Metric
from metal.raters.metrics.own import RAISED

ODD_TEXTS = ("…", "?!", "a", "7", "🙂", "\u200f", "<b>&amp;</b>", "=1+1", "word " * 2000)
NEAR = 1e-5  # scores of models differ a little with what else is in a batch

# One sentence per language of XL-Sum, of the kind "in the morning the children go to school with
# their friends": for
# trying metrics in 45 languages' scripts, not for judging anybody's translations.
SAMPLES: Mapping[str, str] = {
    "am": "ልጆቹ ጠዋት ከጓደኞቻቸው ጋር ወደ ትምህርት ቤት ይሄዳሉ።",
    "ar": "يذهب الأطفال إلى المدرسة في الصباح مع أصدقائهم.",
    "az": "Uşaqlar səhər dostları ilə birlikdə məktəbə gedirlər.",
    "bn": "শিশুরা সকালে বন্ধুদের সঙ্গে স্কুলে যায়।",
    "my": "ကလေးများသည် မနက်တွင် သူငယ်ချင်းများနှင့်အတူ ကျောင်းသို့ သွားကြသည်။",
    "zh": "孩子们早上和朋友一起去学校。",
    "zh-Hant": "孩子們早上和朋友一起去學校。",
    "en": "In the morning the children go to school with their friends.",
    "fr": "Le matin, les élèves vont à l’école avec leurs amis.",
    "gu": "બાળકો સવારે મિત્રો સાથે શાળાએ જાય છે.",
    "ha": "Yara suna zuwa makaranta da safe tare da abokansu.",
    "hi": "बच्चे सुबह अपने दोस्तों के साथ स्कूल जाते हैं।",
    "ig": "Ụmụaka na-aga ụlọ akwụkwọ n’ụtụtụ ha na ndị enyi ha.",
    "id": "Anak-anak pergi ke sekolah pada pagi hari bersama teman mereka.",
    "ja": "子どもたちは朝、友だちと一緒に学校へ行きます。",
    "rn": "Abana baja kw'ishure mu gatondo bari kumwe n'abagenzi babo.",
    "ko": "아이들은 아침에 친구들과 함께 학교에 갑니다.",
    "ky": "Балдар эртең менен достору менен мектепке барышат.",
    "mr": "मुले सकाळी मित्रांसोबत शाळेत जातात.",
    "ne": "केटाकेटीहरू बिहान साथीहरूसँग विद्यालय जान्छन्।",
    "om": "Ijoolleen ganama hiriyoota isaanii wajjin gara mana barumsaa deemu.",
    "ps": "ماشومان سهار له خپلو ملګرو سره ښوونځي ته ځي.",
    "fa": "بچه‌ها صبح با دوستانشان به مدرسه می‌روند.",
    "pcm": "Di pikin dem dey go school for morning with dia friends.",
    "pt": "De manhã as crianças vão à escola com os seus amigos.",
    "pa": "ਬੱਚੇ ਸਵੇਰੇ ਆਪਣੇ ਦੋਸਤਾਂ ਨਾਲ ਸਕੂਲ ਜਾਂਦੇ ਹਨ।",
    "ru": "Утром дети идут в школу вместе со своими друзьями.",
    "gd": "Bidh a’ chlann a’ dol dhan sgoil sa mhadainn còmhla ri an caraidean.",
    "sr": "Деца ујутру иду у школу са својим пријатељима.",
    "sr-Latn": "Deca ujutru idu u školu sa svojim prijateljima.",
    "si": "ළමයි උදේ තම මිතුරන් සමඟ පාසලට යති. ශ්‍රී ලංකාව ලස්සනයි.",
    "so": "Carruurtu subaxdii waxay iskuulka u raacaan saaxiibbadood.",
    "es": "Por la mañana los niños van a la escuela con sus amigos.",
    "sw": "Watoto huenda shuleni asubuhi pamoja na marafiki zao.",
    "ta": "குழந்தைகள் காலையில் நண்பர்களுடன் பள்ளிக்குச் செல்கிறார்கள்.",
    "te": "పిల్లలు ఉదయం తమ స్నేహితులతో బడికి వెళ్తారు.",
    "th": "เด็กๆไปโรงเรียนกับเพื่อนในตอนเช้า",
    "ti": "ቆልዑ ንግሆ ምስ ኣዕሩኽቶም ናብ ቤት ትምህርቲ ይኸዱ።",
    "tr": "Çocuklar sabahları arkadaşlarıyla birlikte okula gidiyor.",
    "uk": "Вранці діти йдуть до школи разом зі своїми друзями.",
    "ur": "بچے صبح اپنے دوستوں کے ساتھ اسکول جاتے ہیں۔",
    "uz": "Bolalar ertalab doʻstlari bilan birga maktabga borishadi.",
    "vi": "Buổi sáng các em nhỏ đi đến trường cùng bạn bè.",
    "cy": "Mae’r plant yn mynd i’r ysgol yn y bore gyda’u ffrindiau.",
    "yo": "Àwọn ọmọdé máa ń lọ sí ilé ìwé ní òwúrọ̀ pẹ̀lú àwọn ọ̀rẹ́ wọn.",
}

Scores = Sequence[float | None]
# whether it is as it should be, None where there is nothing to hold to; in words
Finding = tuple[bool | None, str]


@dataclass(frozen=True)
class Trial:
    """The result of one trial. holds: whether the metric behaves as it should; None if there is no
    standard to compare with.
    """

    trial: str
    holds: bool | None
    words: str


def conformance(
    metric: Metric, *, clock: Callable[[], float], samples: Mapping[str, str] = SAMPLES
) -> list[Trial]:
    """Run all trials of a metric; return the results.

    clock: gives seconds, such as time.perf_counter. samples: one sentence per language; UsageError
    for fewer than two.
    """
    if len(samples) < 2:
        raise UsageError("testing a metric needs sentences in two or more languages")
    same = [Item(text, (text,), text, language) for language, text in samples.items()]
    started = clock()
    scores = score_all(metric, same)
    seconds = clock() - started
    unrelated = score_all(metric, [replace(item, text=other.text) for item, other in _pairs(same)])
    findings = {
        "identity": _identity(metric, same, scores),
        "second reference": _second_reference(metric, same, scores),
        "direction": _direction(metric, same, scores, unrelated),
        "range": _range(metric, [*scores, *unrelated]),
        "empty texts": _empty(metric, same[0]),
        "odd texts": _odd_texts(metric, same[0]),
        "determinism": _determinism(metric, same, scores),
        "Unicode forms": _unicode(metric, same),
        "speed": (None, f"{1000 * seconds / len(same):.3g} ms per sentence, loading included"),
    }
    return [Trial(trial, holds, sentence) for trial, (holds, sentence) in findings.items()]


def _identity(metric: Metric, same: Sequence[Item], scores: Scores) -> Finding:
    best = metric.best
    if "references" not in metric.needs or best is None:
        return None, f"identical texts have no best score to reach: {_why_no_best(metric)}"
    short = [at for at, score in enumerate(scores) if score is None or abs(score - best) > NEAR]
    if not short:
        return True, f"identical texts reach {best:g} in all {len(same)} languages"
    first = scores[short[0]]
    shown = "missing" if first is None else f"{first:.6g}"
    return (
        False,
        (
            f"identical texts do not reach {best:g} in {_listed(same, short)}; in the first of"
            f" these the score is {shown}"
        ),
    )


def _second_reference(metric: Metric, same: Sequence[Item], scores: Scores) -> Finding:
    if "references" not in metric.needs or metric.descriptive:
        return None, "not tested: references do not say how good a text is by this metric"
    two_references = [
        replace(item, references=(other.text, item.text)) for item, other in _pairs(same)
    ]
    worse = [
        at
        for at, (alone, both) in enumerate(
            zip(scores, score_all(metric, two_references), strict=True)
        )
        if alone is not None and (both is None or _worse(metric, both, alone))
    ]
    if worse:
        return False, (
            "another reference makes the score of an identical text worse in"
            f" {_listed(same, worse)}"
        )
    return True, "another reference does not lower the score of an identical text"


def _direction(metric: Metric, same: Sequence[Item], scores: Scores, unrelated: Scores) -> Finding:
    if "references" not in metric.needs or metric.descriptive:
        return None, "without references there is no text that is surely better"
    not_worse = [
        at
        for at, (own, other) in enumerate(zip(scores, unrelated, strict=True))
        if own is not None and other is not None and not _worse(metric, other, own)
    ]
    if not_worse:
        return (
            False,
            (
                "a sentence in another language is no worse than an identical one in"
                f" {_listed(same, not_worse)}"
            ),
        )
    return (
        True,
        f"{metric.direction} is better: identical texts beat unrelated texts in every language",
    )


def _range(metric: Metric, scores: Scores) -> Finding:
    numbers = [score for score in scores if score is not None]
    if not numbers:
        return False, "no sentence has a score"
    seen = f"scores from {min(numbers):.4g} to {max(numbers):.4g}"
    low = -float("inf") if metric.low is None else metric.low
    high = float("inf") if metric.high is None else metric.high
    if min(numbers) < low - NEAR or max(numbers) > high + NEAR:
        return False, f"{seen}, outside {low:g} to {high:g}"
    return True, f"{seen}, within {low:g} to {high:g}"


def _empty(metric: Metric, item: Item) -> Finding:
    """Try a metric without output, without references and without source. It should give no score
    if it needs the missing text, and should not fail if it does not need it.
    """
    lacking = [replace(item, text=" \n"), replace(item, references=()), replace(item, source="")]
    try:
        answers = scored(metric, lacking)
    except Exception as error:  # a metric can raise anything
        return (
            False,
            f"raises an error if a text is missing that it claims not to need: {_shown(error)}",
        )
    reasons = [answer.reason for answer in answers if answer.score is None]
    undeclared = [reason for reason in reasons if reason.startswith(RAISED)]
    if undeclared:
        return (
            False,
            f"gives an error as its reason if a text is missing that it claims not to need:"
            f" {undeclared[0]}",
        )
    return True, "no score, because " + ", ".join(reasons)


def _odd_texts(metric: Metric, item: Item) -> Finding:
    try:
        answers = scored(metric, [replace(item, text=text) for text in ODD_TEXTS])
    except Exception as error:  # a metric can raise anything
        return False, f"raises an error for one of them: {_shown(error)}"
    without = [answer.reason for answer in answers if answer.score is None]
    raised = [reason for reason in without if reason.startswith(RAISED)]
    if raised:
        return False, f"{len(raised)} of {len(ODD_TEXTS)} have no score: {raised[0]}"
    sentence = (
        f"punctuation, a letter, an emoji, a text of {len(ODD_TEXTS[-1])} characters: no fault"
    )
    return True, sentence + (f"; {len(without)} have no score: {without[0]}" if without else "")


def _determinism(metric: Metric, same: Sequence[Item], scores: Scores) -> Finding:
    if list(scores) != score_all(metric, same):
        return False, "the same texts get other scores the second time"
    backwards = score_all(metric, same[::-1])[::-1]
    if any(map(_apart, scores, backwards)):
        return False, "a score depends on which texts are scored before or together with it"
    return True, "the same texts get the same scores, in any order"


def _unicode(metric: Metric, same: Sequence[Item]) -> Finding:
    composed, decomposed = (
        score_all(
            metric, [replace(item, text=unicodedata.normalize(form, item.text)) for item in same]
        )
        for form in ("NFC", "NFD")
    )
    differing = [at for at, apart in enumerate(map(_apart, composed, decomposed)) if apart]
    if differing:
        return (
            False,
            f"composed and decomposed texts (NFC, NFD) differ in {_listed(same, differing)}",
        )
    return True, "composed and decomposed texts (NFC, NFD) score the same"


def _pairs(same: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Pair each item with an item whose output is a sentence in another language."""
    half = len(same) // 2
    return [(item, same[(index + half) % len(same)]) for index, item in enumerate(same)]


def _worse(metric: Metric, score: float, than: float) -> bool:
    return than - score > NEAR if metric.direction == "higher" else score - than > NEAR


def _apart(score: float | None, other: float | None) -> bool:
    return score != other if score is None or other is None else abs(score - other) > NEAR


def _why_no_best(metric: Metric) -> str:
    if metric.descriptive:
        return "it says what a text is like, not how good it is"
    return "its range has no better end" if "references" in metric.needs else "it uses no reference"


def _listed(same: Sequence[Item], indices: Sequence[int]) -> str:
    first = ", ".join(same[index].language for index in indices[:8])
    return first + (f" and {len(indices) - 8} more" if len(indices) > 8 else "")


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
