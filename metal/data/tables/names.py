"""What names of columns and raters mean: a role, a rater, a criterion, or none of these."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path


def _lists_in(file: str) -> dict[str, list[str]]:
    with Path(__file__).with_name(file).open("rb") as opened:
        return tomllib.load(opened)


_ENGLISH, _OTHERS, _WORDS = map(_lists_in, ("english.toml", "headers.toml", "words.toml"))
COUNTED = frozenset(_WORDS["counted"])
NO_RATER = COUNTED | frozenset(_WORDS["no_rater"])
NO_CRITERION = COUNTED | frozenset(_WORDS["no_criterion"])
NO_OUTPUT = frozenset(_WORDS["no_output"])
NO_LANGUAGE = frozenset(_WORDS["no_language"])
ENGLISH = frozenset(_WORDS["english"])
# Words for kinds of raters besides their names.
KIND_WORDS = {
    "model": "llm",
    "ai": "llm",
    "person": "human",
    "people": "human",
    "annotator": "human",
}
# Parts of ids, as `plain` spells them: of an output its set and its number in that, of a judge what
# it was told.
SUBSETS = ("dataset", "subset", "split", "section", "category")
NUMBERS = ("index", "idx", "itemindex", "itemnumber")
VARIANTS = ("prompt", "promptname", "promptid", "template", "prompttemplate", "setting", "variant")
COMMENTS = (
    "comment",
    "comments",
    "justification",
    "reason",
    "reasoning",
    "explanation",
    "feedback",
    "rationale",
)
# of columns: `ling_rating` is the criterion `ling`
ENDS = ("rating", "score", "label", "value", "grade")
# of a rater: `gpt4_winner`, `winner_gpt4`
_CHOICES = "winner|pref(erence|erred)?|choice|vote|pick|selection|better|rank(ing)?"
CHOICE = re.compile(rf"[ _.-]?({_CHOICES})$|^({_CHOICES})[ _.-]", re.I)
NO_ANSWERS = re.compile(
    r"(^|[ _.])(id|index|(start|end)?time(stamp)?|date|duration|seconds|age|length|tokens|count|"
    r"row|number|nr|no|year|words|version|rate|mean|avg|average|split|fold|category|confidence)s?"
    r"( ?[(\[][^)\]]*[)\]])?$"
)
# Words in names of columns that say that people answered there, and names that are nothing but such
# a word.
_PERSON_WORDS = (
    r"annotators?|raters?|workers?|humans?|judges?|persons?|people|experts?|coders?|reviewers?|evaluators?|assessors?|"
    r"graders?|labell?ers?|scorers?|participants?|respondents?|turkers?|crowd(worker)?s?|linguists?|volunteers?"
)
RATER = re.compile(
    rf"[arhpw][ _-]?\d+|(ann|user|{_PERSON_WORDS})([ _-]?\d+|[ _-][a-z])|humans?|experts?|crowd",
    re.I,
)
PERSON = re.compile(rf"(?<![a-z])({_PERSON_WORDS})(?![a-z])|^[^@\s]+@[^@\s]+\.[a-z]+$", re.I)
MODEL = re.compile(
    r"gpt|claude(?! (?!opus|sonnet|haiku|instant)[a-z]+$)|gemini|palm-?2|"  # not Claude Dupont
    r"llama|mistral|mixtral|qwen|deepseek|command[ _-]?r\b|\bg-?eval\b|\bai[ _-]judge|^4o|"
    r"prometheus|gemma|\bbard\b|vicuna|falcon|"
    rf"^judge([ _.-]?(score|rating|label|verdict|grade|answer|decision|prediction|{_CHOICES}))?$|"
    r"auto(mat(ic|ed))?[ _-]?(judge|eval|grader|rater|label|score|rating)|^predict(ion|ed)$|autoj|"
    r"\bllm|_llm\b|davinci|(^|_)model$|\b(opus|sonnet|haiku)\b|grok|kimi|olmo|nemotron|chatglm|selene|skywork|alpaca|"
    r"\b(phi|aya|glm|yi)-|\bo[134](-|$)|\bgemba\b|\bautomqm\b",
    re.IGNORECASE,
)
METRIC = re.compile(
    r"(sacre)?bleu(rt)?\b|rouge|bert-?score|\bcomet|chrf|meteor|moverscore|bartscore|summac|\bter\b|"
    r"\bx?comet|metricx|\byisi|\bprism\b",
    re.IGNORECASE,
)
CRITERION = re.compile(
    r"fluen|coheren|relevan|consisten|adequa|accura|helpful|faithful|halluc|gramma|toxic|overall|quality|informat|"
    r"correct|accept|readab|harm(?!on)|safe|clarity|clear|factual|complete|problem|style|natural|useful|"
    r"verbos|complex|concise|redundan|^q(uestion)?[ _-]?\d+$",
    re.IGNORECASE,
)

# Names of what one would rather not find, unless they speak of its absence.
WORSE = re.compile(
    r"hal+uc|toxic|error|mistake|problem|harm|bias|offens|contradict|hate|violat|redundan|verbos|perplex|edit"
    r" distance|"
    r"repetit|severity|fault|flaw|defect|omission|awkward|rude|profan|stereotyp|confusi|badness|wrong|nois[ey]|ambigu|"
    r"leak|post ?edit|decept|decei|sycophan|fabricat|insult|threat|\b[tw]er\b|\bcer\b|"
    r"\b(in|un|im|ir|dis|mis)"
    r" ?(consisten|correct|coheren|accura|appropriate|faithful|relevan|fluen|support|natural|"
    r"complete|clear|readab|helpful|polite|inform|translat|truth|gramma|factual|adequa|leading)|"
    r"halluzin|galluzin|alucinac|halüsin|галлюцин|मतिभ्रम|হ্যালুসি|هلوس|幻觉|幻覚|환각|"
    r"erreur|errore|fehler|ошиб|\bhata|त्रुटि|गलत|ভুল|ত্রুটি|أخطاء|خطأ|错误|誤り|エラー|오류|\bmakosa|"
    r"tóxic|токсич|zehirli|विषाक्त|বিষাক্ত|سمية|毒性|有害|偏见|偏見|유해|\bsumu"
)
OPPOSITE = re.compile(r"\bnon ?(fluen|gramma|relevan|sens|factual|coheren)|\b(unsafe|rank(ing)?)\b")
# Penalties, whose sign says which end is better; school grades with 1 as the best, and those of
# schools of both kinds.
PENALTIES = re.compile(r"\bmqm\b|penalt|\bdeduct|abzüge|штраф|罚分")
GRADES_1_BEST = re.compile(r"schulnoten?\b|\bzensur(en)?\b|\bznámk|\bznamk")
GRADES_EITHER_WAY = re.compile(r"(^|[\W_]|gesamt|end|teil|deutsch|stil)noten?\b")
ABSENCE = re.compile(
    r"harmless|free|unbias|without|absence|\bno[nt]?[ _-]|avoid|lack|detect|robust|resist"
)


def plain(name: str) -> str:
    """The name of a column without differences in spelling."""
    return re.sub(r"[\s_\-]+|[:*?]+$", "", unicodedata.normalize("NFC", name).lower())


def words_of(name: str) -> list[str]:
    """The words of a column's name in lower case; names may be like `isCorrect`, `answer1_prob` or
    `scores.gpt-4`.

    >>> words_of("answer1_prob"), words_of("isCorrect")
    (['answer', 'prob'], ['is', 'correct'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W\d_]+", spaced)]


# What a column tells of raters or of what they did, when it is the last word of its name.
_OF_RATERS = {"age", "agreement", "calls", "experience", "group", "len", "length", "n", "prompt"}
_OF_RATERS |= {"prompts", "raw", "runs", "sd", "std", "years"}


@lru_cache(maxsize=16384)
def is_nobodys(name: str) -> bool:
    """Whether a column's name says that it counts, measures or summarises something, or holds true
    or false.
    """
    name_words = words_of(name)
    if not name_words:
        return False
    return (
        not NO_RATER.isdisjoint(name_words)
        or name_words[0] in ("is", "has", "n", "num", "nr")
        or (name_words[-1] in _OF_RATERS and bool(PERSON.search(name) or MODEL.search(name)))
        or _is_probability(name_words)
    )


def is_no_criterion(name: str) -> bool:
    """Whether a column's name shows that it is no criterion, if other columns may be.

    It counts, measures or summarises something, or describes what happened to its row (`reviewed`,
    `is_final`).
    """
    name_words = words_of(name)
    if not name_words:
        return False
    of_the_row = name_words[0] in ("is", "has") and not CRITERION.search(name)
    return not NO_CRITERION.isdisjoint(name_words) or of_the_row or _is_probability(name_words)


def _is_probability(name_words: Sequence[str]) -> bool:
    """Whether the words of a name are those of a probability, such as `p_correct`."""
    return name_words[0] == "p" and len(name_words) > 1


# role: the names of columns that play it, as `plain` spells them
GUESSES: Mapping[str, tuple[str, ...]] = {
    role: (*names, *map(plain, _OTHERS.get(role, ()))) for role, names in _ENGLISH.items()
}
_PEOPLE_ELSEWHERE = tuple(
    sorted(filter(lambda name: not name.isascii(), GUESSES["rater"]), key=len, reverse=True)
)


@lru_cache(maxsize=16384)
def is_person(name: str) -> bool:
    """Whether a column's name says that a person answered: `A1`, `human_score`, `annotator_anna`,
    `评分人 2`.
    """
    if is_nobodys(name):
        return False
    return bool(RATER.fullmatch(name) or PERSON.search(name)) or plain(name).startswith(
        _PEOPLE_ELSEWHERE
    )


@lru_cache(maxsize=16384)
def is_machine(name: str) -> bool:
    """Whether a column's name is that of a judge or metric."""
    return not is_nobodys(name) and bool(MODEL.search(name) or METRIC.search(name))


_OF_ROLES = frozenset(name for names in GUESSES.values() for name in names)


def is_known(cell: object) -> bool:
    """Whether a cell of a header names a role or a rater."""
    name = str(cell)
    return plain(name) in _OF_ROLES or bool(RATER.fullmatch(name) or MODEL.search(name))
