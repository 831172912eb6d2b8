"""Whether a text is found to be in another language than it should be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

from metal.building.flags import LEAST, LanguageProfiles, letter_groups
from metal.raters.judges.rubric import Rubric
from metal.running.generating import _english

FILES = {"ar": "arabic", "zh": "chinese_simplified", "tr": "turkish", "yo": "yoruba"}
ENGLISH = (
    "The president of the country said on Monday that the government would build new roads and schools in the north, "
    "where farmers have waited for years."
)
HINDI = (
    "पुराना पुल सोमवार को बंद कर दिया गया। मरम्मत में एक साल लगेगा और लोग नाव से नदी पार करेंगे। "
    "नगर परिषद ने कहा कि पैसा पार्किंग से आएगा।"
)
SWAHILI = (
    "Baraza la mji lilipiga kura Jumatatu kubakisha kivuko. Hasara italipwa kutokana na ada za maegesho ya magari."
)

Rows = Mapping[str, list[tuple[str, str]]]  # language -> (passage, what a person wrote of it)


@pytest.fixture(scope="module")
def rows(reference: Path) -> Rows:
    result = {}
    for code, name in FILES.items():
        lines = (reference / "passages" / f"{name}_test.jsonl").read_text(encoding="utf-8").splitlines()
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
def test_texts_in_another_of_the_languages_are_found(count: int, rows: Rows, english: list[tuple[str, str]]) -> None:
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


def test_one_passage_is_enough() -> None:
    profiles = small()
    assert profiles.another(ENGLISH, "hi") == "en"
    assert profiles.another(ENGLISH, "sw") == "en"
    assert profiles.another(SWAHILI, "sw") == ""
    assert profiles.another(SWAHILI, "en") == "sw"


def test_latin_names_and_digits_in_chinese() -> None:
    profiles = small(("zh", "英国女子把信扔进北海,过了很多年终于收到回信。" * 50))
    for text in (
        "英国女子佐伊(Zoe Averianov)把信扔进北海(North Sea)。过了23年,她终于收到回信,信来自荷兰。",
        "据8月21日报道,市议会20日紧急召开会议,宣布21日17时起保留渡轮,亏损2021万元由停车费支付。",
        "iPhone 15 Pro Max与Galaxy S24 Ultra本周发售,价格分别为9999元和9699元,商户说销量很好。",
    ):
        assert profiles.another(text, "zh") == ""


def test_vowel_signs_belong_to_their_letters() -> None:
    assert small().another(HINDI, "hi") == ""
    assert small().another(HINDI, "sw") == "hi"
    assert LanguageProfiles([]).another(HINDI, "hi") == ""


@pytest.mark.parametrize("text", ["", "   ", "12, 34.", "Yes.", "2021 2022 " * 50, "🌧️" * 40])
def test_of_short_texts_and_of_texts_without_words_nothing_is_said(text: str) -> None:
    assert len(list(letter_groups(text))) < LEAST
    assert small().another(text, "sw") == ""


def test_a_script_by_itself_says_enough() -> None:
    assert LanguageProfiles([]).another(ENGLISH, "hi") == "?"
    assert LanguageProfiles([]).another(HINDI, "en") == "?"
    assert LanguageProfiles([]).another(SWAHILI, "en") == ""


def test_a_language_is_written_as_its_passages_are() -> None:
    """CLDR's script for Uzbek is Latin; these passages are in Cyrillic."""
    uzbek = "Президент душанба куни янги йўллар ва мактаблар қурилишини айтди. Деҳқонлар буни йиллар давомида кутган."
    profiles = small(("uz", uzbek))
    assert profiles.another(uzbek, "uz") == ""
    assert profiles.another(ENGLISH, "uz") == "en"


def test_varieties_of_a_language_are_one_language() -> None:
    british = LanguageProfiles([("en", ENGLISH * 20), ("en-GB", "Colour, labour, neighbour: the queue for crisps.")])
    assert british.another(ENGLISH, "en-GB") == ""


def test_however_many_passages_a_language_has_it_is_not_at_a_disadvantage() -> None:
    text = "Kura mpya zitapigwa baada ya wiki mbili kwa sababu madiwani kadhaa hawakufika kwenye kikao cha kwanza."
    many = [("sw", f"{SWAHILI} {number} {chr(97 + number % 26) * 5}") for number in range(400)]
    assert small(*many).another(text, "sw") == ""
