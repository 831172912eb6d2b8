"""What a terminal shows of a run: the answer first, at every width; and the same as Markdown."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt

import metal
from metal.cli import metal as root
from metal.cli.flags import command_named
from metal.cli.reading import read_and_say
from metal.data.languages import language_name
from metal.data.text import listed
from metal.questions.audit.run import AuditRun
from metal.show.markdown import markdown
from metal.show.pages import screen
from metal.show.terminal import console
from metal.show.view import Cell, Paragraph, TableView
from tests.cli.forks import shared
from tests.conftest import MakeDataset

LANGUAGES = ("Bangla", "Hindi", "Kannada", "Malayalam", "Tamil")
CRITERIA = ("Linguistic acceptability", "Task quality", "Hallucinations")
PLAIN = TableView.of(None, "", "Verdicts on j", ("", *LANGUAGES), [], turns=True)
MATRIX = replace(
    PLAIN,
    rows=tuple(
        (Cell(name), *[Cell("Informative", "keeps 36%", "some")] * len(LANGUAGES))
        for name in CRITERIA
    ),
)


@pytest.fixture
def at_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., list[str]]]:
    """at_width(columns, part): the lines that show it."""

    def shown(columns: int, part: TableView | Paragraph, **environment: str) -> list[str]:
        for name, value in {"COLUMNS": str(columns), **environment}.items():
            monkeypatch.setenv(name, value)
        console.of_output.cache_clear()
        console.show(part)
        return capsys.readouterr().out.splitlines()

    yield shown
    console.of_output.cache_clear()


@pytest.mark.parametrize(
    ("columns", "first", "height"),
    [
        (200, ["Bangla", "Hindi", "Kannada", "Malayalam", "Tamil"], 3),  # a cell on one line
        (100, ["Linguistic", "acceptability", "Task", "quality", "Hallucinations"], 5),  # turned
        # turned and wrapped
        (60, ["Linguistic", "acceptability", "Task", "quality", "Hallucinations"], 10),
    ],
)
def test_the_matrix_fits(
    columns: int, first: list[str], height: int, at_width: Callable[..., list[str]]
) -> None:
    _, title, *lines = at_width(columns, MATRIX)
    rule = next(place for place, line in enumerate(lines) if line.startswith("─"))
    assert (title, sorted(" ".join(lines[:rule]).split())) == ("Verdicts on j", sorted(first))
    assert len(lines[rule + 1 :]) == height
    assert max(map(len, lines)) <= columns
    words = {word.strip(",") for word in " ".join(lines).split()}
    assert {"Linguistic", "acceptability", "Informative", *LANGUAGES} <= words


def test_where_nothing_fits_names_stay_whole_and_columns_continue_below(
    at_width: Callable[..., list[str]],
) -> None:
    many = replace(MATRIX, columns=("", *LANGUAGES), rows=MATRIX.rows * 4)  # twelve criteria
    lines = at_width(40, many)
    assert max(map(len, lines)) <= 40
    assert sum("acceptability" in line for line in lines) >= 4
    assert sum("─" in line for line in lines) == lines.count("") > 1  # each below a blank line


def test_a_first_screen_has_the_columns_that_fit_and_names_the_others(
    at_width: Callable[..., list[str]],
) -> None:
    judges = [(f"judge-{place}", "0.62", "0.50") for place in range(3)]
    table = TableView.of(
        None, "", "Judges", ("judge", "F1" * 9, "kappa" * 4), judges, notes=("a", "b", "c", "d")
    )
    assert len(at_width(40, table)) == 2 + 2 * 5 + 4
    lines = at_width(40, replace(table, brief=True))
    assert len(lines) == 2 + 5 + 1 + 2 + 1
    assert lines[-4:] == [
        f"With -v also: {'kappa' * 4}.",
        "a",
        "b",
        "With -v also: 2 more remarks.",
    ]


def test_a_long_name_is_whole_where_there_is_room(at_width: Callable[..., list[str]]) -> None:
    judge = "anthropic.claude-3-5-sonnet-20240620-v1"
    table = TableView.of(None, "", "Judges", ("judge", "F1"), [(judge, "0.62")])
    assert any(judge in line for line in at_width(80, table))


def test_colours_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, at_width: Callable[..., list[str]]
) -> None:
    assert "\x1b" not in "".join(at_width(80, MATRIX))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36mInformative" in "".join(at_width(80, MATRIX, TERM="xterm-256color"))
    assert "\x1b[36m" not in "".join(at_width(80, MATRIX, TERM="xterm-256color", NO_COLOR="1"))


def test_many_judges_get_a_line_each(
    make_dataset: MakeDataset, report_on: Callable[..., AuditRun]
) -> None:
    people = [0, 1, 2, 2, 2, 2] * 10
    right = {f"good-{place}": [*people[:-place], *[0] * place] for place in (4, 3, 2, 1)}
    run = report_on(make_dataset({"en": {"A1": people, "A2": people, "A3": people, **right}}))
    headline, tally, best, *rest = screen(run)
    assert isinstance(headline, Paragraph)
    assert isinstance(tally, TableView)
    assert isinstance(best, TableView)
    assert [row[0].text for row in tally.rows] == ["good-1", "good-2", "good-3", "good-4"]
    assert tally.rows[0][1].text == "1 like a person"
    assert best.title == "Verdicts on good-1"
    assert not any(isinstance(part, TableView) for part in rest)
    assert any(
        isinstance(part, Paragraph) and "Signature" in part.text
        for part in screen(run, verbose=True)
    )
    fewer = report_on(
        make_dataset({"en": {"A1": people, "A2": people, **dict([*right.items()][:3])}}, name="few")
    )
    assert sum(isinstance(part, TableView) for part in screen(fewer)) == 3


def test_markdown_is_a_table_of_text_and_calls_nobody() -> None:
    hostile = "a|b_c*d*<img src=x>`e`\\ [f](http://g.h) @octocat #12 $x$ 5~~6~~"
    parts = [
        Paragraph(f"1. {hostile} is good", strong=True),
        TableView.of(
            None, "", hostile, ("", hostile), [(hostile, Cell("Informative", "keeps 36%", "some"))]
        ),
        Paragraph("  metal design 'my `data`'", copied=True),
    ]
    text = markdown(parts)
    assert "@octocat" not in text
    assert "http://" not in text
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
    assert [token.type for token in tokens if token.level == 0 and token.nesting >= 0] == [
        *("paragraph_open", "paragraph_open", "table_open", "paragraph_open")
    ]
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children or ()}
    assert kinds == {
        "text",
        "text_special",
        "strong_open",
        "strong_close",
        "html_inline",
        "code_inline",
    } - (set() if "text_special" in kinds else {"text_special"})
    said = [
        "".join(child.content for child in token.children or ()).replace("\u200b", "")
        for token in inline
    ]
    assert said[0] == f"1. {hostile} is good"
    assert said[2:5] == ["", hostile, hostile]
    assert said[5] == "Informative<br>keeps 36%"
    assert said[6] == "metal design 'my `data`'"


def test_how_a_table_was_read_is_said_in_few_lines_and_guesses_always(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_dataset: MakeDataset,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").touch()
    audit = command_named(["audit"], root)  # made from the functions as they are
    notes = tuple(f"note {number}{' that is long' * 5}" for number in range(5))
    notes += (f"raters: {'who is one of many, ' * 50}taken for people (see `kinds`)",)
    monkeypatch.setattr(
        metal, "read", lambda data, **_: replace(make_dataset({"en": {"A1": [0]}}), report=notes)
    )
    with click.Context(audit, parent=click.Context(root)):
        read_and_say(Path("t.csv"), {}, verbose=False)
        short = capsys.readouterr().err.splitlines()
        read_and_say(Path("t.csv"), {}, verbose=True)
    assert " ".join(short).startswith("Read t.csv: note")
    assert " ".join(short).count("note") == 1
    assert len(short) <= 8
    assert max(map(len, short[:-1])) <= 80
    assert "taken for people (see --kinds)" in " ".join(map(str.strip, short))
    again = "To correct this: these options, or metal import t.csv -i (4 more remarks: -v)"
    assert short[-1] == again
    assert capsys.readouterr().err.count("note") == 5


def test_a_table_with_columns_by_their_names_is_read_in_four_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{language}-{n},{language}-{n},{language},{criterion},{rater},{1 + n % 5}"
        for n in range(5)
        for language in ("en", "hi")
        for criterion in ("coherence", "fluency", "relevance")
        for rater in ("A1", "A2", "A3", "gpt-4")
    ]
    Path("l5.csv").write_text(
        "\n".join(["source,output,language,criterion,rater,score", *rows]), encoding="utf-8"
    )
    with click.Context(command_named(["audit"], root), parent=click.Context(root)):
        read_and_say(Path("l5.csv"), {}, verbose=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    for guess in (
        "all criteria: higher is better (assumed; see --directions)",
        "A1, A2, A3; 1 for LLM judges: gpt-4 (see --kinds)",
    ):
        assert guess in " ".join(map(str.strip, lines))


@pytest.mark.slow
@pytest.mark.reference
def test_one_judge_in_five_languages_takes_31_lines(reference: Path, tmp_path: Path) -> None:
    done = shared().at(tmp_path, dict(os.environ))("audit", reference / "pariksha")
    lines = [*done.err.splitlines(), *done.out.splitlines()]
    assert len(lines) <= 31
    assert max(map(len, lines[3:])) <= 80
    assert lines[3].startswith("gpt-4-32k/detailed agrees with people less than")
    assert re.search(
        r"^Malayalam +Informative 13–173%‡ +Informative 22–56%<† +Uninformative 3–21%$",
        done.out,
        re.MULTILINE,
    )
    below = lines[lines.index("", 9) + 1 :]
    starts = [line.partition(":")[0] for line in below if not line.startswith(" ")]
    assert starts == [
        "Beware of F1 alone",
        "What to do next",
        "warning, the first of 2 (-v)",
        "Report",
    ]


@pytest.mark.parametrize("criteria", [1, 5])
def test_so_does_a_table_without_texts_and_sources(criteria: int, tmp_path: Path) -> None:
    names = [
        "fluency",
        "tone",
        "task quality",
        "hallucinations",
        "problematic content",
        "linguistic acceptability",
    ]
    rows = [
        f"{language}{n},{language},{rater}"
        + f",{n % 5 if rater != 'openai:gpt-4o/detailed' or n % 3 else 4}" * criteria
        for language in ("hi", "en", "sw", "ta", "ar")
        for n in range(20)
        for rater in ("Annotator1", "Annotator2", "Annotator3", "openai:gpt-4o/detailed")
    ]
    (tmp_path / "made.csv").write_text(
        "\n".join([",".join(["item,language,annotator", *names[:criteria]]), *rows]),
        encoding="utf-8",
    )
    done = shared().at(tmp_path, dict(os.environ))("audit", "made.csv", "--resamples", 100)
    lines = [*done.err.splitlines(), *done.out.splitlines()]
    assert len(lines) <= 25
    assert "--columns source=COLUMN" in done.err
    assert "its own source" not in done.out
    assert ("\n… undecided." in done.out) == (criteria > 1)


def test_many_languages_with_the_same_verdicts_stand_together_and_others_are_counted(
    make_dataset: MakeDataset,
    report_on: Callable[..., AuditRun],
    at_width: Callable[..., list[str]],
) -> None:
    people = [0, 1, 2, 2, 2, 2] * 10
    wrong = [2, 2, 2, 2, 1, 0] * 10
    right = dict.fromkeys(
        ["ar", "bn", "de", "en", "es", "fi", "fr", "hi", "it", "ja", "ko", "ta", "tr"], people
    )
    raters = {
        code: {"A1": people, "A2": people, "J": scores}
        for code, scores in (right | {"sw": wrong}).items()
    }
    _, matrix, *_ = screen(report_on(make_dataset(raters)))
    assert isinstance(matrix, TableView)
    assert matrix.columns == ("", "Arabic, Bangla and 11 more", "Swahili")
    assert [(cell.text, cell.below) for cell in matrix.rows[0][1:]] == [
        ("Like a person", "100% [93%, 107%]\norder 100% [100%, 100%]"),
        ("Uninformative", ""),
    ]
    lines = at_width(80, matrix)
    assert len(lines) == 7 + 6
    # by name, also where the heading has only the first
    good = " ".join(map(str.strip, lines[7:9]))
    assert good == f"Like a person: in {listed(sorted(map(language_name, right)))} (task_quality)."


def test_time_is_shown_where_nobody_knows_how_much_there_is_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    steps_and_shown = (
        ([], ("planning", "0:00:00")),
        ([(1, 4), (3, 4)], ("planning", "75%;", "left")),
        # done, but for what nobody counts
        ([(1_000, 2_000), (2_000, 2_000)], ("planning", "0:00:00")),
    )
    for steps, shown in steps_and_shown:
        monkeypatch.setattr(sys, "stderr", stream := Terminal())
        with console.progress("planning") as advance:
            for step in steps:
                advance(*step)
        assert all(
            words in re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", stream.getvalue()) for words in shown
        )


def test_names_break_after_a_hyphen_or_a_slash_and_else_anywhere(
    at_width: Callable[..., list[str]],
) -> None:
    names = ("meta-llama/Meta-Llama-3-70B-Instruct", "aryabhatta/" + "x" * 24, "y" * 31)
    rows = [(who, *(["0.805 to 0.880"] * 3)) for who in names]
    lines = at_width(80, TableView.of(None, "", "", ("who", "a", "b", "c"), rows))
    shown = [line.split("  ")[0].strip() for line in lines[3:]]
    assert shown[:4] == ["meta-llama/Meta-Llama-3-70B-", "Instruct", "aryabhatta/", "x" * 24]
    assert "".join(shown[4:6]) == names[2]


def test_names_are_wrapped_at_words_where_more_columns_fit_then(
    at_width: Callable[..., list[str]],
) -> None:
    row = (
        "Linguistic acceptability",
        "gpt-4o/detailed",
        "cannot be said",
        "cannot be said",
        "in part",
    )
    for columns, kept in ((80, "Linguistic"), (76, "Linguistic acceptability")):
        wide = TableView.of(None, "", "Alone", ("", "judge", *LANGUAGES[:3]), [row], heads=2)
        lines = at_width(columns, replace(wide, brief=True))
        assert next(line for line in lines if "gpt" in line).split("  ")[0] == kept
        assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("option", ["`directions={'harm': 'lower'}`", "--directions"])
def test_a_warning_cut_to_a_line_shows_the_option_that_it_names(
    at_width: Callable[..., list[str]], option: str
) -> None:
    words = (
        "warning, the first of 2 (-v): harm: higher was taken for better, though its name says that"
        " lower may be"
    )
    lines = at_width(
        80,
        Paragraph(
            f"{words} so; see {option}. And more of that kind, and more, and more.", cut=True
        ),
    )
    assert len(lines) == 2
    assert "directions" in lines[1]
    assert len(at_width(80, Paragraph(f"{words}, and more", cut=True))) == 1
    [line] = at_width(
        80,
        Paragraph(
            f"{words} so, and more, and more, and more, and more, and more: {option}", cut=True
        ),
    )
    assert line.endswith(("... (see directions)", "... (see --directions)"))


def test_a_language_that_nobody_named_is_left_out(
    make_dataset: MakeDataset,
    report_on: Callable[..., AuditRun],
    at_width: Callable[..., list[str]],
) -> None:
    ratings = {
        rater: [(n * 7 + k * (n % 4 == 0)) % 3 for n in range(60)]
        for k, rater in enumerate(("A1", "A2", "A3"))
    }
    run = report_on(
        make_dataset({"und": {**ratings, "judge": [(n * 7 + (n % 5 == 0)) % 3 for n in range(60)]}})
    )
    lines = "\n".join(line for part in screen(run) for line in at_width(100, part))
    assert language_name("und") not in lines
    assert "verdict" in lines
