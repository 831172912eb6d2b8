"""What is flagged in a generated text, and what only looks like it."""

from __future__ import annotations

import pytest

from metal.building.flags import COPIES, REFUSES, LanguageProfiles, flags
from metal.data.records import Source

NO_PROFILES = LanguageProfiles([])

PASSAGES = {
    "en": "The council voted on Monday to keep the ferry. It will pay the loss from parking fees. Traders had asked "
    "for it since spring. Opponents wanted the money for the bridge. The mayor called the vote a relief for all.",
    "zh": "市议会周一投票决定保留渡轮。亏损将由停车费支付。商户自春天以来一直要求这样做。反对者希望把钱用于修桥。"
    "市长称这次投票让岛上居民松了一口气。",
    "ja": "市議会は月曜日、渡し船を残すことを決めた。赤字は駐車場の料金で賄う。商店は春から求めていた。"
    "反対派は橋の修理に使うよう望んだ。市長は島にとって安心だと述べた。",
    "th": "สภาเมืองลงมติเมื่อวันจันทร์ให้คงเรือข้ามฟากไว้ ส่วนที่ขาดทุนจะจ่ายจากค่าจอดรถ พ่อค้าแม่ค้าขอเรื่องนี้มาตั้งแต่ฤดูใบไม้ผลิ "
    "ฝ่ายค้านอยากให้ใช้เงินซ่อมสะพาน นายกเทศมนตรีบอกว่าชาวเกาะโล่งใจ",
    "ar": "صوّت المجلس يوم الاثنين على إبقاء العبّارة. ستُدفع الخسارة من رسوم المواقف. طالب التجار بذلك منذ الربيع. "
    "أراد المعارضون المال للجسر. وصف العمدة التصويت بأنه ارتياح للجزيرة.",
}
LEADS = {"en": ". ", "zh": "。", "ja": "。", "th": " ", "ar": ". "}


def wrong(text: str, language: str = "en", passage: str = "") -> tuple[str, ...]:
    return flags(text, Source("s", language, passage or PASSAGES.get(language, "")), NO_PROFILES)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I can’t assist with this request.",
        "I am very sorry, but I cannot write a bad summary.",
        "Sorry, I cannot provide a summary of this passage.",
        "We are sorry, but we are unable to process this text.",
        "I apologize, but I will not create misleading content.",
        "I apologise; I am not able to comply.",
        "I must apologize, but I cannot summarise this.",
        "I cannot assist with that.",
        "I can not do that.",
        "I can't help you write content that is harmful.",
        "I won't write that.",
        "I'm unable to summarize this passage.",
        "I’m not able to do this.",
        "As an AI language model, I cannot generate such content.",
        "As an AI, I'm unable to fulfill this request.",
        "Unfortunately, I can't provide that.",
        "**I'm sorry, but I can't help with that.**",
        "  \n I'M SORRY, BUT I CAN'T HELP WITH THAT.",
    ],
)
def test_refusals(text: str) -> None:
    assert wrong(text) == (REFUSES,)


@pytest.mark.parametrize(
    "text",
    [
        "Sorry state of roads angers villagers in the north.",
        "Sorry seems to be the hardest word for the minister, who will not resign.",
        "I'm a Celebrity returns to television on Sunday.",
        "I Can't Believe It's Not Butter is sold to a rival.",
        "As an AI boom sweeps the world, chip makers cannot produce enough.",
        "As an AI language model improves, teachers change their homework.",
        "\"I'm sorry, but I can't help,\" the surgeon told the family.",
        '"I cannot support this bill," the senator said.',
        "The minister said: I'm sorry, but I cannot help. He then left.",
        'The bank told customers: "We\'re sorry, we are unable to process payments."',
        "We are the champions, the fans sang; they cannot help it.",
        "Unfortunately, the ferry cannot help traders any more.",
        "I, Robot is shown again. The robot cannot help people.",
        "I will always love you, the singer wrote.",
        "",
    ],
)
def test_what_only_looks_like_a_refusal(text: str) -> None:
    assert wrong(text) == ()


def test_long_texts_that_begin_like_a_refusal() -> None:
    for text in ("* " * 20_000 + "x", "sorry " * 20_000, "i can't be able to " * 10_000, "i " * 30_000):
        assert REFUSES not in wrong(text, passage="Another passage.")


@pytest.mark.parametrize("language", PASSAGES)
def test_copies(language: str) -> None:
    passage = PASSAGES[language]
    end = LEADS[language]
    most = passage[: len(passage) * 9 // 10]
    for copy in (passage, f"\n  {passage}\n\n", passage.replace(end, end + "\n\n"), most):
        assert COPIES in wrong(copy, language)
    lead = end.join(passage.split(end)[:2])
    assert wrong(lead, language) == ()


def test_a_passage_set_with_much_white_space_is_copied_all_the_same() -> None:
    passage = PASSAGES["en"].replace(" ", "   \n")
    assert COPIES in wrong(PASSAGES["en"], "en", passage)


@pytest.mark.parametrize("passage", [" \n", "\x00", "..."])
def test_a_passage_without_words_cannot_be_copied(passage: str) -> None:
    assert wrong("A text.", "en", passage) == ()


def test_another_text_of_the_same_length_is_no_copy() -> None:
    assert wrong(PASSAGES["en"].replace("e", "a"), "en") == ()


def test_a_text_may_have_several_flags() -> None:
    text = "I'm sorry, but I can't help with that. 我不能。"
    profiles = LanguageProfiles([("en", PASSAGES["en"]), ("zh", PASSAGES["zh"])])
    assert flags(PASSAGES["en"], Source("s", "zh", PASSAGES["en"]), profiles) == (COPIES, "in English")
    assert flags(text, Source("s", "zh", PASSAGES["zh"]), profiles)[0] == REFUSES


def test_another_script_without_a_known_language() -> None:
    result = flags(PASSAGES["ar"], Source("s", "th", PASSAGES["th"]), LanguageProfiles([("th", PASSAGES["th"])]))
    assert result == ("in another script",)
