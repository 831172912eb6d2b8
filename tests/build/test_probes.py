"""Probes in every script: the text changes by the dose that was asked and stays in its script;
datasets of probes.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import regex

import metal
from metal.building.probe_plan import plan_probes
from metal.building.probes import load_probes, scripts
from metal.building.probes.contract import KINDS, Material, NotApplicable, Others, Probe
from metal.errors import UnknownName, UsageError
from tests.saying import tells

# A sentence or two in each script, whose words are drawn from.
TEXTS = {
    "yo": (
        "Ajìjàgbara ilẹ̀ Yorùbá ti gbogbo ènìyàn mọ̀ ni ọkàn òun kò mì rárá nínú ìjà. Ó sọ 45 ọ̀rọ̀"
        " fún wọn."
    ),
    "hi": ("नियमित शारीरिक गतिविधि के हमारे स्वास्थ्य के लिए कई लाभ हैं। भारत में १२५ लोगों ने यह कहा।"),
    "ta": ("டெபிட் கார்டுகளும் கிரெடிட் கார்டுகளும் பல வழிகளில் வேறுபடுகின்றன. இதில் 37 வகைகள் உள்ளன."),
    "ar": ("قَالَ المرصدُ السوريُّ إنَّ ٤٠ شخصًا قُتِلوا في انفجارٍ بمدينةِ حمص. وأُصيبَ آخرونَ بجروحٍ."),
    "ur": "پاکستان کے شہر میں ۲۵ افراد نے کہا کہ یہ بہت اچھا ہے۔ لوگ خوش تھے۔",
    "he": "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ. היו שם 12 אנשים.",
    "zh": (
        "据美国媒体报道，著名制片人以及公司董事会成员达成和解协议。会议于2015年11月举行，共有三十人参加。"
    ),
    "ja": "東京で行われた会議には2024年に多くの人が参加しました。カメラが用意されていた。",
    "th": "นายกรัฐมนตรีกล่าวว่าประเทศไทยมีประชากร 70 ล้านคนและเศรษฐกิจกำลังเติบโต",
    "my": "မြန်မာနိုင်ငံတွင် လူ ၅၀ ဦး တက်ရောက်ခဲ့သည်။ သူတို့ ပျော်ရွှင်ကြသည်။",
    "km": "ប្រទេសកម្ពុជាមានប្រជាជន ១៦ លាននាក់។ ពួកគេរស់នៅទីនេះ។",
    "ko": "한국의 수도 서울에는 많은 사람들이 살고 있다. 오늘 15 명이 왔다.",
    "am": "የኢትዮጵያ ዋና ከተማ አዲስ አበባ ናት። በዚህ ዓመት 20 ሰዎች መጡ።",
    "ru": "Президент России заявил, что ещё 30 человек приехали в Москву. Они были рады.",
    "vi": "Thủ tướng Việt Nam nói rằng đã có 60 người đến Hà Nội hôm nay. Họ rất vui.",
}
GRADED = {
    "words-deleted",
    "words-shuffled",
    "sentences-shuffled",
    "characters-noised",
    "diacritics-stripped",
}
PROBES = {probe.name: probe for probe in load_probes(KINDS)}


def texts_in(language: str, rng: np.random.Generator) -> list[str]:
    """Texts of 4 to about 80 words of the language's own."""
    pieces, places = scripts.words(TEXTS[language], language)
    joint = "" if scripts.script_of(language) in scripts.UNSPACED else " "
    lengths = (4, 13, 26, 40, 80)
    drawn = [
        joint.join(rng.choice([pieces[place] for place in places], length)) for length in lengths
    ]
    drawn = [text.rstrip(TEXTS[language][-1]) + TEXTS[language][-1] for text in drawn]
    return [TEXTS[language], *drawn, " ".join([TEXTS[language]] * 3)]


def material(text: str, language: str, rng: np.random.Generator) -> Material:
    return Material(
        text,
        language,
        text,
        Others([TEXTS.get(language, "")[::2] + " Nairobi"]),
        ["The ferry runs."],
        rng,
    )


def letters_scripts(text: str) -> set[str]:
    """The scripts of the letters, by the first words of their names."""
    return {unicodedata.name(char).split()[0] for char in text if char.isalpha()}


def measured(name: str, text: str, changed: str, language: str) -> float:
    """The share that was changed, counted without the code that changed it."""
    if name == "diacritics-stripped":

        def marks(text: str) -> int:
            return sum(
                scripts.without_marks(cluster) != cluster for cluster in regex.findall(r"\X", text)
            )

        return 1 - marks(changed) / marks(text)
    if name == "characters-noised":
        pairs = list(zip(regex.findall(r"\X", text), regex.findall(r"\X", changed), strict=True))
        letters = [(old, new) for old, new in pairs if regex.match(r"\p{L}", old)]
        return sum(old != new for old, new in letters) / len(letters)
    if name == "sentences-shuffled":
        old, new = ([part.strip() for part in scripts.sentences(each)] for each in (text, changed))
    elif scripts.script_of(language) in scripts.UNSPACED:
        units = (regex.findall(r"(?:\p{Latin}\p{M}*|\p{Nd})+|\X", each) for each in (text, changed))
        old, new = (
            [part for part in parts if regex.match(r"[\p{L}\p{N}]", part)] for parts in units
        )
    else:
        old, new = text.split(), changed.split()
    if name == "words-deleted":
        return 1 - len(new) / len(old)
    assert Counter(old) == Counter(new)
    return sum(first != second for first, second in zip(old, new, strict=True)) / len(old)


@pytest.mark.parametrize("language", TEXTS)
def test_every_script(language: str) -> None:
    rng = np.random.default_rng(len(language) + ord(language[0]))
    applied = set()
    for text in texts_in(language, rng):
        for name, probe in PROBES.items():
            for dose in probe.conditions.values():
                try:
                    changed = probe.change(material(text, language, rng), dose)
                except NotApplicable:
                    continue
                applied.add(name)
                assert changed != text
                assert changed.encode().decode() == changed  # no lone surrogates
                if name in GRADED:
                    share = measured(name, text, changed, language)
                    assert abs(share - dose) <= 0.02 + 1e-9, (name, dose, text, changed)
                if name in GRADED - {"diacritics-stripped"}:  # no cluster is broken
                    assert set(regex.findall(r"\X", changed)) <= set(regex.findall(r"\X", text)) | {
                        " "
                    }
                if name in (
                    "digits-changed",
                    "cut-in-half",
                    *GRADED,
                    "padded",
                    "repeated-three-times",
                ):
                    assert letters_scripts(changed) <= letters_scripts(text)
                if name == "digits-changed":
                    digits = [
                        [char for char in each if char.isdecimal()] for each in (text, changed)
                    ]
                    zeros = [
                        {ord(digit) - unicodedata.decimal(digit) for digit in each}
                        for each in digits
                    ]
                    assert zeros[0] == zeros[1]
                if name == "other-encoding":
                    assert unicodedata.normalize("NFC", changed) == unicodedata.normalize(
                        "NFC", text
                    )
    assert {
        "words-deleted",
        "words-shuffled",
        "characters-noised",
        "digits-changed",
        "swapped-output",
    } <= applied
    marked = {"yo", "ar", "he", "vi", "ru"}  # Cyrillic й and ё are letters with marks
    assert ("diacritics-stripped" in applied) == (language in marked)


def test_changes_by_hand() -> None:
    rng = np.random.default_rng(0)

    def change(name: str, text: str, language: str) -> str:
        return PROBES[name].change(material(text, language, rng), 1.0)

    assert change("diacritics-stripped", "Bọ́lá ń jẹun", "yo") == "Bola n jeun"
    assert change("diacritics-stripped", "كِتَابٌ", "ar") == "كتاب"
    assert change("cut-in-half", "a b c d e", "en") == "a b"
    assert change("bold-type", "यह एक है। यह दो है।", "hi") == "**यह एक है।** यह दो है।"
    assert change("other-quotes", "He said „no“.", "de") == 'He said "no".'
    assert change("other-quotes", 'Ó ní "rárá". "Bẹ́ẹ̀."', "yo") == "Ó ní “rárá”. “Bẹ́ẹ̀.”"
    assert change("as-a-list", "“我去。”他说。他走了。", "zh") == "- “我去。”他说。\n- 他走了。"
    assert (
        change("as-a-list", "डॉ. राम ने 8. 5 कहा। वह गया।", "hi")
        == "- डॉ. राम ने 8. 5 कहा।\n- वह गया।"
    )
    assert change("other-script", "Москва", "ru") == "moskva"
    # the number of a list's item
    assert change("digits-changed", "1. Es waren 7.", "de").startswith("1. Es waren ")
    # no blank is added or lost
    assert change("bold-type", "这样。那样。\n\n好。", "zh") == "**这样。**那样。\n\n好。"
    # a hyphen takes no vowel's place
    assert change("other-script", "नमस्ते 8-10", "hi") == "namaste 8-10"
    assert not any(
        change("digits-changed", f"{number} 人", "zh").startswith("0") for number in range(10, 99)
    )
    steps = "方法：\n\n1. 睡觉。\n2. 吃饭。"
    assert scripts.sentences(steps) == ["方法：\n\n", "1. 睡觉。\n", "2. 吃饭。"]
    for name, text, language, why in (
        ("as-a-list", steps, "zh", "a list already"),
        ("bold-type", "**தமிழ்:** ஒரு.", "ta", "asterisks already"),
        ("other-quotes", 'Ó ní "rárá. "Bẹ́ẹ̀."', "yo", "do not pair"),
        ("name-swapped", "他在Getty工作。", "zh", "no capitals"),
    ):
        with pytest.raises(NotApplicable, match=why):
            change(name, text, language)
    # a name and a figure are words, which stay apart; letters stay in their script
    for seed in range(20):
        mixed = Material(
            "他在Getty工作，11月2日到Paris。" * 3,
            "zh",
            "",
            Others([]),
            [],
            np.random.default_rng(seed),
        )
        for name in ("words-deleted", "words-shuffled"):
            pieces = regex.findall(r"[A-Za-z0-9]+", PROBES[name].change(mixed, 0.2))
            assert set(pieces) <= {"Getty", "Paris", "11", "2"}
        noised = PROBES["characters-noised"].change(mixed, 0.4)
        assert [char.isascii() for char in noised] == [char.isascii() for char in mixed.text]
    with pytest.raises(NotApplicable, match="no sounds"):
        change("other-script", "北京", "zh")
    with pytest.raises(NotApplicable, match="too few words for 10%"):
        PROBES["words-deleted"].change(material("a b c", "en", rng), 0.1)
    text = "The minister met Wanjiru in Mombasa."
    swapped = PROBES["name-swapped"].change(
        Material(text, "en", text, Others(["He saw Akinyi there."]), [], rng), 1.0
    )
    assert swapped in (text.replace("Wanjiru", "Akinyi"), text.replace("Mombasa", "Akinyi"))


def world(**more: object) -> metal.Dataset:
    """Twelve sources in two languages, rated by one person."""
    texts = {
        "en": "The minister met {} people in town {} today.",
        "hi": "मंत्री ने {} लोगों से शहर {} में मुलाकात की।",
    }
    rows = []
    for number in range(12):
        for language, text in texts.items():
            about = {
                "source": f"{language}{number}",
                "source_text": "People.",
                "language": language,
                "rater": "A1",
            }
            scores = {"fluency": 4 + number % 2, "tone": 3}
            rows.append(
                {**about, "output_text": text.format(number + 10, number), **scores, **more}
            )
    return metal.read(pd.DataFrame(rows), levels={"*": "1 < 2 < 3 < 4 < 5"})


def test_a_dataset_of_probes() -> None:
    planned = plan_probes(world(), load_probes(), per_language=8, seed=3)
    again = plan_probes(world(), load_probes(), per_language=8, seed=3)
    assert planned.dataset.outputs == again.dataset.outputs
    originals = [output for output in planned.dataset.outputs.values() if not output.condition]
    assert Counter(output.language for output in originals) == {"en": 8, "hi": 8}
    assert all(
        output.of in planned.dataset.outputs
        for output in planned.dataset.outputs.values()
        if output.condition
    )
    assert set(planned.dataset.ratings["output"]) <= {output.output for output in originals}
    declared = {
        about["condition"]: about for about in planned.dataset.extra["probes"]["conditions"]
    }
    assert declared["wrong language"]["falls"] == ["fluency"]
    assert declared["swapped output"]["stays"] == ["fluency"]
    assert tells(planned.warnings, "does not know what tone", "`aspects=")
    named = plan_probes(world(), load_probes(), aspects={"tone": "language"})
    assert {about["condition"]: about for about in named.dataset.extra["probes"]["conditions"]}[
        "wrong language"
    ]["falls"] == ["fluency", "tone"]
    counts = planned.made.set_index(["language", "condition"])
    assert counts.loc[("hi", "name swapped"), "made"] == 0
    assert "no capitals" in counts.loc[("hi", "name swapped"), "why"]


def test_what_a_probe_may_use_beside_its_text() -> None:
    """As worked out the long way: every other text compared, checksums of both names together."""
    seen: dict[str, Material] = {}

    def change(material: Material, dose: float) -> str:
        seen[material.text] = material
        return f"{material.text}!"

    data = world()
    plan_probes(data, [Probe("noted", "certain", "noted", change)], per_language=12)
    contents = {
        output.text: data.sources[output.source].content or output.source
        for output in data.outputs.values()
    }
    for own in data.outputs.values():
        beside = [other for other in data.outputs.values() if other is not own]
        others = {other.text for other in beside if other.language == own.language}
        assert set(seen[own.text].others) == others
        assert len(others) == 11
        foreign = [other for other in beside if other.language != own.language]
        foreign.sort(
            key=lambda other: (
                contents[other.text] != contents[own.text],
                zlib.crc32(f"{own.output} {other.output}".encode()),
            )
        )
        assert [*seen[own.text].foreign] == [other.text for other in foreign[:10]]


def test_a_name_of_another_text_of_the_same_content_is_no_name_to_take() -> None:
    texts = [
        "He saw Akinyi there.",
        "We met Akinyi and Otieno.",
        "They met Kamau.",
        "She met Kamau.",
    ]
    swap, rng = PROBES["name-swapped"], np.random.default_rng(0)
    others = Others(texts, left_out={0})  # what is left has Otieno and Akinyi once, Kamau twice
    made = {
        swap.change(Material(texts[2], "en", texts[2], Others(texts, {2, 3}), [], rng), 1.0)
        for _ in range(20)
    }
    assert made == {"They met Otieno."}  # Akinyi is in two others
    made = {
        swap.change(Material("I saw Juma.", "en", "Juma", others, [], rng), 1.0) for _ in range(20)
    }
    assert made == {"I saw Otieno.", "I saw Akinyi."}


def test_what_cannot_be_planned_is_said() -> None:
    with pytest.raises(UnknownName, match="did you mean 'words-deleted'"):
        load_probes(["words-deletet"])
    with pytest.raises(UnknownName, match="aspect 'style' is not known"):
        plan_probes(world(), load_probes(), aspects={"tone": "style"})
    with pytest.raises(UsageError, match="no output has a text"):
        plan_probes(world(output_text=""), load_probes())
    with pytest.raises(UsageError, match="no text could be changed"):
        plan_probes(
            world(), [Probe("nothing", "certain", "nothing", lambda material, dose: material.text)]
        )
