"""Refusals, copies and texts in another language, told from the dataset's own passages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

from metal.building.flags import COPIES, LEAST, REFUSES, LanguageProfiles, flags, letter_groups
from metal.data.records import Source
from metal.raters.judges.rubric import Rubric
from metal.running.generating import _english

NO_PROFILES = LanguageProfiles([])

PASSAGES = {
    "en": (
        "The council voted on Monday to keep the ferry. It will pay the loss from parking fees."
        " Traders had asked for it since spring. Opponents wanted the money for the bridge. The"
        " mayor called the vote a relief for all."
    ),
    "zh": (
        "市议会周一投票决定保留渡轮。亏损将由停车费支付。商户自春天以来一直要求这样做。"
        "反对者希望把钱用于修桥。"
        "市长称这次投票让岛上居民松了一口气。"
    ),
    "ja": (
        "市議会は月曜日、渡し船を残すことを決めた。赤字は駐車場の料金で賄う。商店は春から求めていた。"
        "反対派は橋の修理に使うよう望んだ。市長は島にとって安心だと述べた。"
    ),
    "th": (
        "สภาเมืองลงมติเมื่อวันจันทร์ให้คงเรือข้ามฟากไว้ ส่วนที่ขาดทุนจะจ่ายจากค่าจอดรถ"
        " พ่อค้าแม่ค้าขอเรื่องนี้มาตั้งแต่ฤดูใบไม้ผลิ ฝ่ายค้านอยากให้ใช้เงินซ่อมสะพาน"
        " นายกเทศมนตรีบอกว่าชาวเกาะโล่งใจ"
    ),
    "ar": (
        "صوّت المجلس يوم الاثنين على إبقاء العبّارة. ستُدفع الخسارة من رسوم المواقف. طالب التجار"
        " بذلك منذ الربيع. أراد المعارضون المال للجسر. وصف العمدة التصويت بأنه ارتياح للجزيرة."
    ),
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
    for text in (
        "* " * 20_000 + "x",
        "sorry " * 20_000,
        "i can't be able to " * 10_000,
        "i " * 30_000,
    ):
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
    assert flags(PASSAGES["en"], Source("s", "zh", PASSAGES["en"]), profiles) == (
        COPIES,
        "in English",
    )
    assert flags(text, Source("s", "zh", PASSAGES["zh"]), profiles)[0] == REFUSES


def test_another_script_without_a_known_language() -> None:
    result = flags(
        PASSAGES["ar"],
        Source("s", "th", PASSAGES["th"]),
        LanguageProfiles([("th", PASSAGES["th"])]),
    )
    assert result == ("in another script",)


FILES = {"ar": "arabic", "zh": "chinese_simplified", "tr": "turkish", "yo": "yoruba"}
ENGLISH = (
    "The president of the country said on Monday that the government would build new roads and"
    " schools in the north, where farmers have waited for years."
)
HINDI = (
    "पुराना पुल सोमवार को बंद कर दिया गया। मरम्मत में एक साल लगेगा और लोग नाव से नदी पार करेंगे। "
    "नगर परिषद ने कहा कि पैसा पार्किंग से आएगा।"
)
SWAHILI = (
    "Baraza la mji lilipiga kura Jumatatu kubakisha kivuko. Hasara italipwa kutokana na ada za"
    " maegesho ya magari."
)

Rows = Mapping[str, list[tuple[str, str]]]  # language -> (passage, what a person wrote of it)


@pytest.fixture(scope="module")
def rows(reference: Path) -> Rows:
    result = {}
    for code, name in FILES.items():
        lines = (
            (reference / "passages" / f"{name}_test.jsonl").read_text(encoding="utf-8").splitlines()
        )
        result[code] = [(row["text"], row["summary"]) for row in map(json.loads, lines)]
    return result


@pytest.fixture(scope="module")
def english(rubrics: Mapping[str, Rubric]) -> list[tuple[str, str]]:
    return list(_english(rubrics))


def profiles_of(rows: Rows, english: list[tuple[str, str]], count: int) -> LanguageProfiles:
    def passages() -> Iterator[tuple[str, str]]:
        for code, listed in rows.items():
            yield from ((code, text) for text, _ in islice(listed, count))

    return LanguageProfiles([*english, *passages()])


@pytest.mark.reference
@pytest.mark.parametrize(("count", "most"), [(20, 1), (5, 1), (1, 2)])
def test_what_people_wrote_is_in_its_language(
    count: int, most: int, rows: Rows, english: list[tuple[str, str]]
) -> None:
    """One of the Yoruba summaries is in English, or Pidgin."""
    profiles = profiles_of(rows, english, count)
    shown = [profiles.another(text, code) for code, listed in rows.items() for _, text in listed]
    assert len(shown) == 679
    assert 1 <= len([each for each in shown if each]) <= most


@pytest.mark.reference
@pytest.mark.parametrize("count", [20, 1])
def test_texts_in_another_of_the_languages_are_found(
    count: int, rows: Rows, english: list[tuple[str, str]]
) -> None:
    profiles = profiles_of(rows, english, count)
    shown = [
        profiles.another(text, code)
        for code in rows
        for other, listed in rows.items()
        if other != code
        for _, text in listed
    ]
    assert len(shown) == 3 * 679
    assert sum(map(bool, shown)) >= 0.99 * len(shown)


@pytest.mark.reference
@pytest.mark.parametrize("language", FILES)
def test_english_is_found_where_there_is_one_language_only(
    language: str, rows: Rows, english: list[tuple[str, str]]
) -> None:
    for count in (1, 20, 150):
        profiles = profiles_of({language: rows[language]}, english, count)
        assert profiles.another(ENGLISH, language) == "en"
        shown = [profiles.another(text, language) for _, text in rows[language]]
        assert sum(map(bool, shown)) <= 2  # of 150 and more


def small(*more: tuple[str, str]) -> LanguageProfiles:
    passages = {"hi": HINDI, "sw": SWAHILI, "zh": "市议会周一投票决定保留渡轮,亏损将由停车费支付。"}
    return LanguageProfiles([("en", ENGLISH * 20), *passages.items(), *more])


@pytest.mark.parametrize(
    ("text", "language", "of_a_passage", "of_none"),
    [
        (ENGLISH, "hi", "en", "?"),
        (ENGLISH, "sw", "en", ""),
        (SWAHILI, "sw", "", ""),
        (SWAHILI, "en", "sw", ""),
        (HINDI, "hi", "", ""),  # vowel signs belong to their letters
        (HINDI, "sw", "hi", "?"),
        (HINDI, "en", "hi", "?"),
    ],
)
def test_one_passage_is_enough_and_of_a_script_none(
    text: str, language: str, of_a_passage: str, of_none: str
) -> None:
    assert (small().another(text, language), NO_PROFILES.another(text, language)) == (
        of_a_passage,
        of_none,
    )


def test_latin_names_and_digits_in_chinese() -> None:
    profiles = small(("zh", "英国女子把信扔进北海,过了很多年终于收到回信。" * 50))
    for text in (
        "英国女子佐伊(Zoe Averianov)把信扔进北海(North Sea)。过了23年,她终于收到回信,信来自荷兰。",
        "据8月21日报道,市议会20日紧急召开会议,宣布21日17时起保留渡轮,亏损2021万元由停车费支付。",
        "iPhone 15 Pro Max与Galaxy S24 Ultra本周发售,价格分别为9999元和9699元,商户说销量很好。",
    ):
        assert profiles.another(text, "zh") == ""


@pytest.mark.parametrize("text", ["", "   ", "12, 34.", "Yes.", "2021 2022 " * 50, "🌧️" * 40])
def test_of_short_texts_and_of_texts_without_words_nothing_is_said(text: str) -> None:
    assert len(list(letter_groups(text))) < LEAST
    assert small().another(text, "sw") == ""


def test_a_language_is_written_as_its_passages_are() -> None:
    """CLDR's script for Uzbek is Latin; these passages are in Cyrillic."""
    uzbek = (
        "Президент душанба куни янги йўллар ва мактаблар қурилишини айтди. Деҳқонлар буни йиллар"
        " давомида кутган."
    )
    profiles = small(("uz", uzbek))
    assert profiles.another(uzbek, "uz") == ""
    assert profiles.another(ENGLISH, "uz") == "en"


def test_varieties_of_a_language_are_one_language() -> None:
    british = LanguageProfiles(
        [("en", ENGLISH * 20), ("en-GB", "Colour, labour, neighbour: the queue for crisps.")]
    )
    assert british.another(ENGLISH, "en-GB") == ""


def test_however_many_passages_a_language_has_it_is_not_at_a_disadvantage() -> None:
    text = (
        "Kura mpya zitapigwa baada ya wiki mbili kwa sababu madiwani kadhaa hawakufika kwenye kikao"
        " cha kwanza."
    )
    many = [("sw", f"{SWAHILI} {number} {chr(97 + number % 26) * 5}") for number in range(400)]
    assert small(*many).another(text, "sw") == ""
