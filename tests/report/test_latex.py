"""Tables for papers: escaped, with booktabs, and TeX takes them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from metal.runs.audit_run import AuditRun
from metal.show.audit.page import tables
from metal.show.files import escape, to_latex, write_tables_latex
from metal.show.view import Cell, TableView


def compiles(run: Path, folder: Path) -> None:
    """Every table of the run goes through pdfTeX; skipped without it, after the files were written."""
    assert write_tables_latex(tables(AuditRun.read(run)), folder)[0] == len(list(folder.glob("*.tex"))) >= 6
    tex = shutil.which("pdflatex")
    if not tex:
        pytest.skip("no pdflatex found")
    inputs = "".join(f"\\input{{{file.name}}}\n\\clearpage\n" for file in sorted(folder.glob("*.tex")))
    (folder / "paper.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n" + inputs + "\\end{document}\n"
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
    table = TableView("t_1", "F1 & more", ("", "model", "hi"), rows, heads=2, notes=("50% left out",), signature="a|b")
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
