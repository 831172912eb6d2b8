"""Errors that experts marked by MQM: their weights, every layout, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import math
import tarfile
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.data import archives
from metal.data.formats import mqm_errors, recognize
from metal.data.text import score
from metal.errors import DataError, MetalError, UsageError
from metal.questions.leaderboard.answer import headline
from metal.questions.leaderboard.page import ranking_table
from tests.saying import tells

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
ROWS = [
    # A/1 by r1: 5 + 1 + 0.1 = 6.1; by r2: none. A/2: 25. B/1: 5 for the
    # source, as in 2021, and 5 for punctuation
    "A\td\t1\t1\tr1\teins\t<v>one</v> two\tAccuracy/Mistranslation\tMajor",
    "A\td\t1\t1\tr1\teins\tone <v>two</v>\tStyle/Awkward\tMinor",
    "A\td\t1\t1\tr1\t<v>eins</v>\tone two\tFluency/Punctuation\tMinor",
    "A\td\t1\t1\tr2\teins\tone two\tNo-error\tNo-error",
    'A\td\t2\t2\tr1\tzwei "\t<v>xx</v>\tNon-translation!\tMajor',
    "refB\td\t1\t1\tr1\t<v>eins</v>\tone\tSource error\tMajor",
    "refB\td\t1\t1\tr1\teins\tone<v>,</v>\tFluency/Punctuation\tMajor",
    "refB\td\t2\t2\tr1\tzwei\ttwo\tAccuracy/Omission\tNeutral",
]
SCORES = {("1/A", "r1"): -6.1, ("1/A", "r2"): 0, ("2/A", "r1"): -25, ("1/refB", "r1"): -10}
SCORES |= {("2/refB", "r1"): 0}


def text(*rows: str, header: str = HEADER) -> str:
    return "".join(f"{row}\n" for row in filter(None, (header, *rows)))


def write(
    folder: Path, *rows: str, name: str = "mqm_newstest_deen.tsv", header: str = HEADER
) -> Path:
    path = folder / name
    path.write_text(text(*rows, header=header), encoding="utf-8")
    return path


def archive(path: Path, files: dict[str, bytes], **more: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as opened:
        for member in more.values():
            opened.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    return path


def scores(dataset: metal.Dataset) -> dict[tuple[str, str], float]:
    rows = dataset.ratings
    keys = zip(rows["output"].astype(str), rows["rater"].astype(str), strict=True)
    return dict(zip(keys, rows["score"], strict=True))


def test_each_rating_is_minus_the_weights_of_its_errors(tmp_path: Path) -> None:
    path = write(tmp_path, *ROWS)
    assert recognize(path) == "mqm-errors"
    dataset = metal.read(path)
    assert scores(dataset) == pytest.approx(SCORES)
    assert dataset.languages == ("de-en",)
    assert dataset.criteria["mqm"].scale.ends == (-25, 0)
    assert dataset.raters["r1"].group == "expert"
    assert dataset.extra == {"generators": {"refB": {"kind": "human"}}}
    assert (dataset.sources["2"].text, dataset.sources["2"].document) == ('zwei "', "d")
    assert dataset.outputs["1/A"].text == "one two"
    errors = json.loads(dataset.ratings["comment"].iloc[0])["errors"]
    assert [(error["start"], error["end"], error["score"]) for error in errors] == [
        (0, 3, 5.0),
        (4, 7, 1.0),
        (0, 4, 0.1),
    ]
    assert [error["is_source_error"] for error in errors] == [False, False, True]
    assert tells(dataset.report, "major 5, minor 1", "minor punctuation 0.1", "non-translation 25")
    assert tells(dataset.report, "1 error in the source")


@pytest.mark.parametrize(
    "header",
    [
        "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata",
        "system\tdoc\tdoc_seg_id\tglobal_seg_id\trater\tsource\ttarget\tcategory\tseverity\tnote",
    ],
)
def test_viewers_write_other_names(tmp_path: Path, header: str) -> None:
    rows = [f'{row}\t{{"timestamp": 1}}' for row in ROWS]
    rows.append("A\td\t1\t1\t\teins\tone two\t\t\t{}")
    dataset = metal.read(write(tmp_path, *rows, header=header))
    assert scores(dataset) == pytest.approx(SCORES)
    assert tells(dataset.report, "1 row left out", "without a category")


@pytest.mark.parametrize("half", ["Accuracy/Omission\t", "\tMajor"])
def test_an_error_of_unknown_weight_leaves_its_output_without_a_score(
    tmp_path: Path, half: str
) -> None:
    """It was left out, so that the output seemed to have fewer errors."""
    row = ROWS[0].split("\tAccuracy")[0]
    rows = [*ROWS, f"{row}\t{half}", "A\td\t2\t2\tr2\tzwei\txx\tNo-error\t"]
    dataset = metal.read(write(tmp_path, *rows))
    read = scores(dataset)
    assert math.isnan(read.pop(("1/A", "r1")))
    expected = SCORES | {("2/A", "r2"): 0}
    del expected["1/A", "r1"]
    assert read == pytest.approx(expected)
    reasons = dataset.ratings.loc[dataset.ratings["score"].isna(), "reason"].tolist()
    assert tells(reasons, "error", "category or a severity")
    assert tells(dataset.report, "1 error", "category or a severity", "no score")
    assert "NaN" not in "".join(dataset.ratings["comment"])


@pytest.mark.parametrize("ending", ["xlsx", "parquet", "csv", "txt"])
def test_errors_saved_by_a_spreadsheet(tmp_path: Path, ending: str) -> None:
    """They were to have tabs, or to be UTF-8."""
    before = metal.read(write(tmp_path, *ROWS))
    cells = [row.split("\t") for row in ROWS]
    frame = pd.DataFrame(cells, columns=HEADER.split("\t"))
    path = tmp_path / f"mqm_deen.{ending}"
    if ending == "xlsx":
        frame.to_excel(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep=";" if ending == "txt" else ",")
    assert recognize(path) == "mqm-errors"
    after = metal.read(path)
    assert scores(after) == scores(before)
    assert after.digest == before.digest


def test_segments_without_numbers_are_named_by_their_documents(tmp_path: Path) -> None:
    rows = [
        row.replace("\td\t2\t2\t", "\te\t1\t0\t").replace("\t1\t1\t", "\t1\t0\t") for row in ROWS
    ]
    dataset = metal.read(write(tmp_path, *rows))
    assert set(dataset.sources) == {"d/1/0", "e/1/0"}
    assert tells(dataset.report, "named DOC/DOC_ID")


def test_an_archive_is_read_without_unpacking(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    link = tarfile.TarInfo("link.tsv")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    files = {
        "../../outside.tsv": text(*ROWS).encode(),
        "._outside.tsv": b"\x00\x05",
        "readme.md": b"see above",
    }
    path = archive(folder / "sxs_mqm_generalMT2023_deen.3ratings.tsv.tar.gz", files, link=link)
    assert recognize(path) == "mqm-errors"
    assert scores(metal.read(path)) == pytest.approx(SCORES)
    assert not (tmp_path / "outside.tsv").exists()


def test_a_large_archive_is_recognized_by_its_first_table(tmp_path: Path) -> None:
    numbers = range(20_000)  # more than is read ahead
    rows = [f"A\td\t{n}\t{n}\tr1\t{n * n}\t{n}\tNo-error\tNo-error" for n in numbers]
    path = archive(tmp_path / "mqm_ted_zhen.tar.gz", {"mqm.tsv": text(*rows).encode()})
    assert recognize(path) == "mqm-errors"


def test_a_file_in_an_archive_may_lack_the_header(tmp_path: Path) -> None:
    path = archive(tmp_path / "sxs_deen.tar.gz", {"a.tsv": text(*ROWS, header="").encode()})
    assert scores(metal.read(path, format="mqm-errors")) == pytest.approx(SCORES)


def test_an_output_counts_once_in_an_archive_of_several_files(tmp_path: Path) -> None:
    rows = text(*ROWS).encode()
    path = archive(tmp_path / "sxs_deen.tar.gz", {"round1.tsv": rows, "round2.tsv": rows})
    dataset = metal.read(path)
    assert scores(dataset) == pytest.approx(SCORES)
    assert tells(dataset.report, "rows left out", "in an earlier file")


def test_damaged_archives_and_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "mqm_deen.tsv.tar.gz", {"a.tsv": text(*ROWS).encode()})
    whole = path.read_bytes()
    for content in (whole[:200], b"no archive", gzip.compress(b"no archive" * 100)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"not readable as \.tar\.gz|no errors in it"):
            metal.read(path, format="mqm-errors")
    monkeypatch.setattr(archives.files_in, "__defaults__", (10_000,))
    archive(path, {"a.tsv": text(*ROWS * 100).encode()})
    with pytest.raises(DataError, match="too much in it"):
        metal.read(path, format="mqm-errors")


def test_source_errors_of_2020_lack_two_columns(tmp_path: Path) -> None:
    rows = ["A\td\t1\teins<v></v>\tone\tSource error\tMinor\t"]
    rows += ["A\td\t2\tzwei\ttwo\tSource error\tMajor\t"]
    dataset = metal.read(write(tmp_path, *rows))
    assert scores(dataset) == {("d/1/A", "MQM"): -1, ("d/2/A", "MQM"): -5}
    assert list(dataset.criteria) == ["source_errors"]
    assert tells(dataset.report, "all 2 errors", "sources", "source_errors")
    assert tells(dataset.report, "2 rows without a rater")


@pytest.mark.parametrize("form", ["text", "toml", "json", "mapping"])
def test_weights_of_ones_own(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, *ROWS)
    (tmp_path / "w.toml").write_text('major = 10\n"Minor/Style" = 2\n"source error" = -3')
    (tmp_path / "w.json").write_text('{"major": 10, "Minor/Style": 2, "source error": 3}')
    weights = {
        "text": "major=10, Minor/Style=2,source error=3",
        "toml": str(tmp_path / "w.toml"),
        "json": str(tmp_path / "w.json"),
        "mapping": {"major": "10", "Minor/Style": "2", "source error": "3"},
    }[form]
    dataset = metal.read(path, weights=weights)
    # A/1: 10 + 2 + 0.1; refB/1: 3 for the source, 10 for the comma
    assert scores(dataset)["1/A", "r1"] == pytest.approx(-12.1)
    assert scores(dataset)["1/refB", "r1"] == -13
    assert dataset.criteria["mqm"].scale.ends is None
    assert tells(dataset.report, "as `weights` says")


def test_weights_are_part_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, *ROWS)
    dataset = metal.read(path, weights={"major": "10"})
    assert dataset.reading == {"weights": "major=10"}


@pytest.mark.parametrize(
    "weights, problem",
    [
        ("major=five", "the weight of 'major' is 'five'"),
        ("major=inf", "the weight of 'major' is 'inf'"),
        ("nowhere.toml", "no such file"),
        ("list.json", "not a table of weights"),
        ("broken.toml", "neither TOML nor JSON"),
    ],
)
def test_wrong_weights_are_refused(
    weights: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "broken.toml").write_text("major = \n")
    with pytest.raises(MetalError) as raised:
        metal.read(write(tmp_path, *ROWS), weights=weights)
    assert tells(str(raised.value), problem, "major=5,minor=1")


@pytest.mark.parametrize("name", ["magor", "bogus", "major/styl", "accurcy"])
def test_a_weight_that_no_error_has_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, *ROWS)
    with pytest.raises(UsageError) as raised:
        metal.read(path, weights=f"minor=2,{name}=10")
    assert tells(str(raised.value), f"no error in the file is '{name}'", "major, minor, neutral")


def test_published_and_critical_weights_may_be_unused(tmp_path: Path) -> None:
    weights = "critical=10,source issue=1,Accuracy=4,Minor/Style/Awkward=2"
    assert scores(metal.read(write(tmp_path, *ROWS), weights=weights))["1/A", "r1"] == (
        pytest.approx(-6.1)
    )


def test_a_leaderboard_has_means_as_given_or_shares_of_a_range(tmp_path: Path) -> None:
    path = write(tmp_path, *ROWS, *[ROWS[4].replace("xx", str(n)) for n in range(3)])
    endless = metal.read(path)
    assert endless.criteria["mqm"].scale.ends is None
    board = metal.leaderboard(endless).tables["leaderboard"].set_index("generator")
    # A: the mean of -6.1 and 0 on one output, -100 on the other
    assert board.loc["A", "score"] == pytest.approx(-(3.05 + 100) / 2)
    assert board.loc["refB", "score"] == pytest.approx(-(10 + 0) / 2)
    dataset = metal.read(path, ranges="mqm=-200..0")
    assert dataset.criteria["mqm"].scale.ends == (-200, 0)
    board = metal.leaderboard(dataset).tables["leaderboard"].set_index("generator")
    # A: the mean of -6.1 and 0 on one output, -100 on the other
    assert board.loc["A", "score"] == pytest.approx(1 - (3.05 + 100) / 2 / 200)
    assert board.loc["refB", "score"] == pytest.approx(1 - (10 + 0) / 2 / 200)


def test_ranges_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, *ROWS)
    for ranges, problem in (
        ("mqn=-100..0", "continuous criterion 'mqn' is not known"),
        ("mqm=much", "is not a range"),
        ("mqm=-5..0", "not on the scale of mqm"),
    ):
        with pytest.raises(MetalError) as raised:
            metal.read(path, ranges=ranges)
        assert tells(str(raised.value), problem)
    assert metal.read(path, ranges="-100..0").criteria["mqm"].scale.ends == (-25, 0)


def test_a_severity_without_a_weight_needs_one(tmp_path: Path) -> None:
    path = write(tmp_path, *ROWS, "A\td\t3\t3\tr1\tdrei\tthree\tAccuracy/Addition\tCritical")
    with pytest.raises(DataError, match=r"row 10: no weight.*'critical'"):
        metal.read(path)
    assert scores(metal.read(path, weights="critical=10"))["3/A", "r1"] == -10


@pytest.mark.parametrize(
    "rows, header, problem",
    [
        ([ROWS[0] + "\tmore"], HEADER, "row 2: 10 fields, and 9 columns"),
        ([ROWS[0].rpartition("\t")[0]], HEADER, "row 2: 8 fields"),
        ([], HEADER, "no errors in it"),
    ],
)
def test_broken_rows_are_named(rows: list[str], header: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        metal.read(write(tmp_path, *rows, header=header))


def test_a_name_without_a_language_needs_the_option(tmp_path: Path) -> None:
    path = write(tmp_path, *ROWS, name="errors.tsv")
    with pytest.raises(UsageError, match=r"says no language pair.*give it with `language`"):
        metal.read(path)
    assert metal.read(path, language="de-en").languages == ("de-en",)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("mqm_test_zhen.tsv", "zh-en"),
        ("mqm_demo_ende.tsv", "en-de"),
        ("mqm_news_deen.tsv", "de-en"),
        ("mqm_mini_ende.tsv", "en-de"),
        ("mqm_test_zh-en.tsv", "zh-en"),
        ("mqm_deen_final.tsv", "de-en"),
        ("mqm_wmt20_frde.tsv", "fr-de"),
        ("mqm_data_da-ta.tsv", "da-ta"),
        ("mqm-ende.tsv", "en-de"),
        ("wmt-en-de-2.tsv", "en-de"),
        ("mqm_ENDE2.tsv", "en-de"),
        ("errors-zhen-note.tsv", "zh-en"),
    ],
)
def test_words_of_a_name_are_no_languages(tmp_path: Path, name: str, language: str) -> None:
    dataset = metal.read(write(tmp_path, *ROWS, name=name))
    assert dataset.languages == (language,)
    assert tells(dataset.report, f"the file's name says {language}")


@pytest.mark.parametrize(
    "word",
    ["test", "demo", "mini", "data", "team", "then", "dede", "what-is-it", "my-en-de-zh", "x-note"],
)
def test_a_word_alone_is_no_language_pair(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, *ROWS, name=f"mqm_{word}.tsv")
    with pytest.raises(UsageError, match="says no language pair"):
        metal.read(path)
    assert not tells(metal.read(path, language="de-en").report, "the file's name says")


def test_a_frame_of_errors(tmp_path: Path) -> None:
    frame = pd.read_csv(write(tmp_path, *ROWS), sep="\t", quoting=3)
    assert scores(metal.read(frame, language="de-en")) == pytest.approx(SCORES)


@pytest.mark.reference
def test_ted_by_its_raters_equals_the_released_means(reference: Path) -> None:
    layouts = reference / "mqm" / "layouts"
    raw = metal.read(layouts / "mqm_ted_zhen.tsv")
    means = metal.read(layouts / "mqm_ted_zhen.avg_seg_scores.tsv")
    assert raw.languages == means.languages == ("zh-en",)
    assert len(raw.ratings) == 7935
    assert len([rater for rater in raw.raters if rater.startswith("rater")]) == 9
    assert set(raw.extra["generators"]) == {"ref", "refB"}
    assert set(means.extra["generators"]) == {"ref-A", "ref-B"}
    rows = means.ratings
    released = dict(zip(rows["output"].astype(str), rows["score"], strict=True))
    ours = raw.ratings.groupby("output", observed=True)["score"].mean()
    both = [name for name in ours.index if name in released]
    assert len(both) == 6877
    assert [ours[name] for name in both] == pytest.approx([released[name] for name in both])


@pytest.mark.reference
def test_the_leaderboard_shows_the_means_that_ted_released(reference: Path) -> None:
    """MQM's standard figure is the mean score, whether or not the scale has ends."""
    layouts = reference / "mqm" / "layouts"
    released = pd.read_csv(layouts / "mqm_ted_zhen.avg_seg_scores.tsv", sep=r"\s+")
    means = released.groupby("system")["mqm_avg_score"].mean().dropna()
    assert means["ref-B"] == pytest.approx(-0.415, abs=0.0005)
    for options in ({}, {"ranges": "mqm=-100..0"}, {"ranges": "mqm=-50..0"}):
        run = metal.leaderboard(layouts / "mqm_ted_zhen.avg_seg_scores.tsv", **options)
        rows = run.tables["leaderboard"].set_index("generator")["mean"]
        assert rows.to_dict() == pytest.approx(means[rows.index].to_dict(), abs=1e-9)
        assert tells(headline(run), f"mean {score(means['ref-B'])}")
        table = ranking_table(run, run.main, run.language)
        assert "mean" in table.columns
    heavier = metal.leaderboard(layouts / "mqm_ted_zhen.tsv", weights="major=10")
    assert tells(headline(heavier), "mean", "higher is better")
    rows = heavier.tables["leaderboard"]
    assert rows["mean"].tolist() == rows["score"].tolist()


@pytest.mark.reference
def test_other_layouts_of_the_release(reference: Path) -> None:
    layouts = reference / "mqm" / "layouts"
    newest = metal.read(layouts / "mqm_newstest2021_zhen.avg_seg_scores.tsv")
    assert len(newest.ratings) == 29_220
    errors = metal.read(layouts / "mqm_newstest2020_zhen.source-errors.tsv")
    assert (len(errors.outputs), list(errors.criteria)) == (len(errors.ratings), ["source_errors"])
    assert tells(errors.report, "all 193 errors", "sources")


def test_rows_that_occur_twice_are_said_to_count_twice(tmp_path: Path) -> None:
    path = tmp_path / "zhen.tsv"
    row = "s1\td1\td1\t1\tr1\tsource\ttarget\tFluency/Grammar\tMajor\n"
    names = [
        "system",
        "doc",
        "doc_id",
        "seg_id",
        "rater",
        "source",
        "target",
        "category",
        "severity",
    ]
    path.write_text("\t".join(names) + "\n" + row * 2)
    draft = mqm_errors.read(path, {})
    assert any(tells(note, "1 row", "equal", "counts") for note in draft.notes)
    assert draft.facts["score"].tolist() == [-10.0]
