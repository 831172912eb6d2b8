"""The import wizard: from a file to a dataset, step by step, as requests."""

from __future__ import annotations

import html
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pandas as pd
import pytest
from starlette.datastructures import QueryParams

import metal
from metal.app.choices import options_in, query_of, read_as
from metal.app.server import View
from metal.app.table_view import MOST_COLUMNS
from metal.app.uploads import MOST_KEPT, file_name
from metal.cli.datasets import import_options
from tests.app.test_guard import asked
from tests.saying import tells

WIDE = "id,locale,annotator_1,annotator_2,gpt_4o,weather\n" + "".join(
    f"{language}-{n},{language},{n % 3 + 1},{(n + n // 5) % 3 + 1},{n % 2 + 1},{n % 4}\n"
    for language in ("en", "hi")
    for n in range(20)
)
WORDS = "id,rater,score,language\n" + "".join(
    f"{n},{rater},{('meh', 'zut', 'wow')[(n + turn) % 3]},fr\n"
    for n in range(12)
    for turn, rater in enumerate(("Ann", "gpt-4"))
)
BOUNDARY = "a-boundary"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app on an empty folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        view = View.begin(tmp_path_factory.mktemp("desk"), 0)
    yield view
    view.stop()


def sent(view: View, *files: tuple[str, str | bytes]) -> str:
    """The address of the page on files that are sent, below the token."""
    body = b""
    for name, content in files:
        text = content.encode() if isinstance(content, str) else content
        head = f'Content-Disposition: form-data; name="file"; filename="{name}"'
        body += f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + text + b"\r\n"
    body += f"--{BOUNDARY}--\r\n".encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    status, text, headers = asked(view, "import", "POST", body, content_type=kind)
    assert status == 303, text
    return below(view, headers["location"])


def below(view: View, address: str) -> str:
    return address.removeprefix(urlsplit(view.address).path).partition("#")[0]


def chosen(view: View, address: str, **fields: str | list[str]) -> tuple[int, str, str]:
    """The status, page and next address after a form is sent; _ in a field's name is a dot."""
    named = {name.replace("_", "."): value for name, value in fields.items()}
    kind = "application/x-www-form-urlencoded"
    body = urlencode(named, doseq=True).encode()
    status, text, headers = asked(view, address, "POST", body, content_type=kind)
    return status, text, below(view, headers.get("location", ""))


def page(view: View, address: str) -> str:
    status, text, _ = asked(view, address)
    assert status == 200
    return text


def command_on(text: str) -> list[str]:
    return shlex.split(html.unescape(re.findall(r"<code tabindex=\"0\">(.*?)</code>", text)[0]))


def test_options_are_the_same_after_a_way_through_an_address() -> None:
    options = {
        "language": "hi",
        "ignore": ("a&b", "c=d"),
        "columns": {"rater": "who, says #1", "source": "A+B"},
        "kinds": {"a.b=[*]": "llm"},
        "levels": {"अर्थ": "बुरा<अच्छा"},
        "missing": {"tone": ("0", "-1")},
    }
    assert options_in(QueryParams(query_of(options))) == options
    assert options_in(QueryParams("reader=x&out.a=b&language=&columns=x&again=1")) == {}


def test_a_column_changes_its_role_and_comes_back() -> None:
    options: dict[str, object] = {}
    read_as(options, "note[1]", "comment", "", ())
    assert options == {"ignore": ("note[[]1]",)}
    read_as(options, "note[1]", "", "answers", ("A1", "A2"))
    assert options == {"wide": ("A1", "A2", "note[[]1]")}
    read_as(options, "note[1]", "answers", "", ("A1", "A2", "note[[]1]"))
    assert options == {"wide": ("A1", "A2")}
    read_as(options, "who", "", "rater", ())
    read_as(options, "who", "rater", "group", ())
    assert options["columns"] == {"group": "who"}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\a.csv", "a.csv"),
        ("..", "table"),
        ("", "table"),
        (".bashrc", "bashrc"),
        ("a\u202egpj.csv", "agpj.csv"),
        ("x\n\ty.csv", "xy.csv"),
        ("m" * 500 + ".csv", "m" * 100 + ".csv"),
    ],
)
def test_names_of_sent_files_are_names_and_nothing_else(name: str, kept: str) -> None:
    assert file_name(name) == kept


def test_the_page_shows_what_was_read_and_why(desk: View) -> None:
    text = page(desk, sent(desk, ("people.csv", WIDE)))
    assert tells(text, "120 ratings of 40 outputs", "English", "Hindi", "2 people", "1 LLM judge")
    assert tells(text, "locale", "by its name")
    assert tells(text, "weather", "may hold scores", "name", "not say whose")
    assert command_on(text) == ["metal", "import", "people.csv", "--out", "datasets/people"]


def test_choices_are_options_and_the_command_reads_the_same(desk: View, tmp_path: Path) -> None:
    address = sent(desk, ("people.csv", WIDE))
    _, _, address = chosen(desk, address, column_3="", kind_2="human", direction_0="lower")
    assert parse_qs(urlsplit(address).query) == {
        "ignore": ["annotator_2"],
        "directions.overall": ["lower"],
    } | {"kinds.gpt_4o": ["human"]}
    text = page(desk, address)
    assert tells(text, "annotator_2", "you left it out")
    status, _, made = chosen(desk, address, do="make", name="mine")
    assert (status, made) == (303, "imported/datasets/mine")
    assert tells(page(desk, made), "datasets/mine", "No judge")
    dataset = metal.read(desk.folder / "datasets" / "mine")
    assert list(dataset.raters) == ["annotator_1", "gpt_4o"]
    (tmp_path / "people.csv").write_text(WIDE)
    words = command_on(text)
    assert words[:3] == ["metal", "import", "people.csv"]
    options = import_options(words[2:])
    assert metal.read(tmp_path / "people.csv", **options).digest == dataset.digest


def test_a_column_that_was_left_out_can_be_read_again(desk: View) -> None:
    address = sent(desk, ("people.csv", WIDE))
    _, _, without = chosen(desk, address, column_3="")
    _, _, again = chosen(desk, without, column_5="answers")
    assert "annotator_2" in options_in(QueryParams(urlsplit(again).query))["wide"]
    assert tells(page(desk, again), "120 ratings")


def test_words_without_a_known_order_are_put_in_order(desk: View) -> None:
    address = sent(desk, ("words.csv", WORDS))
    assert tells(page(desk, address), "cannot read", "order METAL", "not know")
    order = {"ordered_0": "1", "level_0": ["0", "1", "2"]}
    _, _, address = chosen(desk, address, **order, move="0:2:1")
    assert options_in(QueryParams(urlsplit(address).query)) == {
        "levels": {"overall": "meh<wow<zut"}
    }
    _, _, address = chosen(desk, address, **order, move="0:1:2")
    assert "meh &lt; zut" not in page(desk, address)
    assert "0 meh (" in page(desk, address)
    assert "1 zut (" in page(desk, address)
    _, _, nominal = chosen(desk, address, **order, nominal_0="1")
    assert options_in(QueryParams(urlsplit(nominal).query)) == {"measures": {"overall": "nominal"}}
    assert tells(page(desk, nominal), "which have no order")


def test_the_order_that_is_shown_can_be_accepted(desk: View) -> None:
    address = sent(desk, ("words.csv", WORDS))
    _, _, address = chosen(desk, address, ordered_0="1", level_0=["0", "1", "2"], order="0")
    assert "levels" in options_in(QueryParams(urlsplit(address).query))
    assert tells(page(desk, address), "24 ratings")


def test_who_rated_is_asked_if_names_do_not_say_it(desk: View) -> None:
    table = "id,lang,north,south\n" + "".join(f"{n},en,{n % 3},{(n + 1) % 3}\n" for n in range(9))
    address = sent(desk, ("two.csv", table))
    assert tells(page(desk, address), "Which column is the rater?", "each of north, south")
    _, _, address = chosen(desk, address, wanted="each")
    assert tells(page(desk, address), "18 ratings", "2 people")


def test_language_and_no_answers_are_stated(desk: View) -> None:
    table = "id,rater,score\n" + "".join(
        f"{n},{rater},{n % 5 + 1 if n else -99}\n" for n in range(40) for rater in ("Ann", "gpt-4")
    )
    address = sent(desk, ("plain.csv", table))
    text = page(desk, address)
    assert tells(text, "language not known yet", "-99 means no answer")
    assert tells(text, "output is its own source", "too narrow</li>")
    status, text, _ = chosen(desk, address, language="Klingonese")
    assert status == 400
    assert tells(text, "Klingonese", "is not known", "Write a code such as hi")
    _, _, address = chosen(desk, address, language="Hindi", doubts_0="1", missing_0="-99")
    options = options_in(QueryParams(urlsplit(address).query))
    assert options == {"language": "Hindi", "missing": {"overall": ("-99",)}}
    text = page(desk, address)
    assert tells(text, "Hindi", "you chose it")
    assert re.search(r"Without a score</dt><dd>2<", text)
    same = chosen(desk, address, language="hindi", doubts_0="1", missing_0="-99")
    assert below(desk, same[2]).startswith(address)  # the same language in other words
    _, _, back = chosen(desk, address, doubts_0="1", language="Hindi")
    assert "missing" not in options_in(QueryParams(urlsplit(back).query))


def test_a_scale_without_levels_gets_ends_and_the_criterion_a_name(desk: View) -> None:
    table = "id,lang,human,gpt-4\n" + "".join(f"{n},en,{n * 3.5},{n * 3.25}\n" for n in range(20))
    address = sent(desk, ("points.csv", table))
    _, _, address = chosen(desk, address, ends_0="0..100", criterion="fluency of the text")
    options = options_in(QueryParams(urlsplit(address).query))
    assert options == {
        "ranges": {"fluency of the text": "0..100"},
        "criterion": "fluency of the text",
    }
    assert tells(page(desk, address), "fluency of the text (0 to 100)", "2 choices of yours")
    _, _, address = chosen(desk, address, criterion="", ends_0="0..100")
    assert options_in(QueryParams(urlsplit(address).query)) == {"ranges": {"*": "0..100"}}
    assert tells(page(desk, address), "overall (0 to 100)", "1 choice of yours")
    _, _, address = chosen(desk, address, ends_0="from 0")
    text = page(desk, address)
    assert tells(text, "cannot read", "not a range", "both ends")
    undone = re.findall(r'<a href="([^"]*)">undo', text)
    assert tells(page(desk, below(desk, html.unescape(undone[-1]))), "40 ratings")


TEMPLATE = "wide=%7Brater%7D_%7Bcriterion%7D"


@pytest.mark.parametrize(
    "query",
    [
        "levels.overall=a%3Db",
        "columns.speaker=id",
        "columns.rater=nobody",
        TEMPLATE,
        "wide=***",
        "ignore=*",
        "kinds.Ann=robot",
        "measures.*=cardinal",
        "ranges.*=x",
        "format=../../x",
        "format=hf",
        "format=inspect",
        "language=Klingonese",
        "decimal=%3B",
        "missing.*=%00",
        "directions.*=sideways",
        "shifts.*=one",
    ],
)
def test_options_that_do_not_fit_are_said_and_can_be_undone(desk: View, query: str) -> None:
    address = sent(desk, ("people.csv", WIDE))
    text = page(desk, f"{address}?{query}")
    if "cannot read" not in text:
        assert query in ("missing.*=%00", "wide=***", "kinds.Ann=robot", TEMPLATE)
    assert f'href="{urlsplit(desk.address).path}{address}?">undo' in text


def test_nothing_is_made_of_changes_that_were_not_shown(desk: View) -> None:
    address = sent(desk, ("people.csv", WIDE))
    status, _, later = chosen(desk, address, kind_0="llm", do="make", name="unseen")
    assert status == 303
    assert tells(page(desk, later), "changes are read now", "press the button again")
    assert not (desk.folder / "datasets" / "unseen").exists()


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".hidden", "..", "a\\b", "a\u202eb", "x" * 101, "taken", "a\nb"]
)
def test_a_bad_name_makes_nothing(desk: View, name: str) -> None:
    taken = desk.folder / "datasets" / "taken"
    taken.mkdir(parents=True, exist_ok=True)
    before = sorted(desk.folder.rglob("*"))
    status, text, _ = chosen(desk, sent(desk, ("people.csv", WIDE)), do="make", name=name)
    assert status == 400
    assert tells(text, "cannot be", "name of a folder") or "exists" in text
    assert sorted(desk.folder.rglob("*")) == before


def test_the_proposed_name_is_free(desk: View) -> None:
    (desk.folder / "datasets" / "people").mkdir(parents=True, exist_ok=True)
    text = page(desk, sent(desk, ("people.csv", WIDE)))
    assert 'value="people-2"' in text
    (desk.folder / "datasets" / "people").rmdir()


HOSTILE = '<script>window.pwned = 1</script>"><img src=x onerror=alert(1)>'


def test_names_and_cells_of_a_table_are_text(desk: View) -> None:
    frame = pd.DataFrame(
        {
            "id": [f"=HYPERLINK({n})" for n in range(12)],
            f"annotator_{HOSTILE}": [1, 2, 3] * 4,
            "gpt-4\u202e": [3, 2, 1] * 4,
            "answer": [f"{HOSTILE}\u202e{n}" for n in range(12)],
        }
    )
    address = sent(desk, (f"{HOSTILE.replace(chr(34), '')}.csv", frame.to_csv(index=False)))
    text = page(desk, address)
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "\u202e" not in text
    text = page(desk, sent(desk, ("a.csv", f"<img src=x>,{HOSTILE},c\n1,2,3\n")))
    assert "<img" not in text


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"\x00\xff\xfe\x00", ()),
        ("a.xlsx", b"PK no zip", ("a.xlsx",)),
        ("a.json", b'{"a": [1, 2', ("a.json",)),
        ("a.parquet", b"PAR1", ("a.parquet",)),
        (
            "a.docx",
            b"x",
            (
                "neither a dataset folder",
                "a table",
            ),
        ),
        ("a.zip", b"PK\x03\x04", ("a.zip",)),
        ("empty.csv", b"", ("empty.csv",)),
        ("a.csv", b"a,b\n" + b"x,\n" * 3, ("no column for the rater",)),
        ("a.csv", b"a,b" + b",c" * 50_000 + b"\nx,y", ("50,002 columns", "at most 16,384")),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(
    desk: View, name: str, content: bytes, says: tuple[str, ...]
) -> None:
    text = page(desk, sent(desk, (name, content)))
    assert tells(text, "cannot read", *says)
    assert "metal-view-" not in text  # the private folder
    status, text, _ = chosen(desk, sent(desk, (name, content)), do="make", name="none")
    assert status == 400
    assert not (desk.folder / "datasets" / "none").exists()


def test_several_files_are_read_together(desk: View) -> None:
    log = (
        '{"doc_id": 0, "doc": {"q": "a"}, "target": "b", "resps": [["x"]], "filtered_resps": ["x"]'
    )
    first, second = (
        log + f', "filter": "none", "metrics": ["exact_match"], "exact_match": {n}.0}}\n'
        for n in (0, 1)
    )
    address = sent(desk, ("samples_a.jsonl", first), ("samples_a.jsonl", second))
    status, text, _ = asked(desk, address)
    assert status == 200
    assert "files" in text


def test_a_table_of_the_folder_is_opened_with_a_click(desk: View) -> None:
    (desk.folder / "here.csv").write_text(WIDE)
    assert 'value="here.csv"' in page(desk, "import")
    status, _, address = chosen(desk, "import", table="here.csv")
    assert status == 303
    assert tells(page(desk, address), "here.csv", "120 ratings")
    for other in ("../here.csv", "/etc/passwd", "gone.csv", "datasets"):
        assert chosen(desk, "import", table=other)[0] == 404


def test_without_a_file_nothing_happens(desk: View) -> None:
    assert chosen(desk, "import")[0] == 400
    assert asked(desk, "import/unknown")[0] == 404
    assert asked(desk, f"import/{quote('../../etc/passwd', safe='')}")[0] == 404
    assert chosen(desk, "audit/..")[0] == 404


def test_sent_files_are_private_and_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "empty").mkdir()
    view = View.begin(tmp_path / "empty", 0)
    uploads = view._state.jobs.folder / "uploads"
    addresses = [sent(view, ("a.csv", WIDE)) for _ in range(MOST_KEPT + 2)]
    assert len(list(uploads.iterdir())) == MOST_KEPT
    assert {folder.stat().st_mode & 0o077 for folder in (uploads, *uploads.iterdir())} == {0}
    assert asked(view, addresses[0])[0] == 404
    assert asked(view, addresses[-1])[0] == 200
    view.stop()
    assert not uploads.exists()
    assert list((tmp_path / "empty").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from metal.app.server import View
from metal.data import dataset
from tests.app import test_importing as asking

write = dataset.write_jsonl
def killed(path, records):
    write(path, records)
    if path.name == "outputs.jsonl":
        os.kill(os.getpid(), signal.SIGKILL)

dataset.write_jsonl = killed
view = View.begin(Path(sys.argv[1]), 0)
address = asking.sent(view, ("people.csv", asking.WIDE))
asking.chosen(view, address, do="make", name="mine")
"""


def test_a_kill_while_it_writes_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    root.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(root)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert not (root / "datasets" / "mine").exists()
    assert metal.ls(root) == ()


def test_a_dataset_that_no_person_rated_is_given_to_people(desk: View) -> None:
    judged = "id,text,language,rater,score\n"
    judged += "".join(f"{n},text {n},en,gpt-4o,{n % 3}\n" for n in range(9))
    address = sent(desk, ("judged.csv", judged))
    status, text, address = chosen(desk, address, do="make", name="judged")
    assert status == 303, re.findall(r"<main.*", text, re.DOTALL)
    text = page(desk, address)
    assert tells(text, "No person rated", "Write their files")
    assert "terminal" not in text
    for raters, to in (("0", "html"), ("99", "html"), ("3", "fax"), ("", "html")):
        answer = chosen(desk, "people/datasets/judged", raters=raters, to=to)
        assert answer[0] == 400
    status, _, address = chosen(desk, "people/datasets/judged", raters="2", to="csv")
    assert status == 303
    job = desk._state.jobs.job(address.rpartition("/")[2])
    job.process.wait(60)
    assert job.command == (
        "metal annotate export --to=csv --raters=2 --out=runs/judged-csv -- datasets/judged"
    )
    assert tells(page(desk, address), "Open", "runs/judged-csv")
    assert tells(page(desk, "handed-out/runs/judged-csv"), "Files to send", "en-1.csv", "en-2.csv")


@pytest.mark.parametrize(
    ("name", "raters", "offered"),
    [
        ("by-people", ["Ann", "Ben"], ["No judge rated these outputs yet", "Have a judge rate it"]),
        ("by-judges", ["gpt-4o"], ["No person rated these outputs", "Write their files"]),
        ("by-metrics", ["bleu"], ["No person rated these outputs", "Write their files"]),
        ("by-both", ["Ann", "gpt-4o"], ["An audit says", "Audit it"]),
    ],
)
def test_the_page_of_a_dataset_says_what_comes_next(
    desk: View, name: str, raters: list[str], offered: list[str]
) -> None:
    table = "id,text,language,rater,score\n"
    table += "".join(f"{n},text {n},en,{rater},{n % 3}\n" for n in range(9) for rater in raters)
    address = sent(desk, (f"{name}.csv", table))
    assert chosen(desk, address, do="make", name=name)[0] == 303
    text = page(desk, f"dataset/datasets/{name}")
    assert tells(text, "9 outputs", *offered)


def test_of_many_columns_those_that_are_not_alike_are_shown(desk: View) -> None:
    answers = [f"judge_{number}" for number in range(300)]
    lines = [",".join([*answers, "id", "note", "language"])]
    for number in range(9):
        scores = [str((number + at) % 3) for at in range(300)]
        lines.append(",".join([*scores, f"o{number}", "x", "hi"]))
    address = sent(desk, ("wide.csv", "\n".join(lines)))
    text = page(desk, address)
    assert text.count('name="column.') == MOST_COLUMNS
    assert tells(text, "103 further columns of 303")
    assert tells(text, "260 further raters of 300")
    for name in ("id", "language", "judge_0"):
        assert f"<bdi>{name}</bdi>" in text
    field = next(n for n, name in enumerate(shown_columns(text)) if name == "judge_0")
    status, _, address = chosen(desk, address, **{f"column_{field}": ""})
    assert status == 303
    assert tells(page(desk, address), "you left it out")


def shown_columns(text: str) -> list[str]:
    return re.findall(r'<label for="column-\d+"><bdi>(.*?)</bdi>', text)
