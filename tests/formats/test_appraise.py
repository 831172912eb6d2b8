"""WMT's ratings as Appraise exports them, and the means of direct assessment."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from openpyxl import Workbook

import metal
from metal.data.formats import recognize
from metal.errors import DataError, MetalError
from tests.saying import tells

SPANS = '"[{""start_i"":0,""end_i"":3,""severity"":""minor"",""error_type"":null}]"'
ESA = [
    "p1,ende-tutorial1,1000001,TGT,eng,jpn,0,ende-tutorial1,False,[],1.5,1.6",
    f"p1,A,7,TGT,eng,jpn,90,test-en-news_a.1,False,{SPANS},9.5,9.9",
    "p1,A,7,BAD,eng,jpn,20,test-en-news_a.1#bad,False,[],4.5,4.6",
    "p1,A,7,TGT,eng,jpn,80,test-en-news_a.1#dup,False,[],3.5,3.6",
    "p2,A,7,TGT,eng,jpn,70,test-en-news_a.1,False,[],5.5,5.6",
    "p2,A,7,TGT,eng,jpn,70,test-en-news_a.1,False,[],5.5,5.6",
    "p2,refA,8,TGT,eng,zho,100,test-en-speech_b_001,False,[],6.5,6.6",
    "p2,A,9,TGT,eng,jpn,60,test-en-news_a.1,True,[],7.5,7.6",
]


def write(folder: Path, *rows: str, name: str = "wave3.csv") -> Path:
    path = folder / name
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def scores(dataset: metal.Dataset) -> dict[tuple[str, ...], float]:
    rows = dataset.ratings[["output", "criterion", "rater"]].astype(str)
    keys = rows.itertuples(index=False, name=None)
    return dict(zip(keys, dataset.ratings["score"], strict=True))


def test_esa_is_read_without_a_header_and_controls_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, *ESA)
    assert recognize(path) == "appraise"
    dataset = metal.read(path)
    # p1 rated A/7 at 3.5 s, in a copy of the document, and again at 9.5 s: the first counts
    assert scores(dataset) == {
        ("en-ja/7/A", "esa", "p1"): 80,
        ("en-ja/7/A", "esa", "p2"): 70,
        ("en-zh/8/refA", "esa", "p2"): 100,
    }
    assert dataset.extra["generators"] == {"refA": {"kind": "human"}}
    source = dataset.sources["en-zh/8"]
    assert (source.document, source.domain) == ("test-en-speech_b_001", "speech")
    assert dataset.criteria["esa"].scale.ends == (0, 100)
    assert tells(dataset.report, "1 row left out", "tutorial")
    assert tells(dataset.report, "1 row left out", "damaged on purpose (BAD)")
    assert tells(dataset.report, "1 row left out", "whole documents")
    assert tells(dataset.report, "1 row left out", "same as an earlier one")
    assert tells(dataset.report, "1 row left out", "rated the output before")
    assert tells(dataset.report, "count, too: 1 of #dup")


@pytest.mark.parametrize(
    "header",
    [
        "username,system,item,type,src,tgt,score,doc,bad,spans,start,end",
        "login,system,itemid,is_bad,source,target,score,document,complete,mqm,start_time,end_time",
        "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11",
    ],
)
def test_names_of_columns_above_an_export_are_skipped(header: str, tmp_path: Path) -> None:
    path = write(tmp_path, header, *ESA)
    assert recognize(path) == "appraise"
    dataset = metal.read(path)
    without = metal.read(write(tmp_path, *ESA, name="without.csv"))
    assert scores(dataset) == scores(without)
    assert dataset.ratings["comment"].tolist() == without.ratings["comment"].tolist()
    assert tells(dataset.report, "1 row left out", "damaged on purpose (BAD)")
    assert tells(dataset.report, "Appraise's order", "row 1", header.split(",")[0])
    assert not tells(without.report, "Appraise's order")


@pytest.mark.parametrize("named", [True, False])
def test_exports_saved_by_a_spreadsheet(named: bool, tmp_path: Path) -> None:
    """XLSX, tabs and semicolons were read as tables without a rater, or refused."""
    names = ["login,system,item,type,source,target,score,document,whole,mqm,start,end"]
    path = write(tmp_path, *(names if named else []), *ESA)
    data = metal.read(path)
    with path.open(newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    book = Workbook()
    for row in cells:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    for name, separator, encoding in (("b.tsv", "\t", "utf-16"), ("c.csv", ";", "utf-8-sig")):
        with (tmp_path / name).open("w", newline="", encoding=encoding) as file:
            csv.writer(file, delimiter=separator).writerows(cells)
    for name in ("a.xlsx", "b.tsv", "c.csv"):
        assert recognize(tmp_path / name) == "appraise"
        assert metal.read(tmp_path / name).digest == data.digest


def test_rows_below_names_in_another_order_are_no_export(tmp_path: Path) -> None:
    rows = [f"TGT,s{n},A,True,eng,deu,{n % 5},p{n % 2},1.5" for n in range(12)]
    path = write(tmp_path, "type,source,system,whole,src,tgt,score,rater,start", *rows)
    assert recognize(path) == ""


def test_an_empty_cell_of_errors_hides_no_time(tmp_path: Path) -> None:
    rows = [f"p1,A,7,TGT,eng,jpn,{score},d,False,,{score}.5,99.5" for score in (80, 70)]
    assert scores(metal.read(write(tmp_path, *rows))) == {("en-ja/7/A", "da", "p1"): 70}


def test_the_errors_of_esa_are_comments(tmp_path: Path) -> None:
    comments = metal.read(write(tmp_path, ESA[1])).ratings["comment"].tolist()
    assert comments == ['[{"start_i":0,"end_i":3,"severity":"minor","error_type":null}]']


@pytest.mark.parametrize(
    "row",
    [
        "p1,A,7,TGT,eng,deu,55,3.5,3.6",
        "p1,A,7,TGT,eng,deu,55,doc.1,False,3.5,3.6",
        "p1,A,7,TGT,eng,deu,55,3.5,3.6,batch1,1234",
    ],
)
def test_direct_assessment_has_fewer_columns(row: str, tmp_path: Path) -> None:
    path = write(tmp_path, row)
    assert recognize(path) == "appraise"
    assert scores(metal.read(path)) == {("en-de/7/A", "da", "p1"): 55}


def test_items_of_several_documents_are_told_apart(tmp_path: Path) -> None:
    rows = [f"p1,A,1,TGT,eng,deu,{score},doc.{score},False,[],1.5,2.5" for score in (10, 20)]
    dataset = metal.read(write(tmp_path, *rows))
    assert set(dataset.sources) == {"en-de/doc.10/1", "en-de/doc.20/1"}
    assert tells(dataset.report, "LANGUAGES/DOCUMENT/ITEM")


@pytest.mark.parametrize(
    "row, problem",
    [
        ("p1,A,7,TGT,eng,jpn,101,d,False,[],1.5,2.5", "row 2: score '101'"),
        ("p1,A,7,TGT,eng,jpn,nan,d,False,[],1.5,2.5", "row 2: score 'nan'"),
        ("p1,A,7,TGT,eng,jpn,good,d,False,[],1.5,2.5", "row 2: score 'good'"),
        ("p1,A,7,NEW,eng,jpn,50,d,False,[],1.5,2.5", "row 2: 12 fields: p1, A, 7, NEW"),
        ("p1,A,7,TGT,eng,klingon9,50,d,False,[],1.5,2.5", "row 2: no language pair"),
        ("p1,A,7,TGT,eng,jpn,50,d,False,[{],1.5,2.5", "row 2: '[{]' is not a list of errors"),
        ("p1,A,7,TGT,eng,jpn,50,d,False,5,1.5,2.5", "row 2: '5' is not a list of errors"),
        ("p1,A,7", "row 2: 3 cells, and 12 in the first row. If the file is cut off"),
        (f"{ESA[1]},1", "row 2: 13 cells, and 12"),
        (f"p1,A,7,TGT,eng,jpn,50,d,False,{'x' * 200_000},1.5,2.5", "is not a list of errors"),
    ],
)
def test_broken_rows_are_named(row: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        metal.read(write(tmp_path, ESA[1], row))
    assert tells(str(raised.value), problem)


def test_a_table_with_a_column_tgt_is_still_a_table(tmp_path: Path) -> None:
    rows = [f"s{n},t{n},r{r},{n % 5}" for n in range(12) for r in (1, 2)]
    path = write(tmp_path, "SRC,TGT,rater,score", *rows)
    assert recognize(path) == ""


@pytest.mark.reference
def test_esa_of_wmt24(reference: Path) -> None:
    path = reference / "wmt-esa" / "esa_generalMT2024_wave3.csv"
    dataset = metal.read(path)
    assert dataset.languages == ("en-ja", "en-zh")
    # 11,299 rows: 673 of tutorials, 1,365 BAD, 74 copies, 91 later answers
    assert len(dataset.ratings) == 11_299 - 673 - 1_365 - 74 - 91
    assert len(dataset.raters) == 112
    assert {source.domain for source in dataset.sources.values()} == {
        *("literary", "news", "social", "speech")
    }
    for count, what in (("673", "tutorial"), ("1,365", "BAD"), ("74", "same"), ("91", "before")):
        assert tells(dataset.report, f"{count} rows left out", what)


# ---------------------------------------------------------------- means of direct assessment

DA_HEADER = "lp,src,mt,ref,score,raw,annotators,domain,year"


def test_raw_and_z_scores_are_two_criteria_of_one_panel(tmp_path: Path) -> None:
    rows = ["en-de,one,eins,Eins,-0.5,60,2,news,2020", "en-de,one,ein,Eins,0.5,80.5,1,news,2020"]
    rows += ["zh-en,二,two,2,1.5,,1,news,2021", rows[0]]
    path = write(tmp_path, DA_HEADER, *rows)
    assert recognize(path) == "wmt-da"
    dataset = metal.read(path)
    assert scores(dataset) == {
        ("en-de/1/unknown", "da", "DA"): 60,
        ("en-de/1/unknown", "da-z", "DA"): -0.5,
        ("en-de/1/unknown/2", "da", "DA"): 80.5,
        ("en-de/1/unknown/2", "da-z", "DA"): 0.5,
        ("zh-en/2/unknown", "da-z", "DA"): 1.5,
    }
    assert dataset.sources["en-de/1"].references == ("Eins",)
    assert dataset.raters["DA"].about == {"panel": True}
    assert tells(dataset.report, "standardized")
    assert tells(dataset.report, "no column", "systems")
    assert tells(dataset.report, "1 row left out:", "same output")


def test_da_sqm_has_systems_and_raw_scores_only(tmp_path: Path) -> None:
    header = "lp,src,mt,ref,score,system,annotators,domain,year"
    dataset = metal.read(write(tmp_path, header, "en-de,one,eins,Eins,75,Online-B,2,news,2022"))
    assert scores(dataset) == {("en-de/1/Online-B", "da", "DA"): 75}


def test_scores_of_segments_with_spaces_between(tmp_path: Path) -> None:
    rows = ["SYS SID RAW.SCR Z.SCR N", "A.1 12 61.5 -0.25 1", "B.2 12 NA 0.5 2"]
    path = write(tmp_path, *rows, name="ad-seg-scores-de-en.csv")
    assert recognize(path) == "wmt-da"
    assert tells(metal.read(path).report, "the file's name says de-en", "`language` changes it")
    assert scores(metal.read(path)) == {
        ("de-en/12/A.1", "da", "DA"): 61.5,
        ("de-en/12/A.1", "da-z", "DA"): -0.25,
        ("de-en/12/B.2", "da-z", "DA"): 0.5,
    }
    ranged = metal.read(path, ranges="da-z=-3..3").criteria
    assert (ranged["da-z"].scale.ends, ranged["da"].scale.ends) == ((-3, 3), (0, 100))
    unnamed = write(tmp_path, *rows, name="scores.csv")
    with pytest.raises(MetalError, match="says no language pair"):
        metal.read(unnamed)
    assert metal.read(unnamed, language="de-en").languages == ("de-en",)


@pytest.mark.parametrize(
    "row, problems",
    [
        ("en-de,one,eins,Eins,0.5,160,2,news,2020", ["DA '160'"]),
        ("en-de,one,eins,Eins,high,60,2,news,2020", ["'high'"]),
        ("en-de,one,eins,Eins,inf,60,2,news,2020", ["'inf'"]),
        ("nowhere,one,eins,Eins,0.5,60,2,news,2020", ["lp 'nowhere'"]),
        ("en-de,one,eins", ["3 fields", "names 9"]),
    ],
)
def test_faults_of_means_are_named(row: str, problems: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        metal.read(write(tmp_path, DA_HEADER, row))
    assert tells(str(raised.value), "row 2", *problems)
