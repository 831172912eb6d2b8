"""All text is hostile: it is shown as text, runs nowhere, becomes no formula in a spreadsheet, and
TeX takes it.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from metal.data.dataset import Card, Dataset, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.questions.audit.run import AuditRun
from metal.show.files import escape, to_latex, write_tables_latex
from metal.show.pages import tables
from metal.show.view import Cell, TableView
from tests.report.checks import check_names_are_text
from tests.report.conftest import written

ATTACKS = (
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 2</script>",
    '<img src=x onerror="window.pwned = 3">',
    '"><svg onload=window.pwned=4>',
    "javascript:window.pwned=5",
    "' autofocus onfocus='window.pwned=6",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!--",
    "&lt;b&gt; &amp;amp;",
    "abc\u202edcba\u2066x\u2069",
    "nul\x00 bell\x07 escape\x1b[31m",
    "lone \ud800 surrogate \udfff",
    '=HYPERLINK("http://example.org","x")',
    "@SUM(1+9)*cmd|' /C calc'!A0",
    "\\input{/etc/passwd} $x^2$ 100% _a_ #1 & {}",
)
LONG = "very long " * 105_000  # more than a megabyte


def clean(text: str) -> str:
    """What a file can hold of it."""
    return text.encode("utf-8", "replace").decode("utf-8")


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of a dataset in which every text attacks, written to disk and read again first."""
    folder = tmp_path_factory.mktemp("hostile")
    save_dataset(hostile(), folder / "dataset")
    return written(load_dataset(folder / "dataset"), folder / "run")


def hostile() -> Dataset:
    scale = Scale(
        "ordinal", (Level(0, clean(ATTACKS[2])), Level(1, clean(ATTACKS[0])), Level(2, "Good"))
    )
    criterion = Criterion(
        "quality", scale, abbreviation=ATTACKS[3], label=ATTACKS[1], question=ATTACKS[0]
    )
    sources, outputs, ratings = [], [], []
    raters = [Rater(f"A{n} {clean(ATTACKS[n])}", "human", clean(ATTACKS[-n])) for n in range(3)]
    about = [{"model": clean(ATTACKS[0]), "prompt": clean(ATTACKS[place])} for place in (1, 2)]
    raters += [
        Rater(f"J{n} {clean(ATTACKS[9 + n])}", "llm", "x", facts) for n, facts in enumerate(about)
    ]
    for n in range(45):
        text = LONG if n == 1 else clean(ATTACKS[n % len(ATTACKS)])
        language = ("en", "ar", "zh-en")[n % 3]
        sources.append(
            Source(f"{n} {clean(ATTACKS[n % len(ATTACKS)])}", language, text, text[:5000])
        )
        output = Output(
            f"o{n}-{text[:40]}", sources[-1].source, clean(ATTACKS[n % 15]), language, text
        )
        outputs.append(output)
        for place, rater in enumerate(raters):
            refused = rater.kind == "llm" and n % 9 == 0
            score = None if refused else float((n + place * (n % 2)) % 3)
            reason = clean(ATTACKS[n % 15]) if refused else ""
            ratings.append(Rating(output.output, "quality", rater.rater, score, reason, text))
    card = Card("hostile", ATTACKS[1], ATTACKS[0], ATTACKS[2], ATTACKS[4])
    return assemble(card, [criterion], sources, outputs, raters, facts_from(ratings))


def test_nothing_runs_and_everything_is_shown(hostile_run: Path, visit: Callable[..., Any]) -> None:
    seen = visit(hostile_run / "report.html", viewport={"width": 390, "height": 900})
    page = seen.page
    assert seen.requests == [(hostile_run / "report.html").resolve().as_uri()]
    while page.locator("#more").is_visible():
        page.click("#more")
    for cell in page.locator("a.v").all():
        cell.evaluate("node => node.click()")  # also those of judges that are folded
    assert page.evaluate("window.pwned") is None
    assert seen.said == []
    assert page.locator("main img, main svg[onload], main [onfocus], main script").count() == 0
    assert page.locator("a").evaluate_all("nodes => nodes.filter(node => !node.hash).length") == 0
    shown = page.locator("#items").inner_text()
    for attack in ATTACKS[:9]:
        assert attack in shown
    assert page.inner_text(".scope b") == " ".join(ATTACKS[1].split())
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_file_holds_no_character_that_a_page_must_not(hostile_run: Path) -> None:
    page = (hostile_run / "report.html").read_text(encoding="utf-8")
    check_names_are_text(page)
    assert len(page.encode()) < 1_500_000


def test_long_texts_are_cut_in_the_page_and_whole_beside_it(
    hostile_run: Path, visit: Callable[..., Any]
) -> None:
    page = visit(hostile_run / "report.html", "#disagreements?text=very long").page
    assert "in disagreements.parquet]" in page.locator("article").first.inner_text()
    table = pq.read_table(hostile_run / "disagreements.parquet")
    assert LONG in table["output_text"].to_pylist()


def test_csv_cells_are_no_formulas(hostile_run: Path) -> None:
    files = sorted((hostile_run / "tables").glob("*.csv"))
    assert len(files) == 17
    for file in files:
        for row in csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline="")):
            for cell in row:
                assert not re.match(r"[=+@\t\r]|-(?![\d.]|$)", cell), f"{file.name}: {cell!r}"


def compiles(run: Path, folder: Path) -> None:
    """Every table of the run goes through pdfTeX; skipped without it, after the files were
    written.
    """
    assert (
        write_tables_latex(tables(AuditRun.read(run)), folder)[0]
        == len(list(folder.glob("*.tex")))
        >= 6
    )
    tex = shutil.which("pdflatex")
    if not tex:
        pytest.skip("no pdflatex found")
    inputs = "".join(
        f"\\input{{{file.name}}}\n\\clearpage\n" for file in sorted(folder.glob("*.tex"))
    )
    (folder / "paper.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
        + inputs
        + "\\end{document}\n"
    )
    done = subprocess.run(
        [tex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        env=os.environ | {"openout_any": "p"},
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "root:" not in done.stdout


def test_special_characters() -> None:
    assert escape("50% of a_b & c #1 ~ \\x {y} $z^2$ <q>") == (
        r"50\% of a\_b \& c \#1 \textasciitilde{} \textbackslash{}x \{y\} \$z\textasciicircum{}2\$ "
        r"\textless{}q\textgreater{}"
    )
    assert escape("\N{MINUS SIGN}0.1 \N{EN DASH} \N{HORIZONTAL ELLIPSIS}") == r"$-$0.1 -- \ldots{}"


def test_a_table() -> None:
    rows = (
        (Cell("LA"), Cell("gpt"), Cell("0.50", "[0.40, 0.60]", "strong")),
        (Cell("LA"), Cell("llama"), Cell("\N{EN DASH}")),
        (Cell("TQ"), Cell("gpt"), Cell("0.70")),
    )
    table = TableView(
        "t_1",
        "F1 & more",
        ("", "model", "hi"),
        rows,
        heads=2,
        notes=("50% left out",),
        signature="a|b",
    )
    lines = to_latex(table).splitlines()
    assert r"\caption{F1 \& more}" in lines
    assert r"\begin{tabular}{@{}llr@{}}" in lines
    assert r"LA & gpt & \textbf{0.50} \\[-2pt]" in lines
    assert r" &  & \scriptsize {[}0.40, 0.60{]} \\[1pt]" in lines
    assert r" & llama & -- \\" in lines  # the criterion is named once
    assert lines.index(r"\addlinespace") == lines.index(r"TQ & gpt & 0.70 \\") - 1
    assert r"\par\smallskip\footnotesize 50\% left out" in lines
    assert lines[-1] == "% a|b"


def test_the_demo_compiles(demo_run: Path, tmp_path: Path) -> None:
    compiles(demo_run, tmp_path)


def test_hostile_names_compile_as_latex(hostile_run: Path, tmp_path: Path) -> None:
    compiles(hostile_run, tmp_path)
