"""Answers in words: orders in many languages, a user's own, dates that were ranges, and levels such
as S1 to S5.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset
from metal.data.tables.word_orders import FOLDER, Order, order_of, read_orders
from metal.errors import DataError, MetalError, UnknownOrder, UsageError
from tests.saying import tells


def answers_of(answers: list[Any], **options: Any) -> Dataset:
    """A dataset in which one person gave these answers, each about another output."""
    frame = pd.DataFrame(
        {"id": [f"o{row}" for row in range(len(answers))], "rater": "A1", "score": answers}
    )
    return metal.read(frame, language="hi", **options)


def labels_of(answers: list[Any], **options: Any) -> list[str]:
    """The labels of the levels, from the lowest."""
    return [
        level.label for level in answers_of(answers, **options).criteria["overall"].scale.levels
    ]


# Answers from the worst or least to the best or most, in one of the usual wordings of each
# language.
SCALES = {
    "ar": [
        "سيئ جدًا|سيئ|متوسط|جيد|جيد جدًا|ممتاز",
        "لا أوافق بشدة|لا أوافق|محايد|أوافق|أوافق بشدة",
        "أبدًا|نادرًا|أحيانًا|غالبًا|دائمًا",
        "لا|إلى حد ما|نعم",
    ],
    "bn": [
        "খুব খারাপ|খারাপ|মোটামুটি|ভালো|খুব ভালো",
        "সম্পূর্ণ দ্বিমত|দ্বিমত|নিরপেক্ষ|একমত|সম্পূর্ণ একমত",
        "কখনোই না|কদাচিৎ|মাঝে মাঝে|প্রায়ই|সবসময়",
        "না|হ্যাঁ",
    ],
    "de": [
        (
            "stimme überhaupt nicht zu|stimme nicht zu|stimme eher nicht zu|teils, teils|stimme"
            " eher zu|stimme zu|stimme voll und ganz zu"
        ),
        "sehr unzufrieden|eher unzufrieden|eher zufrieden|sehr zufrieden",
        "nie|selten|manchmal|oft|immer",
        "nein|eher nein|eher ja|ja",
        "sehr unwahrscheinlich|unwahrscheinlich|wahrscheinlich|sehr wahrscheinlich",
    ],
    "en": [
        (
            "Strongly disagree|Disagree|Somewhat disagree|Neither agree nor disagree|Somewhat"
            " agree|Agree|Strongly agree"
        ),
        "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
        "never|rarely|sometimes|often|always",
        "very unlikely|unlikely|neutral|likely|very likely",
        "not important|slightly important|moderately important|important|very important",
        "none|minor|moderate|severe|critical",
        "no|not sure|yes",
        "one star|three stars|five stars",
    ],
    "es": [
        (
            "totalmente en desacuerdo|en desacuerdo|ni de acuerdo ni en desacuerdo|de"
            " acuerdo|totalmente de acuerdo"
        ),
        "nunca|casi nunca|a veces|casi siempre|siempre",
        "nada importante|poco importante|importante|muy importante",
    ],
    "fa": [
        "خیلی بد|بد|متوسط|خوب|خیلی خوب|عالی",
        "کاملاً مخالفم|مخالفم|نظری ندارم|موافقم|کاملاً موافقم",
        "هرگز|به‌ندرت|گاهی|اغلب|همیشه",
        "خیر|تا حدی|بله",
    ],
    "fr": [
        (
            "pas du tout d’accord|plutôt pas d’accord|ni d’accord ni pas d’accord|plutôt"
            " d’accord|tout à fait d’accord"
        ),
        "très mauvaise|mauvaise|moyenne|bonne|très bonne",
        "jamais|rarement|parfois|souvent|toujours",
        "très insatisfaite|insatisfaite|neutre|satisfaite|très satisfaite",
        "pas du tout|un peu|moyennement|beaucoup|énormément",
    ],
    "hi": [
        "बहुत खराब|खराब|ठीक-ठाक|अच्छा|बहुत अच्छा",
        "पूरी तरह असहमत|असहमत|तटस्थ|सहमत|पूरी तरह सहमत",
        "कभी नहीं|कभी-कभी|अक्सर|हमेशा",
        "नहीं|शायद|हाँ",
    ],
    "id": [
        "sangat tidak setuju|tidak setuju|netral|setuju|sangat setuju",
        "tidak pernah|jarang|kadang-kadang|sering|selalu",
        "sangat tidak puas|tidak puas|cukup puas|puas|sangat puas",
    ],
    "it": [
        (
            "fortemente in disaccordo|in disaccordo|né d'accordo né in"
            " disaccordo|d'accordo|fortemente d'accordo"
        ),
        "mai|raramente|a volte|spesso|sempre",
        "pessimo|scarso|sufficiente|buono|ottimo|eccellente",
    ],
    "ja": [
        "全くそう思わない|そう思わない|どちらともいえない|そう思う|強くそう思う",
        "非常に不満|不満|普通|満足|非常に満足",
        "全くない|たまに|よくある|いつも",
        "いいえ|どちらともいえない|はい",
    ],
    "ko": [
        "전혀 그렇지 않다|그렇지 않다|보통이다|그렇다|매우 그렇다",
        "매우 불만족|불만족|보통|만족|매우 만족",
        "아니요|예",
    ],
    "nl": [
        "helemaal mee oneens|mee oneens|neutraal|mee eens|helemaal mee eens",
        "nooit|zelden|soms|vaak|altijd",
        "zeer slecht|slecht|matig|goed|zeer goed",
    ],
    "pl": [
        (
            "zdecydowanie się nie zgadzam|nie zgadzam się|trudno powiedzieć|zgadzam"
            " się|zdecydowanie się zgadzam"
        ),
        "nigdy|rzadko|czasami|często|zawsze",
        "zdecydowanie nie|raczej nie|trudno powiedzieć|raczej tak|zdecydowanie tak",
    ],
    "pt": [
        (
            "discordo totalmente|discordo parcialmente|não concordo nem discordo|concordo"
            " parcialmente|concordo totalmente"
        ),
        "muito insatisfeito|insatisfeito|neutro|satisfeito|muito satisfeito",
        "nunca|raramente|às vezes|frequentemente|sempre",
    ],
    "ru": [
        (
            "полностью не согласен|скорее не согласен|затрудняюсь ответить|скорее"
            " согласен|полностью согласен"
        ),
        "никогда|редко|иногда|часто|всегда",
        "нет|скорее нет|скорее да|да",
        "очень плохая|плохая|средняя|хорошая|очень хорошая",
    ],
    "sw": [
        "mbaya sana|mbaya|wastani|nzuri|nzuri sana",
        "sikubaliani kabisa|sikubaliani|sina maoni|nakubaliana|nakubaliana kabisa",
        "kamwe|mara chache|mara nyingi|kila wakati",
        "hapana|kwa kiasi|ndiyo",
    ],
    "tr": [
        "KESİNLİKLE KATILMIYORUM|KATILMIYORUM|KARARSIZIM|KATILIYORUM|KESİNLİKLE KATILIYORUM",
        "hiç memnun değilim|memnun değilim|kararsızım|memnunum|çok memnunum",
        "asla|nadiren|bazen|sık sık|her zaman",
        "hayır|kısmen|evet",
    ],
    "uk": [
        "повністю не згодна|скоріше не згодна|важко відповісти|скоріше згодна|повністю згодна",
        "ніколи|рідко|іноді|часто|завжди",
    ],
    "vi": [
        "hoàn toàn không đồng ý|không đồng ý|trung lập|đồng ý|hoàn toàn đồng ý",
        "rất không hài lòng|không hài lòng|bình thường|hài lòng|rất hài lòng",
        "không bao giờ|hiếm khi|thỉnh thoảng|thường xuyên|luôn luôn",
    ],
    "zh": [
        "非常不同意|不同意|一般|同意|非常同意",
        "非常不滿意|不滿意|普通|滿意|非常滿意",
        "从不|很少|有时|经常|总是",
        "從不|很少|有時|經常|總是",
        "否|不确定|是",
    ],
}


@pytest.mark.parametrize("language", SCALES)
def test_likert_words_come_in_their_order(language: str) -> None:
    """Whole, and without some of the levels; each a criterion of a table in this language."""
    answers: dict[str, list[str]] = {}
    for scale in SCALES[language]:
        in_order = scale.split("|")
        answers[f"{scale}, reversed"] = in_order[::-1]
        answers[f"{scale}, its ends"] = [in_order[-1], in_order[0]]
        answers[f"{scale}, mixed"] = in_order[1::-1] + in_order[2:]
    rows = [
        {"id": f"i{number}", "rater": "Ann", "criterion": criterion, "score": answer}
        for criterion, given in answers.items()
        for number, answer in enumerate(given)
    ]
    named = {"criterion": "criterion"}  # whatever the names look like
    criteria = metal.read(pd.DataFrame(rows), language="hi", columns=named).criteria
    for name, given in answers.items():
        in_order = [word for word in name.rpartition(", ")[0].split("|") if word in given]
        assert [level.label for level in criteria[name].scale.levels] == in_order


def test_orders_come_in_at_least_twenty_languages() -> None:
    languages = {path.stem for path in FOLDER.glob("*.toml")} - {"symbols"}
    assert languages == SCALES.keys()
    assert len(languages) > 20
    for language in languages:
        assert "No native speaker has reviewed them." in (FOLDER / f"{language}.toml").read_text(
            encoding="utf-8"
        )


def shipped() -> list[Order]:
    return [order for path in sorted(FOLDER.glob("*.toml")) for order in read_orders(path).orders]


def test_no_two_shipped_orders_contradict_each_other() -> None:
    """Else neither would be read: no language's words may stand in another's way."""
    for first, second in combinations(shipped(), 2):
        for one_word, other in combinations(
            [word for word in first.places if word in second.places], 2
        ):
            ranks = [order.places[one_word] - order.places[other] for order in (first, second)]
            assert ranks[0] * ranks[1] >= 0, (first.of, second.of, one_word, other)


def test_an_answer_outside_the_order_is_asked_about() -> None:
    """Likert words with a word that no order holds are not guessed."""
    with pytest.raises(UnknownOrder, match="METAL does not know"):
        labels_of(["agree", "disagree", "purple"])
    with pytest.raises(UnknownOrder, match="METAL does not know"):
        labels_of(["agree", "nein", "yes"])  # no language holds all three


def test_two_wordings_of_one_level_are_asked_about() -> None:
    """`bad` and `poor` in one column may be two levels."""
    assert order_of(["bad", "poor", "good"]) is None


OWN = """
[[order]]
kind = "degree"
words = ["cold", ["tepid", "luke-warm"], "warm"]
"""


def test_a_users_own_order_of_words(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text(OWN)
    answers = ["warm", "Luke warm", "cold", "warm"]
    with pytest.raises(UnknownOrder, match="`word_orders=FILE`"):
        labels_of(answers)
    assert labels_of(answers, word_orders=tmp_path / "orders.toml") == ["cold", "Luke warm", "warm"]
    with pytest.raises(UnknownOrder):  # it was for that table
        labels_of(answers)


def test_columns_with_a_users_own_words_are_found(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text(OWN)
    words = ["cold", "tepid", "warm", "warm"]
    frame = pd.DataFrame({"id": [*"abcd"], "A1": words, "A2": words[::-1], "gpt-4": words})
    data = metal.read(frame, word_orders=tmp_path / "orders.toml")
    assert list(data.raters) == ["A1", "A2", "gpt-4"]
    assert data.criteria["overall"].scale.values == (0, 1, 2)


def test_a_users_order_comes_before_metals(tmp_path: Path) -> None:
    (tmp_path / "orders.toml").write_text('[[order]]\nkind = "degree"\nwords = ["good", "bad"]\n')
    assert labels_of(["good", "bad"]) == ["bad", "good"]
    assert labels_of(["good", "bad"], word_orders=tmp_path / "orders.toml") == ["good", "bad"]


def test_words_that_two_orders_rank_differently_are_asked_about(tmp_path: Path) -> None:
    twice = '[[order]]\nkind = "degree"\nwords = ["cold", "tepid", "warm"]\n'
    (tmp_path / "orders.toml").write_text(
        twice + twice.replace('"cold", "tepid", "warm"', '"warm", "tepid", "cold"')
    )
    with pytest.raises(
        UnknownOrder, match=r"more than one order: cold < warm .*or warm < cold .*`levels="
    ):
        labels_of(["cold", "warm"], word_orders=tmp_path / "orders.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[order", "not TOML"),
        ("x = 1", "'x' does not belong"),
        (
            "",
            (
                r"no \[\[order\]\] in it. Write \[\[order\]\] tables with kind \(truth, quality,"
                r" degree, agreement\)"
            ),
        ),
        (
            'stars = 3\n[[order]]\nkind = "degree"\nwords = ["a", "b"]',
            "stars is not a list",
        ),
        ('[[order]]\nkind = "degree"', "order 1: an order has only"),
        (
            '[[order]]\nkind = "size"\nwords = ["a", "b"]',
            "order 1: kind 'size' is not one of truth, quality",
        ),
        (
            '[[order]]\nkind = "degree"\nwords = ["a"]',
            "order 1: words is not",
        ),
        (
            '[[order]]\nkind = "degree"\nwords = ["a", 3]',
            "order 1: place 2",
        ),
        (
            '[[order]]\nkind = "degree"\nwords = ["a", ["b", "A"]]',
            "order 1: 'a' occurs in two places",
        ),
    ],
)
def test_a_file_of_orders_with_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "orders.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as error:
        labels_of(["good", "bad"], word_orders=path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_a_file_of_orders_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`word_orders`: .*none.toml: no such file"):
        labels_of(["good", "bad"], word_orders=tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("answers", "values"),
    [
        (["3 stars", "1 star"], (1, 3)),
        (["★★★", "★☆☆"], (1, 3)),
        (["5 Sterne", "1 Stern"], (1, 5)),
        (["4 étoiles", "5 étoiles"], (4, 5)),
        (["4 звезды", "5 звёзд"], (4, 5)),
        (["5星", "1星"], (1, 5)),
        (["3 yıldız", "1 yıldız"], (1, 3)),
    ],
)
def test_stars_are_counted_in_any_language(answers: list[str], values: tuple[float, ...]) -> None:
    assert answers_of(answers).criteria["overall"].scale.values == values


@pytest.mark.reference
def test_a_strangers_table_with_hindi_words_needs_no_option(reference: Path) -> None:
    levels = metal.read(reference / "strangers" / "hindi.csv").criteria["overall"].scale.levels
    assert [level.label for level in levels] == [
        "बहुत खराब",
        "खराब",
        "ठीक-ठाक",
        "अच्छा",
        "बहुत अच्छा",
    ]


# ---------------------------------------------------------------- ranges that a spreadsheet made
# dates


@pytest.mark.parametrize(
    "date",
    [
        "1-Jan",
        "2-Mar",
        "Mar-02",
        "01.02.2024",
        "1/2/2024",
        "2024-02-01 00:00:00",
        "1-janv",
        "3月1日",
    ],
)
def test_ranges_that_excel_made_dates_are_refused(date: str) -> None:
    with pytest.raises(
        DataError,
        match=r"is a date, .*Format the column.*`levels=",
    ):
        answers_of([date, "1-3", "4-6"])
    with pytest.raises(DataError, match="is a date"):
        answers_of([date, "1", "2"])


def test_dates_that_are_levels_by_the_users_word() -> None:
    assert labels_of(["1-Jan", "2-Mar"], levels="1-Jan<2-Mar") == ["1-Jan", "2-Mar"]


def test_ranges_that_stayed_ranges_have_an_order_to_be_named() -> None:
    assert labels_of(["1-3", "4-6", "7-9"], levels="1-3<4-6<7-9") == ["1-3", "4-6", "7-9"]


# ---------------------------------------------------------------- S1 to S5


def test_levels_called_s1_to_s5_are_ordered_by_their_number() -> None:
    scale = answers_of(["S2", "S10", "S1", "S5"]).criteria["overall"].scale
    assert scale.describe() == "1 S1, 2 S2, 5 S5, 10 S10"


def test_a_bare_1_among_s1_to_s5_is_s1() -> None:
    """It became S2 where the levels count from 0."""
    answers = ["S1", "S5", "1", "S2"]
    assert answers_of(answers).ratings["score"].tolist() == [1, 5, 1, 2]
    named = answers_of(answers, levels="S1<S2<S3<S4<S5")
    assert named.ratings["score"].tolist() == [0, 4, 0, 1]
    assert answers_of(["S1", "3", "S5"]).criteria["overall"].scale.describe() == "1 S1, 3 S3, 5 S5"


@pytest.mark.parametrize("kind", [int, str])
def test_numbers_alone_on_levels_called_s1_to_s5(kind: type) -> None:
    levels = "S1<S2<S3<S4<S5"
    assert answers_of([*map(kind, (1, 2, 5))], levels=levels).ratings["score"].tolist() == [0, 1, 4]
    assert answers_of([*map(kind, (0, 2, 4))], levels=levels).ratings["score"].tolist() == [0, 2, 4]
    with pytest.raises(UsageError, match=r"1 may be S1 or the level.*choose"):
        answers_of([*map(kind, (1, 2, 4))], levels=levels)
    assert answers_of([*map(kind, (1, 2, 4))], levels="1=S1,2=S2,4=S4").ratings[
        "score"
    ].tolist() == [1, 2, 4]


def test_a_number_that_is_no_level_is_not_lost() -> None:
    """It became a missing answer."""
    with pytest.raises(MetalError, match="label '9' of overall is not in `levels`"):
        answers_of(["Bad", "Good", "9"], levels="Bad<Good")


# ---------------------------------------------------------------- scores outside the scale


def test_a_score_outside_the_range_names_the_range_that_holds_all() -> None:
    """Shifting them was the advice."""
    with pytest.raises(DataError) as error:
        answers_of([-35, -3, 0], ranges="overall=-25-0")
    assert "score -35 is not on the scale of overall (-25 to 0; 1 such row)" in str(error.value)
    assert tells(str(error.value), "All scores", "from -35 to 0", "`ranges={'overall': '-35..0'}`")
    assert "shift" not in str(error.value)
    assert answers_of([-35, -3, 0], ranges={"overall": "-35..0"}).criteria[
        "overall"
    ].scale.ends == (-35, 0)


def test_a_shift_is_named_only_where_it_helps() -> None:
    with pytest.raises(DataError, match=r"If it begins at 1 there: `shifts=\{'overall': '-1'\}`"):
        answers_of([1, 2, 3], levels="0=Bad,1=Medium,2=Good")
    with pytest.raises(DataError, match=r"all its levels, .*dataset\.toml$"):
        answers_of([0, 2, 7], levels="0=Bad,1=Medium,2=Good")


def test_inspects_grades_have_an_order_and_n_is_no_answer() -> None:
    dataset = answers_of(list("CPINCPIN"))
    assert [level.label for level in dataset.criteria["overall"].scale.levels] == ["I", "P", "C"]
    assert dataset.ratings["score"].tolist()[:3] == [2, 1, 0]
    assert dataset.ratings["score"].isna().sum() == 2
    assert set(dataset.ratings.loc[dataset.ratings["score"].isna(), "reason"]) == {"no answer"}
    assert labels_of(list("CINCI")) == ["I", "C"]
    # other letters, or a lone one, may stand for anything
    for letters in ("CNCN", "PPPP", "ABCABC"):
        with pytest.raises(UnknownOrder):
            answers_of(list(letters))
    given = answers_of(list("CINCIN"), levels={"overall": "N<I<C"})
    assert not given.ratings["score"].isna().any()
