"""EvalSet folders of WMT's metrics tasks: what is read of them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import metal
from metal.data.formats import recognize
from metal.errors import DataError, UnknownName, UsageError
from tests.formats.evalset_folders import blocks, errors, lines, test_set, write
from tests.saying import tells

test_set.__test__ = False  # type: ignore[attr-defined]
RATING = "human-scores/en-de.mqm.{}.seg.rating"


def scores(dataset: metal.Dataset, rater: str) -> dict[str, float]:
    """A rater's scores by output."""
    rows = dataset.ratings[dataset.ratings["rater"] == rater]
    return dict(zip(rows["output"].astype(str), rows["score"], strict=True))


def test_a_folder_is_recognized_and_read_as_a_whole(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt")
    assert recognize(folder) == "evalset"
    dataset = metal.read(folder)
    assert dataset.languages == ("en-de",)
    first = dataset.sources["en-de/1"]
    assert (first.text, first.document, first.domain) == ("one", "aj.1", "news")
    assert first.references == ("eins", "Eins")
    assert dataset.outputs["en-de/2/B"].text == "2B"
    assert list(dataset.criteria) == ["mqm", "score"]
    assert dataset.extra["generators"] == {"refA": {"kind": "human"}}
    described = dataset.extra["evalset"]["en-de"]
    assert described["references"] == ["refA", "refB"]
    assert described["standard_reference"] == "refA"
    assert {rater.kind for rater in dataset.raters.values()} == {"human", "metric"}
    assert scores(dataset, "MQM") == {"en-de/1/A": -1.0, "en-de/1/B": -5.1, "en-de/2/B": 0.0}
    assert scores(dataset, "BLEU") == {
        "en-de/1/A": 10,
        "en-de/2/A": 20,
        "en-de/1/B": 30,
        "en-de/2/B": 40,
    }
    assert len(scores(dataset, "Kiwi[noref]")) == 6
    assert tells(dataset.report, "1 of 4 outputs", "not rated (None)")


def test_ranges_give_the_criterion_of_people_ends(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt")
    dataset = metal.read(folder, ranges="mqm=-100..0")
    assert dataset.criteria["mqm"].scale.ends == (-100, 0)
    assert dataset.criteria["score"] == metal.read(folder).criteria["score"]
    board = metal.leaderboard(dataset).tables["leaderboard"].set_index("generator")
    assert board.loc["A", "score"] == pytest.approx(0.99)


def test_scores_of_systems_are_kept_as_they_are(tmp_path: Path) -> None:
    more = {"metric-scores/en-de/Whole-refB.sys.score": blocks(A=[1], B=[2], refA=[3])}
    more |= {"human-scores/en-de.mqm.domain.score": lines("news A -1", "news B None")}
    dataset = metal.read(test_set(tmp_path / "wmt", **more))
    rows = set(dataset.generator_scores.astype(object).itertuples(index=False, name=None))
    assert rows == {
        ("en-de", "A", "", "", "mqm", "MQM", -1.0),
        ("en-de", "B", "", "", "mqm", "MQM", -2.55),
        ("en-de", "A", "news", "", "mqm", "MQM", -1.0),
        ("en-de", "A", "", "", "score", "BLEU", 14.5),
        ("en-de", "B", "", "", "score", "BLEU", 36.0),
        ("en-de", "A", "", "", "score", "Whole-refB", 1.0),
        ("en-de", "B", "", "", "score", "Whole-refB", 2.0),
        ("en-de", "refA", "", "", "score", "Whole-refB", 3.0),
    }
    assert tells(dataset.report, "scores of systems only", "Whole-refB")
    assert tells(dataset.report, "not the means", "BLEU")
    assert tells(dataset.report, "only if that is not refA", "Whole-refB")
    assert dataset.raters["Whole-refB"].about == {
        "metric": "Whole",
        "references": {"en-de": ["refB"]},
    }


def test_documents_have_scores_too(tmp_path: Path) -> None:
    folder = test_set(
        tmp_path / "wmt",
        **{
            "documents/en-de.docs": lines("news aj.1", "speech talk 2"),
            "human-scores/en-de.mqm.doc.score": blocks(A=[-1, -2]),
        },
    )
    rows = metal.read(folder).generator_scores
    rows = rows[rows["document"] != ""]
    assert list(zip(rows["document"].astype(str), rows["score"], strict=True)) == [
        ("aj.1", -1.0),
        ("talk 2", -2.0),
    ]


def test_experts_count_once_and_the_panel_where_none_rated(tmp_path: Path) -> None:
    # Released: A -1, B -5.1 and 0. Expert 1 marked 1 in the first output of A, 5 and 0.1 in that of
    # B; expert 2 nothing in the first output of B: the mean of -5.1 and -5.1.
    one = blocks(A=[errors(1), "None"], B=[errors(5, 0.1), "None"])
    two = blocks(A=["None", "None"], B=[errors(0.1, 5), "None"])
    dataset = metal.read(
        test_set(tmp_path / "wmt", **{RATING.format("rater1"): one, RATING.format("rater2"): two})
    )
    assert scores(dataset, "en-de/rater1") == {"en-de/1/A": -1.0, "en-de/1/B": -5.1}
    assert scores(dataset, "en-de/rater2") == {"en-de/1/B": -5.1}
    assert scores(dataset, "MQM") == {"en-de/2/B": 0.0}
    assert dataset.raters["MQM"].about == {"panel": True}
    assert tells(dataset.report, "2 experts", "means of their ratings", "on the 1 output")
    people = dataset.ratings[dataset.ratings["rater"] == "en-de/rater1"]
    assert people["comment"].tolist() == [errors(1), errors(5, 0.1)]


def test_a_panel_that_rated_nothing_is_not_said_to_stand_for_experts(tmp_path: Path) -> None:
    one = blocks(A=[errors(1), "None"], B=[errors(5, 0.1), "None"])
    two = blocks(A=["None", "None"], B=["None", errors()])
    dataset = metal.read(
        test_set(tmp_path / "wmt", **{RATING.format("rater1"): one, RATING.format("rater2"): two})
    )
    assert tells(dataset.report, "2 experts", "do not count again")
    assert not tells(dataset.report, "0 outputs")


def test_experts_whose_mean_was_not_released_have_a_criterion_of_their_own(tmp_path: Path) -> None:
    one = blocks(A=[errors(1), "None"], B=[errors(5), "None"])
    dataset = metal.read(
        test_set(tmp_path / "wmt", **{RATING.format("r1"): one, RATING.format("r2"): one})
    )
    assert list(dataset.criteria) == ["mqm", "mqm-by-rater", "score"]
    assert len(scores(dataset, "MQM")) == 3
    assert tells(dataset.report, "not the means", "mqm-by-rater")


def test_ratings_of_nobody_in_particular_are_the_panels(tmp_path: Path) -> None:
    merged = blocks(A=[errors(1), "None"], B=[errors(5, 0.1), errors()])
    dataset = metal.read(test_set(tmp_path / "wmt", **{RATING.format("merged"): merged}))
    assert [rater.rater for rater in dataset.raters.values() if rater.kind == "human"] == ["MQM"]
    comments = dataset.ratings.loc[dataset.ratings["rater"] == "MQM", "comment"].tolist()
    assert comments == [errors(1), errors(5, 0.1), errors()]


def test_a_third_column_names_the_expert(tmp_path: Path) -> None:
    merged = lines(
        f"A\t{errors(1)}\tann", "A\tNone", f"B\t{errors(5, 0.1)}\tbob", f"B\t{errors()}\tann"
    )
    dataset = metal.read(test_set(tmp_path / "wmt", **{RATING.format("merged"): merged}))
    assert scores(dataset, "en-de/ann") == {"en-de/1/A": -1.0, "en-de/2/B": 0.0}
    assert dataset.extra["evalset"]["en-de"]["ratings"] == {
        "en-de.mqm.merged.seg.rating": ["en-de/ann", "en-de/bob"]
    }


def test_an_error_without_a_weight_gives_no_score(tmp_path: Path) -> None:
    one = blocks(A=[errors(1, None), "None"], B=["None", "None"])
    two = blocks(A=["None", "None"], B=[errors(5, 0.1), "None"])
    folder = test_set(tmp_path / "wmt", **{RATING.format("r1"): one, RATING.format("r2"): two})
    rows = metal.read(folder).ratings
    unscored = rows[rows["rater"] == "en-de/r1"]
    assert math.isnan(unscored["score"].iloc[0])
    assert unscored["reason"].tolist() == ["no score"]


def test_one_language_pair_of_several(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt")
    test_set_of_two = {
        "sources/ja-zh_CN.txt": lines("x"),
        "system-outputs/ja-zh_CN/A.txt": lines("NO_TRANSLATION"),
        "human-scores/ja-zh_CN.esa.seg.score": blocks(A=[80]),
    }
    write(folder, test_set_of_two)
    both = metal.read(folder)
    assert both.languages == ("en-de", "ja-zh")
    assert both.criteria["esa"].scale.ends == (0.0, 100.0)
    assert both.criteria["mqm"].scale.ends is None
    assert both.outputs["ja-zh/1/A"].flags == ("no translation",)
    assert metal.read(folder, language="ja-zh_CN").languages == ("ja-zh",)
    assert metal.read(folder, language="en-de").languages == ("en-de",)
    with pytest.raises(UsageError, match="no en-fr there; it has en-de, ja-zh_CN"):
        metal.read(folder, language="en-fr")


@pytest.mark.parametrize(
    "file, content, problem",
    [
        ("documents/en-de.docs", lines("news aj.1"), "1 line, but en-de has 2 segments"),
        ("documents/en-de.docs", lines("news", "news"), "DOMAIN DOCUMENT"),
        ("references/en-de.refA.txt", lines("a", "b", "c"), "3 lines"),
        ("references/en-de.ref-A.txt", lines("a", "b"), "a reference named 'ref-A'"),
        ("system-outputs/en-de/A.txt", "", "0 lines"),
        ("human-scores/en-de.mqm.seg.score", blocks(A=[1]), "'A' has 1 line"),
        ("human-scores/en-de.mqm.seg.score", blocks(C=[1, 2]), "system 'C' is not in the folder"),
        ("human-scores/en-de.mqm.seg.score", "A\t1\nA\n", "1 field in a line"),
        ("human-scores/en-de.mqm.seg.score", "A\t1\nA\tx\n", "line 2: score 'x'"),
        ("human-scores/en-de.mqm.seg.score", "A\t1\nA\tinf\n", "line 2: score 'inf'"),
        ("human-scores/en-de.mqm.domain.score", lines("sport A 1"), "domain 'sport'"),
        ("human-scores/en-de.mqm.domain.score", lines("news A 1", "news A 2"), "second time"),
        ("human-scores/en-de.mqm.word.score", blocks(A=[1]), "level 'word'"),
        ("metric-scores/en-de/X-refC.seg.score", blocks(A=[1, 2]), "no reference 'refC'"),
        ("metric-scores/en-de/plain.seg.score", blocks(A=[1, 2]), "no reference 'plain'"),
        (RATING.format("r"), "A\t{\nA\tNone\n", "line 1: '{' is not a rating"),
        (RATING.format("r"), 'A\t{"errors": 5}\nA\tNone\n', "is not a rating"),
        (RATING.format("r"), "A\t" + "[" * 100_000 + "\nA\tNone\n", "is not a rating"),
        (RATING.format("r"), blocks(A=[errors(float("inf")), "None"]), "not finite"),
        (RATING.format("r"), blocks(A=[errors(1)]), "'A' has 1 line, not 2"),
        (RATING.format("r"), blocks(C=[errors(1)]), "system 'C'"),
    ],
)
def test_what_does_not_fit_is_refused(
    file: str, content: str, problem: str, tmp_path: Path
) -> None:
    folder = test_set(tmp_path / "wmt", **{file: content})
    with pytest.raises(DataError) as raised:
        metal.read(folder)
    assert tells(str(raised.value), file.rpartition("/")[2].partition(".seg")[0], problem)


@pytest.mark.parametrize(
    "part", ["human-scores/en-de.mqm.seg.score", "metric-scores/en-de", "sources/en-de.txt"]
)
def test_a_part_of_a_folder_names_the_folder(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = test_set(tmp_path / "wmt")
    for path, root in ((folder / part, str(folder)), (Path("wmt") / part, "wmt")):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError) as refused:
            metal.read(path)
        assert str(refused.value).endswith(f"Give the folder: {root}")


def test_scores_alone_say_where_they_belong(tmp_path: Path) -> None:
    (tmp_path / "mine-refA.seg.score").write_text("A\t1.0\n")
    with pytest.raises(UsageError) as refused:
        metal.read(tmp_path / "mine-refA.seg.score")
    assert tells(str(refused.value), "metric-scores/LP/", "the folder")


def test_a_pair_that_no_language_has_is_refused(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt", **{"sources/english-x9x.txt": lines("a")})
    with pytest.raises(DataError, match="'english-x9x' is not a language pair"):
        metal.read(folder)


def test_systems_that_an_all_references_metric_uses(tmp_path: Path) -> None:
    more = {"metric-scores/en-de/M-all.seg.score": blocks(A=[1, 2], B=[3, 4])}
    more |= {"metric-scores/en-de/M-refA.refB.seg.score": blocks(A=[1, 2], B=[3, 4])}
    dataset = metal.read(test_set(tmp_path / "wmt", **more))
    for name in ("M-all", "M-refA.refB"):
        assert dataset.raters[name].about["references"] == {"en-de": ["refA", "refB"]}


@pytest.mark.slow
@pytest.mark.reference
def test_wmt23_two_pairs(reference: Path) -> None:
    dataset = metal.read(reference / "wmt23-metrics")
    assert dataset.languages == ("en-de", "zh-en")
    assert (len(dataset.sources), len(dataset.outputs)) == (557 + 1976, 14 * 557 + 17 * 1976)
    by = dataset.ratings.groupby(["language", "criterion"], observed=True)
    assert by.size().to_dict() == {
        ("en-de", "mqm"): 7241 - 1261,
        ("en-de", "da-sqm"): 7241 - 104,
        ("en-de", "score"): 321946,
        ("zh-en", "mqm"): 18541 + 8 * 288 + 3,
        ("zh-en", "da-sqm"): 31616 - 17472,
        ("zh-en", "score"): 1397032,
    }
    # -25.200000000000003 stays itself, as WMT compares floats
    rows = dataset.ratings
    panel = rows[(rows["rater"] == "MQM") & (rows["language"] == "en-de")]
    assert panel["score"].iloc[1] == -25.200000000000003
    assert len(dataset.generator_scores) == 1605
    assert {"CometKiwi[noref]", "MetricX-23", "slide[noref]"} <= set(dataset.raters)
    assert "zh-en/rater8" in dataset.raters


@pytest.mark.reference
@pytest.mark.slow
def test_the_leaderboard_has_the_scores_of_systems_that_wmt23_released(reference: Path) -> None:
    folder = reference / "wmt23-metrics"
    found = metal.leaderboard(folder, criteria="mqm", permutations=100).tables["leaderboard"]
    for language in ("en-de", "zh-en"):
        text = (folder / "human-scores" / f"{language}.mqm.sys.score").read_text()
        released = dict(line.split() for line in text.splitlines() if not line.endswith("None"))
        own = found[found["language"] == language].set_index("generator")["score"]
        assert own.to_dict() == {
            name: pytest.approx(float(score), abs=1e-9) for name, score in released.items()
        }


# ---------------------------------------------------------------- judges among the metrics

JUDGE = {"metric-scores/en-de/GEMBA-MQM-src.seg.score": blocks(A=[-1, -5], B=[-6, 0])}
JUDGE |= {"metric-scores/en-de/GEMBA-MQM-src.sys.score": blocks(A=[-3], B=[-3])}


def test_a_judge_among_the_metrics_answers_what_people_rated(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt", **JUDGE)
    dataset = metal.read(folder, kinds={"GEMBA*": "llm"})
    judge = dataset.raters["GEMBA-MQM[noref]"]
    assert (judge.kind, judge.about["metric"]) == ("llm", "GEMBA-MQM")
    own = dataset.ratings[dataset.ratings["rater"] == judge.rater]
    assert set(own["criterion"].astype(str)) == {"mqm"}
    assert scores(dataset, judge.rater) == {
        "en-de/1/A": -1,
        "en-de/2/A": -5,
        "en-de/1/B": -6,
        "en-de/2/B": 0,
    }
    of_whole = dataset.generator_scores.query("rater == 'GEMBA-MQM[noref]'")
    assert set(of_whole["criterion"].astype(str)) == {"mqm"}
    assert dataset.raters["BLEU"].kind == "metric"
    assert set(dataset.ratings.query("rater == 'BLEU'")["criterion"].astype(str)) == {"score"}
    assert tells(dataset.report, "GEMBA-MQM[noref]", "answers on mqm", "`criterion`")


def test_a_judge_may_be_named_as_it_is_and_its_criterion_chosen(tmp_path: Path) -> None:
    more = {"human-scores/en-de.da-sqm.seg.score": blocks(A=[90, 80], B=[70, 60])}
    folder = test_set(tmp_path / "wmt", **more)
    kinds = {"Kiwi[noref]": "llm"}
    dataset = metal.read(folder, kinds=kinds, criterion="da-sqm")
    own = dataset.ratings[dataset.ratings["rater"] == "Kiwi[noref]"]
    assert set(own["criterion"].astype(str)) == {"da-sqm"}
    chosen = metal.read(folder, kinds=kinds).ratings.query("rater == 'Kiwi[noref]'")
    assert set(chosen["criterion"].astype(str)) == {"mqm"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kinds": {"GEMBA*": "robot"}}, ("robot", "llm")),
        ({"kinds": {"Gemma*": "llm"}}, ("no rater", "Gemma*", "GEMBA-MQM[noref]")),
        ({"criterion": "mqm"}, ("`criterion`", "`kinds`")),
        ({"kinds": {"GEMBA*": "llm"}, "criterion": "score"}, ("score", "mqm")),
        ({"kinds": {"GEMBA*": "llm"}, "ranges": "mqm=-5.5..0"}, ("-6", "-5.5", "`criterion`")),
    ],
)
def test_kinds_that_do_not_fit_are_refused(
    options: dict[str, object], told: tuple[str, ...], tmp_path: Path
) -> None:
    folder = test_set(tmp_path / "wmt", **JUDGE)
    with pytest.raises((UsageError, UnknownName)) as raised:
        metal.read(folder, **options)
    assert tells(str(raised.value), *told)


def test_a_metric_with_the_name_of_an_llm_is_pointed_out(tmp_path: Path) -> None:
    folder = test_set(tmp_path / "wmt", **JUDGE)
    assert tells(metal.read(folder).report, "perhaps LLM judges", "GEMBA-MQM[noref]", "`kinds")
    for kind in ("llm", "metric"):
        report = metal.read(folder, kinds={"GEMBA*": kind}).report
        assert not tells(report, "perhaps LLM judges")


def test_a_dataset_says_where_the_kinds_belong(tmp_path: Path) -> None:
    metal.read(test_set(tmp_path / "wmt", **JUDGE)).save(tmp_path / "data")
    with pytest.raises(UsageError) as raised:
        metal.audit(tmp_path / "data", kinds={"GEMBA*": "llm"})
    assert tells(str(raised.value), "`kinds`", "import the data again")


@pytest.mark.slow
@pytest.mark.reference
def test_gemba_gets_a_verdict_on_wmt23(reference: Path) -> None:
    audit = metal.audit(reference / "wmt23-metrics", kinds={"GEMBA*": "llm"})
    verdicts = audit.verdicts.query("judge == 'GEMBA-MQM[noref]' and criterion == 'mqm'")
    assert dict(zip(verdicts["language"], verdicts["verdict"], strict=True)) == {
        "en-de": "informative",
        "zh-en": "informative",
    }
