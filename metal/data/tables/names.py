"""Names of columns and raters, and what they say: the role, the rater, the criterion, or none of these."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path

# role: the English names of columns that play it, compared in lower case without blanks, dashes and underscores
_ENGLISH: Mapping[str, tuple[str, ...]] = {
    "rater": (
        *("rater", "raterid", "annotator", "annotatorid", "worker", "workerid"),
        *("judge", "evaluator", "user", "userid", "participant", "participantid", "respondent", "yourname"),
        *("email", "emailaddress", "ratername", "annotatorname", "judgename", "evaluatorname", "workername"),
        *("evaluatorid", "judgeid", "coder", "coderid", "labeler", "labeller", "labelerid", "reviewer", "reviewerid"),
        *("assessor", "assessorid", "grader", "scorer", "respondentid", "judgemodel", "evaluatormodel"),
    ),
    "score": (
        *("score", "rating", "label", "value", "answer", "judgement", "judgment", "grade", "scorevalue", "ratingvalue"),
        *("humanscore", "humanrating", "points", "stars"),
    ),
    "criterion": (
        *("criterion", "criteria", "metric", "dimension", "aspect", "question", "attribute", "criterionname", "rubric"),
        *("metricname", "aspectname", "dimensionname"),
    ),
    "language": ("language", "lang", "locale", "langcode", "languagecode", "targetlanguage", "tgtlang", "languagename"),
    "source": (
        *("source", "sourceid", "docid", "documentid", "document", "promptid", "segid", "passageid", "questionid"),
        *("contextid", "articleid", "queryid", "inputid", "doc"),
    ),
    "generator": ("generator", "system", "model", "sys", "systemid", "modelname", "modelid", "systemname"),
    "output": (
        *("output", "outputid", "item", "itemid", "summaryid", "taskid", "task", "textid", "id"),
        *("exampleid", "instanceid", "sampleid", "responseid", "uuid"),
    ),
    "kind": ("kind", "ratertype", "raterkind", "ratingtype", "annotatortype", "annotatorkind", "judgetype", "type"),
    "group": ("group", "ratergroup"),
    "reason": ("reason", "missingreason"),
    "reply": ("reply", "rawreply", "rawresponse", "rawoutput", "judgereply", "judgeresponse"),
    "confidence": ("confidence",),
    "content": ("contentid",),
    "of": ("of", "madefrom"),
    "condition": ("condition",),
    "comment": ("comment", "justification", "explanation", "feedback", "rationale", "notes"),
    "text": ("text", "summary", "response", "hypothesis", "hyp", "translation", "outputtext", "answer"),
    "source_text": (
        *("sourcetext", "passage", "prompt", "article", "input", "instruction", "messages", "conversation"),
        *("conversations", "question"),
    ),
    "winner": ("winner", "preference", "preferred", "choice", "battleoutcome", "better"),
    "first": ("first", "modela", "model1", "systema", "system1", "generatora", "generator1"),
    "second": ("second", "modelb", "model2", "systemb", "system2", "generatorb", "generator2"),
    "first_text": ("responsea", "response1", "answera", "answer1", "outputa", "output1", "conversationa", "chosen"),
    "second_text": ("responseb", "response2", "answerb", "answer2", "outputb", "output2", "conversationb", "rejected"),
    "shown": ("shown", "order", "swapped", "position"),
    "reference": ("reference", "ref", "referencetext", "gold", "goldanswer"),
}
# Words for kinds of raters besides their names.
KIND_WORDS = {"model": "llm", "ai": "llm", "person": "human", "people": "human", "annotator": "human"}
# Parts of ids, as `plain` spells them: of an output its set and its number in that, of a judge what it was told.
SUBSETS = ("dataset", "subset", "split", "section", "category")
NUMBERS = ("index", "idx", "itemindex", "itemnumber")
VARIANTS = ("prompt", "promptname", "promptid", "template", "prompttemplate", "setting", "variant")
COMMENTS = ("comment", "comments", "justification", "reason", "reasoning", "explanation", "feedback", "rationale")
ENDS = ("rating", "score", "label", "value", "grade")  # of columns: `ling_rating` is the criterion `ling`
CHOICE = re.compile(r"[ _.-]?(winner|preference|preferred|choice)$", re.I)  # of a rater: `gpt4_winner`
NO_ANSWERS = re.compile(
    r"(^|[ _])(id|index|(start|end)?time(stamp)?|date|duration|seconds|age|length|tokens|count|row|number|nr|no|year|"
    r"words|version|rate|mean|avg|average|split|fold|category|confidence)s?( ?[(\[][^)\]]*[)\]])?$"
)
RATER = re.compile(
    r"(a|r|h|p|w|ann|annotator|rater|worker|human|judge|person|expert|user|coder)[ _-]?\d+|humans?|experts?|crowd", re.I
)
MODEL = re.compile(
    r"gpt|claude(?! (?!opus|sonnet|haiku|instant)[a-z]+$)|gemini|palm-?2|"  # not Claude Dupont
    r"llama|mistral|mixtral|qwen|deepseek|command[ _-]?r\b|\bg-?eval\b|\bai[ _-]judge|^4o|"
    r"prometheus|gemma|\bbard\b|vicuna|falcon|"
    r"^judge([ _.-]?(score|rating|label|verdict|grade))?$|"  # beside people
    r"auto(mat(ic|ed))?[ _-]?(judge|eval|grader|rater)|^predict(ion|ed)$|autoj|"
    r"\bllm|_llm\b|davinci|(^|_)model$|\b(opus|sonnet|haiku)\b|grok|kimi|olmo|nemotron|chatglm|selene|skywork|alpaca|"
    r"\b(phi|aya|glm|yi)-|\bo[134](-|$)",
    re.IGNORECASE,
)
METRIC = re.compile(
    r"(sacre)?bleu(rt)?\b|rouge|bert-?score|\bcomet|chrf|meteor|moverscore|bartscore|summac|\bter\b", re.IGNORECASE
)
CRITERION = re.compile(
    r"fluen|coheren|relevan|consisten|adequa|accura|helpful|faithful|halluc|gramma|toxic|overall|quality|informat|"
    r"correct|accept|readab|harm(?!on)|safe|clarity|clear|factual|complete|problem|style|natural|useful|"
    r"verbos|complex|concise|redundan|^q(uestion)?[ _-]?\d+$",
    re.IGNORECASE,
)

# Names of what one would rather not find, unless they speak of its absence.
WORSE = re.compile(
    r"hal+uc|toxic|error|mistake|problem|harm|bias|offens|contradict|hate|violat|redundan|verbos|perplex|edit distance|"
    r"repetit|severity|fault|flaw|defect|omission|awkward|rude|profan|stereotyp|confusi|badness|wrong|nois[ey]|ambigu|"
    r"leak|post ?edit|decept|decei|sycophan|fabricat|insult|threat|\b[tw]er\b|\bcer\b|"
    r"\b(in|un|im|ir|dis|mis) ?(consisten|correct|coheren|accura|appropriate|faithful|relevan|fluen|support|natural|"
    r"complete|clear|readab|helpful|polite|inform|translat|truth|gramma|factual|adequa|leading)|"
    r"halluzin|galluzin|alucinac|halüsin|галлюцин|मतिभ्रम|হ্যালুসি|هلوس|幻觉|幻覚|환각|"
    r"erreur|errore|fehler|ошиб|\bhata|त्रुटि|गलत|ভুল|ত্রুটি|أخطاء|خطأ|错误|誤り|エラー|오류|\bmakosa|"
    r"tóxic|токсич|zehirli|विषाक्त|বিষাক্ত|سمية|毒性|有害|偏见|偏見|유해|\bsumu"
)
OPPOSITE = re.compile(r"\bnon ?(fluen|gramma|relevan|sens|factual|coheren)|\b(unsafe|rank(ing)?)\b")
ABSENCE = re.compile(r"harmless|free|unbias|without|absence|\bno[nt]?[ _-]|avoid|lack|detect|robust|resist")


def plain(name: str) -> str:
    """A column's name without what people write in different ways."""
    return re.sub(r"[\s_\-]+|[:*?]+$", "", unicodedata.normalize("NFC", name).lower())


with Path(__file__).with_name("headers.toml").open("rb") as _file:
    _others = tomllib.load(_file)
# role: the names of columns that play it, as `plain` spells them
GUESSES: Mapping[str, tuple[str, ...]] = {
    role: (*names, *map(plain, _others.get(role, ()))) for role, names in _ENGLISH.items()
}


def is_known(cell: object) -> bool:
    """Whether a cell of a header names a role or a rater."""
    name = str(cell)
    return any(plain(name) in names for names in GUESSES.values()) or bool(RATER.fullmatch(name) or MODEL.search(name))
