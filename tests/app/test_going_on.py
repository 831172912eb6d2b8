"""From a verdict to the next step: a person, somebody who decides, the judge again, a plan."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pandas as pd
import pytest
import tomli_w

import metal
from metal.app.server import View
from metal.app.ways import WAYS
from metal.building.store import read_given, read_tasks
from metal.data.dataset import load_dataset
from metal.data.files import read_toml
from metal.data.text import in_list
from tests.app.test_guard import asked
from tests.app.test_managing import posted
from tests.build.assignments import downloaded
from tests.saying import tells

CELL = {"language": "ar", "criterion": "task_quality", "judge": "constructed:blind"}
ASKED = {"language": "hi", "criterion": "task_quality", "judge": "fake:blind"}
ON_A_LINE = {"language": "hi", "criterion": "overall_quality", "judge": "constructed:good"}


@pytest.fixture(scope="module")
def own(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app on a copy of the shelf, whose runs name their data as somebody in it typed them."""
    folder = tmp_path_factory.mktemp("going-on") / "shelf"
    shutil.copytree(shelf, folder)
    for run in ("judged", "audit"):
        file = folder / "runs" / run / "run.toml"
        file.write_text(file.read_text("utf-8").replace(f"{shelf}/", ""), "utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        view = View.begin(folder, 0)
    yield view
    view.stop()


def page(view: View, cell: Mapping[str, str], run: str = "runs/audit", **more: str) -> str:
    """The page of a cell, or of a way on from it."""
    status, text, _ = asked(view, f"on/{quote(run)}?{urlencode({**cell, **more})}")
    assert status == 200, text
    return unescape(text)


def command(view: View, cell: Mapping[str, str], **more: str) -> list[str]:
    """The words of the command that a way's page shows."""
    [shown] = re.findall('data-copy="([^"]*)"', page_source(view, cell, **more))
    return shlex.split(unescape(shown))


def page_source(view: View, cell: Mapping[str, str], **more: str) -> str:
    return asked(view, f"on/runs/audit?{urlencode({**cell, **more})}")[1]


def ended(view: View, location: str) -> str:
    """The page of a job when it is over."""
    key = location.rpartition("/job/")[2] if "/job/" in location else location.rpartition("job=")[2]
    job = view._state.jobs.job(key)
    job.process.wait(120)
    assert job.state == "done", job.says
    return job.out


def started(view: View, cell: Mapping[str, str], **fields: str) -> str:
    """The folder that a way's command wrote."""
    status, text, headers = posted(view, "on/runs/audit", **cell, **fields)
    assert status == 303, text
    return ended(view, headers["location"])


def test_the_page_of_a_cell_says_what_is_known_and_what_can_be_done(own: View) -> None:
    text = page(own, CELL)
    reason = metal.open_run(own.folder / "runs" / "audit").tables["verdicts"]
    row = reason[(reason[[*CELL]] == [*CELL.values()]).all(axis=1)].iloc[0]
    assert row["verdict"] in text.lower()
    assert "where others agree on 'Bad'" in row["reason"]
    assert "where others agree on 'Bad'" in text
    for way in ("hand-out", "adjudicate", "plan", "audit"):
        assert f"way={way}" in text
    assert len(set(re.findall("output=ar-[^&]*&", text))) == 3
    assert tells(text, "Not here", "does not name a model")


def test_the_page_of_the_audit_shows_the_same_three_and_leads_here(own: View, browser: Any) -> None:
    seen = browser.new_page()
    for asks in (CELL, ON_A_LINE):
        links = re.findall('/output/[^"]*', page_source(own, asks))
        three = [parse_qs(urlsplit(unescape(link)).query)["output"][0] for link in links]
        assert len(three) == 3
        seen.goto(f"{own.address}run/runs/audit")
        seen.wait_for_selector("body[data-ready]")
        places = "unpack().then((data) => Object.entries(data.cells))"
        [place] = [
            place
            for place, cell in seen.evaluate(places)
            if (cell["l"], cell["c"], cell["j"]) == tuple(asks.values())
        ]
        seen.goto(f"{own.address}run/runs/audit#{place}")
        seen.locator("#why article").first.wait_for()
        shown = seen.locator("#why article p.soft bdi:nth-of-type(2)").all_inner_texts()
        assert shown == three
        settles = seen.locator("#why a[href*='way=adjudicate']")
        assert settles.count() == (1 if asks is CELL else 0)
    seen.close()


def test_next_steps_on_the_page_of_the_audit_lead_to_the_ways(own: View) -> None:
    text = asked(own, "run/runs/audit")[1]
    links = [unescape(link) for link in re.findall(r'<a href="([^"]*/on/[^"]*)">Do it here', text)]
    assert links
    for link in links:
        status, page, _ = asked(own, link.partition("/on/")[1][1:] + link.partition("/on/")[2])
        assert status == 200
        assert 'name="way"' in page
    assert "Do it here" not in (own.folder / "runs" / "audit" / "report.html").read_text("utf-8")


def test_a_command_that_has_ended_leads_to_its_result(own: View) -> None:
    location = posted(own, "on/runs/audit", **CELL, way="plan")[2]["location"]
    out = ended(own, location)
    text = asked(own, f"job/{location.rpartition('/')[2]}")[1]
    assert re.search(f'data-next="[^"]*/run/{out}"', text)
    assert text.index('class="button"') < text.index('class="command"')
    assert str(own.folder) not in text


def test_an_audit_is_made_again_with_runs_of_the_same_data_only(own: View) -> None:
    other = own.folder / "datasets" / "other"
    shutil.copytree(own.folder / "datasets" / "demo", other)
    runs = own.folder / "runs"
    for name, path in (("of-demo", "datasets/demo"), ("of-other", "datasets/other")):
        shutil.copytree(runs / "judged", runs / name)
        file = runs / name / "run.toml"
        text = re.sub(r'digest = "[^"]*"', f'digest = "{name}"', file.read_text("utf-8"))
        file.write_text(text.replace("datasets/demo", path), "utf-8")
    try:
        text = page(own, CELL, way="audit")
        assert "and runs/of-demo" in text
        assert "runs/of-other" not in text
    finally:
        for folder in (other, runs / "of-demo", runs / "of-other"):
            shutil.rmtree(folder)


def test_what_cannot_be_done_says_why(own: View) -> None:
    text = page(own, ON_A_LINE)
    assert "way=adjudicate" not in text
    assert tells(text, "Not here", "answers on levels", "decided")
    assert "way=ask" in page(own, ASKED)


def test_without_a_cell_the_page_asks_for_one(own: View) -> None:
    assert "Choose a judge" in page(own, {"language": "ar", "criterion": "", "judge": ""})
    assert "no verdict on that judge" in page(own, CELL | {"judge": "nobody"})
    assert "on/runs/audit?language=ar" in asked(own, "answers/runs/audit?language=ar")[1]
    for run in ("runs/judged", "datasets/demo", "runs/none", "../audit"):
        assert asked(own, f"on/{run}?{urlencode(CELL)}")[0] in (400, 404)


def test_each_way_ends_in_a_command(own: View) -> None:
    words = command(own, CELL, way="hand-out", items="12", to="csv")
    assert words[:5] == ["metal", "annotate", "export", "--to=csv", "--only=runs/audit"]
    assert {"--items=12", "--raters=1", "--languages=ar", "--criteria=task_quality"} <= {*words}
    assert words[-2:] == ["--", "datasets/demo"]
    words = command(own, CELL, way="adjudicate", adjudicators="Anna")
    assert words[:3] == ["metal", "adjudicate", "plan"]
    assert {"--items=40", "--adjudicators=Anna", "--judges=constructed:blind"} <= {*words}
    assert words[-3:] == ["--", "datasets/demo", "runs/judged"]
    words = command(own, ASKED, way="ask", prompt="simple", prompt_language="text")
    assert words[:2] == ["metal", "judge"]
    assert {"--judge=fake:blind", "--prompt=simple", "--prompt-language=text"} <= {*words}
    assert words[-2:] == ["--", "datasets/demo"]
    words = command(own, CELL, way="plan", power="0.9")
    assert words[:2] == ["metal", "design"]
    assert {"--power=0.9", "--languages=ar"} <= {*words}
    words = command(own, CELL, way="audit")
    assert words[:2] == ["metal", "audit"]
    assert words[3:] == [
        "--languages=hi,ar",
        "--resamples=100",
        "--",
        "datasets/demo",
        "runs/judged",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"items": "0"},
        {"items": "-5"},
        {"items": "1e3"},
        {"items": "999999999999"},
        {"items": "٣"},
        {"to": "exe"},
        {"raters": "10"},
        {"way": "nothing"},
        {"way": "adjudicate", "adjudicators": "x" * 201},
        {"way": "adjudicate", "adjudicators": "a\nb"},
        {"way": "plan", "power": "2"},
        {"way": "audit", "more": "/etc"},
        {"way": "ask"},
    ],
    ids=str,
)
def test_what_was_not_offered_is_not_run(own: View, fields: dict[str, str]) -> None:
    before = len(own._state.jobs.all())
    status, text, _ = posted(own, "on/runs/audit", **{"way": "hand-out", **CELL, **fields})
    assert status in (400, 404)
    assert "defect" not in text
    assert len(own._state.jobs.all()) == before


def test_a_link_runs_nothing(own: View) -> None:
    before = len(own._state.jobs.all())
    page(own, CELL, way="hand-out", do="run")
    assert len(own._state.jobs.all()) == before


def text_of(option: str) -> Mapping[str, str]:
    return {"way": "adjudicate", "adjudicators": option}


def test_what_a_person_types_is_never_an_option(own: View) -> None:
    words = command(own, CELL, **text_of("--force"))
    assert "--force" not in words
    assert "--adjudicators=--force" in words
    assert "--adjudicators=; rm -rf x" in command(own, CELL, **text_of("; rm -rf x"))


@pytest.mark.slow
def test_forty_go_to_a_colleague_and_come_back(own: View, browser: Any, tmp_path: Path) -> None:
    """By mouse, from the run's answers to the ratings in the dataset."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    seen = context.new_page()
    said: list[str] = []
    seen.on("console", lambda message: said.append(message.text))
    seen.on("pageerror", lambda error: said.append(str(error)))
    cell = CELL | {"criterion": "overall_quality"}
    seen.goto(f"{own.address}answers/runs/audit?{urlencode(cell)}")
    seen.get_by_role("link", name="Go on from here").click()
    seen.get_by_role("link", name="Hand outputs to one more person").click()
    seen.get_by_label("Outputs").fill("40")
    seen.get_by_label("Outputs").press("Tab")
    seen.locator("#command", has_text="--items=40").wait_for()
    assert seen.evaluate("document.activeElement.name") == "raters"  # the focus stays
    seen.get_by_role("button", name="Write the files").click()
    seen.wait_for_url("**/handed-out/runs/demo-ar-overall_quality-html", timeout=120_000)
    with seen.expect_download() as download:
        seen.get_by_role("link", name="Download ar-4.html").click()
    form = tmp_path / download.value.suggested_filename
    download.value.save_as(form)

    colleague = context.new_page()
    colleague.goto(form.as_uri() + "#task-1")
    colleague.wait_for_selector("body[data-ready]")
    for number in range(1, 41):
        colleague.locator("#task-heading", has_text=str(number)).first.wait_for()
        colleague.fill("#c0 input", str(number))
        colleague.click("#next")
    name, content = downloaded(colleague)
    (tmp_path / name).write_bytes(content)

    seen.get_by_label("The files that people sent back").set_input_files(tmp_path / name)
    seen.get_by_role("button", name="Read the answers").click()
    seen.get_by_role("heading", name="The answers are in the dataset").wait_for()
    assert "ar-4 has rated 40 of 40 outputs" in seen.inner_text("main")
    ratings = load_dataset(own.folder / "datasets" / "demo").ratings
    by_colleague = ratings[ratings["rater"] == "ar-4"]
    assert sorted(by_colleague["score"]) == [float(number) for number in range(1, 41)]
    seen.get_by_role("link", name="Audit again with them").click()
    assert "metal audit --out=runs/demo-audit" in seen.inner_text("#command")
    assert said == []
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_its_pages_fit_and_can_be_read_by_everybody(
    own: View, browser: Any, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    seen = context.new_page()
    out = started(own, CELL, way="hand-out", items="2")
    queries = [CELL, ON_A_LINE, {"language": "ar"}, *({**CELL, "way": way} for way in WAYS)]
    addresses = [
        f"on/runs/audit?{urlencode(query)}" for query in [*queries, ASKED | {"way": "ask"}]
    ]
    for address in [*addresses, f"handed-out/{out}"]:
        response = seen.goto(own.address + address)
        assert response.status == 200, address
        assert seen.evaluate("document.documentElement.scrollWidth") == width, address
        assert Axe().run(seen).response["violations"] == [], address
    context.close()


def test_the_way_without_script_and_by_keyboard(own: View, browser: Any) -> None:
    """With Enter in a field the command is shown; only the button runs it."""
    context = browser.new_context(java_script_enabled=False)
    seen = context.new_page()
    seen.goto(f"{own.address}on/runs/audit?{urlencode({**CELL, 'way': 'hand-out'})}")
    assert not seen.get_by_role("button", name="Copy").is_visible()
    before = len(own._state.jobs.all())
    seen.get_by_label("Outputs").fill("7")
    seen.keyboard.press("Enter")
    seen.locator("#command", has_text="--items=7").wait_for()
    assert len(own._state.jobs.all()) == before
    seen.get_by_label("Outputs").fill("8")
    seen.get_by_role("button", name="Write the files").focus()
    seen.keyboard.press("Enter")
    seen.wait_for_url("**/job/*")
    assert "--items=8" in seen.inner_text("main")
    assert len(own._state.jobs.all()) == before + 1
    context.close()


def test_files_are_given_out_of_their_own_folder_only(own: View) -> None:
    out = started(own, CELL, way="hand-out", items="3", to="csv", raters="2")
    folder = own.folder / out
    given = read_given(own.folder / "datasets" / "demo")
    tasks = read_tasks(own.folder / "datasets" / "demo")
    assert {len(each.asked) for each in given.values() if set(each.asked) <= set(tasks)} >= {3}
    status, text, _ = asked(own, f"handed-out/{out}")
    assert status == 200
    assert asked(own, f"handed-out/{out}?job=of-yesterday")[0] == 200
    numbers = re.findall(rf"form-file/(\d+)/{out}", text)
    assert len(numbers) == len([*folder.glob("*")]) - 1  # all but run.toml
    status, content, headers = asked(own, f"form-file/{numbers[0]}/{out}")
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-type"] == "application/octet-stream"
    assert content.encode() == sorted(folder.glob("*.*"))[0].read_bytes()
    for path in (
        f"form-file/0/{out}",
        f"form-file/99/{out}",
        f"form-file/-1/{out}",
        f"form-file/1/{out}/run.toml",
        f"form-file/run.toml/{out}",
        "form-file/1/runs/audit",
        "form-file/1/../state",
        f"form-file/1/{out}%2f..%2f..%2fdatasets",
    ):
        assert asked(own, path)[0] in (400, 403, 404), path


def test_only_forms_that_a_command_wrote_are_given(own: View, tmp_path: Path) -> None:
    """A run.toml from a stranger names what lies elsewhere, or a link."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = own.folder / "runs" / "strange"
    folder.mkdir()
    (folder / "linked.html").symlink_to(secret)
    (folder / "<b>.html").write_text("harmless")
    names = ["../judged/run.toml", str(secret), "linked.html", "<b>.html"]
    content = {"command": "annotate", "settings": {"files": dict.fromkeys(names, "x")}}
    (folder / "run.toml").write_text(tomli_w.dumps(content), "utf-8")
    text = asked(own, "handed-out/runs/strange")[1]
    assert re.findall(r"form-file/(\d+)", text) == ["1"]
    assert "<b>" not in text
    assert asked(own, "form-file/1/runs/strange")[1] == "harmless"
    status, text, _ = sent(own, "handed-out/runs/strange", "a.json", b"{}")
    assert status == 400
    assert tells(text, "names no dataset")
    shutil.rmtree(folder)


def sent(
    view: View, path: str, name: str, content: bytes, **fields: str
) -> tuple[int, str, dict[str, str]]:
    """What a form with a file gets."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields.items()
    ]
    head = f'--x\r\nContent-Disposition: form-data; name="answers"; filename="{name}"\r\n\r\n'
    body = b"".join([*parts, head.encode(), content, b"\r\n--x--\r\n"])
    return asked(view, path, "POST", body, content_type="multipart/form-data; boundary=x")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../x.json", "-rf", ".json", "a b\u202e.json", "x" * 300])
def test_what_comes_back_is_kept_under_a_harmless_name(own: View, name: str) -> None:
    out = started(own, CELL, way="hand-out", items="1")
    before = {path for path in own.folder.rglob("*") if "annotation" not in path.parts}
    status, _, headers = sent(own, f"handed-out/{out}", name, b"{}", group="native")
    assert status == 303
    job = own._state.jobs.job(headers["location"].rpartition("job=")[2])
    job.process.wait(120)
    assert job.state == "failed"
    assert Path(job.arguments[-1]).is_relative_to(own._state.jobs.folder)
    assert re.fullmatch(r"1-[\w. -]{1,130}", Path(job.arguments[-1]).name)
    assert {p for p in own.folder.rglob("*") if "annotation" not in p.parts} == before
    text = asked(own, headers["location"].split("/", 2)[2])[1]
    assert "The answers were not read" in text


def test_without_a_file_nothing_is_read(own: View) -> None:
    out = started(own, CELL, way="hand-out", items="1")
    before = len(own._state.jobs.all())
    assert sent(own, f"handed-out/{out}", "", b"")[0] == 400
    assert sent(own, f"handed-out/{out}", "a.json", b"{}", group="--force\n")[0] == 400
    assert sent(own, "handed-out/runs/audit", "a.json", b"{}")[0] == 404
    assert len(own._state.jobs.all()) == before


def test_somebody_who_knows_decides(own: View, browser: Any, tmp_path: Path) -> None:
    out = started(own, CELL, way="adjudicate", items="4", adjudicators="anna")
    text = asked(own, f"handed-out/{out}")[1]
    assert tells(text, "0 of 4 outputs decided", "kept apart")
    [file] = (own.folder / out).glob("*.html")
    assert "anna" in file.name
    context = browser.new_context(accept_downloads=True)
    form = context.new_page()
    form.goto(file.as_uri() + "#task-1")
    form.wait_for_selector("body[data-ready]")
    for _ in range(4):
        form.locator("#c0 label").first.click()
        form.click("#next")
    name, content = downloaded(form)
    context.close()
    status, _, headers = sent(own, f"handed-out/{out}", name, content)
    assert status == 303
    report = ended(own, headers["location"])
    assert report == f"runs/{Path(out).name}-report"
    assert metal.open_run(own.folder / report).tables["adjudicated"]["decided"].sum() > 0


def test_the_judge_is_asked_again_after_an_estimate(own: View) -> None:
    before = {path.name for path in (own.folder / "runs").iterdir()}
    status, _, headers = posted(
        own, "on/runs/audit", **ASKED, way="ask", prompt="simple", do="trial"
    )
    assert status == 303
    ended(own, headers["location"])
    assert {path.name for path in (own.folder / "runs").iterdir()} == before
    out = started(own, ASKED, way="ask", prompt="simple", do="run")
    run = metal.open_run(own.folder / out)
    assert set(run.ratings["criterion"]) == {"task_quality"}
    assert {output.partition("-")[0] for output in run.ratings["output"]} == {"hi"}
    assert out in page(own, ASKED, way="audit")  # to audit with


def test_the_page_that_sets_up_a_judge_knows_what_was_chosen(own: View, browser: Any) -> None:
    context = browser.new_context()
    seen = context.new_page()
    query = ASKED | {"way": "ask", "prompt_language": "text"}
    seen.goto(f"{own.address}on/runs/audit?{urlencode(query)}")
    seen.get_by_label("Prompt", exact=True).fill("simple")
    seen.get_by_label("Prompt", exact=True).press("Tab")
    seen.locator("#command", has_text="--prompt=simple").wait_for()
    seen.get_by_role("link", name="Set up the judge").click()
    for field, value in {"judge": "fake:blind", "prompt": "simple", "language": "hi"}.items():
        assert seen.locator(f"[name={field}]").input_value() == value
    assert seen.locator("[name=criterion]").input_value() == "task_quality"
    assert seen.locator("[name=prompt_language]").input_value() == "text"
    context.close()


def test_a_plan_says_how_many_more_ratings_are_needed(own: View) -> None:
    out = started(own, CELL, way="plan", power="0.9")
    needs = metal.open_run(own.folder / out).tables["needs"]
    assert set(needs["language"]) == {"ar"}
    assert asked(own, f"run/{out}")[0] == 200


def test_nothing_is_written_over(own: View) -> None:
    """Neither what is there nor what a command at work is about to write."""
    fields = CELL | {"way": "hand-out", "items": "2", "to": "xlsx"}
    locations = [posted(own, "on/runs/audit", **fields)[2]["location"] for _ in range(2)]
    outs = [ended(own, location) for location in locations]
    assert outs[1] == f"{outs[0]}-2"
    assert started(own, fields) == f"{outs[0]}-3"


@pytest.mark.slow
def test_a_table_becomes_a_dataset_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["source,output,output_text,criterion,rater,kind,score"]
    for number in range(12):
        scores = {"a": number % 2, "b": number % 2, "c": number % 2, "model": 1}
        kinds = {"model": "llm"}
        rows += [
            f"s{number},o{number},text {number},good,{rater},{kinds.get(rater, 'human')},{score}"
            for rater, score in scores.items()
        ]
    (tmp_path / "mine.csv").write_text("\n".join(rows) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    metal.audit("mine.csv", resamples=100).save("runs/audit")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view = View.begin(tmp_path, 0)
    judged = metal.open_run("runs/audit").tables["verdicts"].iloc[0]
    cell = {part: judged[part] for part in CELL}
    assert tells(page(view, cell, way="hand-out"), "Make", "dataset of the table")
    assert command(view, cell, way="hand-out")[:3] == ["metal", "import", "--out=datasets/mine"]
    started(view, cell, way="hand-out")
    out = started(view, cell, way="hand-out", items="6")
    assert len(read_tasks(tmp_path / "datasets" / "mine")) == 6
    assert (tmp_path / out / "run.toml").is_file()
    view.stop()


def test_data_that_are_elsewhere_are_said_to_be(own: View, shelf: Path, tmp_path: Path) -> None:
    audit = own.folder / "runs" / "far"
    shutil.copytree(own.folder / "runs" / "audit", audit)
    content = read_toml(audit / "run.toml")
    content["datasets"][0]["path"] = "elsewhere/demo"
    (audit / "run.toml").write_text(tomli_w.dumps(content), "utf-8")
    text = page(own, CELL, "runs/far")
    assert tells(text, "Not here", "elsewhere/demo", "metal view")
    shutil.rmtree(audit)


def test_names_of_strangers_are_harmless(own: View) -> None:
    """A judge whose name is a script, in an address and in the audit."""
    evil = "<script>window.pwned = 1</script>"
    source = page_source(own, CELL | {"judge": evil})
    assert evil not in source
    run = own.folder / "runs" / "evil"
    shutil.copytree(own.folder / "runs" / "audit", run)
    for file in ("raters.jsonl", "run.toml"):
        text = (run / file).read_text("utf-8")
        (run / file).write_text(text.replace("constructed:blind", evil), "utf-8")
    for table in (run / "tables").glob("*.parquet"):
        replace_in(table, "constructed:blind", evil)
    replace_in(run / "disagreements.parquet", "constructed:blind", evil)
    for way in ("", "hand-out", "adjudicate", "plan", "audit", "ask"):
        query = urlencode({**CELL, "judge": evil, **({"way": way} if way else {})})
        status, source, _ = asked(own, f"on/runs/evil?{query}")
        assert status == 200
        assert "window.pwned" in source
        assert evil not in source
    shutil.rmtree(run)


@pytest.mark.parametrize(
    ("model", "command_has"),
    [
        ("os:system", ""),
        ("openai-compatible:qwen3", "--base-url=http://127.0.0.1:8000/v1"),
        ("mine", "--judge=mine"),
    ],
)
def test_only_models_of_providers_are_asked_again(own: View, model: str, command_has: str) -> None:
    """An audit from a stranger may name any function as its judge."""
    run = own.folder / "runs" / f"of-{model[:4]}"
    shutil.copytree(own.folder / "runs" / "audit", run)
    lines = (run / "raters.jsonl").read_text("utf-8")
    about = f'"model": "{model}", "base_url": "http://127.0.0.1:8000/v1"'
    (run / "raters.jsonl").write_text(lines.replace('"model": "fake:blind"', about), "utf-8")
    text = page(own, ASKED, f"runs/{run.name}", way="ask")
    assert (command_has in text) if command_has else ("metal judge" not in text)
    status, _, _ = posted(own, f"on/runs/{run.name}", **ASKED, way="ask", do="trial")
    assert status == (303 if command_has else 404)
    shutil.rmtree(run)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
def test_a_command_that_is_killed_leaves_nothing_half_written(own: View, seconds: float) -> None:
    """Whenever that is: the folder has all of its files or is not there."""
    fields = CELL | {"way": "hand-out", "items": "20", "to": "csv", "raters": "9"}
    headers = posted(own, "on/runs/audit", **fields)[2]
    job = own._state.jobs.job(headers["location"].rpartition("/")[2])
    try:
        job.process.wait(seconds)
    except subprocess.TimeoutExpired:
        job.process.kill()
        job.process.wait(60)
    folder = own.folder / job.out
    if folder.exists():
        files = read_toml(folder / "run.toml")["settings"]["files"]
        assert {path.name for path in folder.iterdir()} == {"run.toml", *files}
    load_dataset(own.folder / "datasets" / "demo")
    assert started(own, CELL, way="hand-out", items="2")


def replace_in(table: Path, old: str, new: str) -> None:
    import pyarrow.parquet as pq

    content = pq.read_table(table)
    rows = repr(content.to_pylist()).replace(old, new)
    values = eval(rows, {"nan": float("nan"), "inf": float("inf")})
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(values, content.schema), table)


def test_names_with_commas_and_quotes_go_through_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the table to the page of a verdict, and from its command to the outputs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    judge, person = 'gpt-4o, "v2"', "Smith, J=S"
    raters = {person: "human", "Ann": "human", judge: "llm", "b": "llm"}
    rows = []
    for number in range(40):
        for at, rater in enumerate(raters):
            away = number % 2 if at > 1 else 0
            score = (number + away) % 3
            rows.append((f"o{number}", f"text {number}", "en", rater, score))
    table = pd.DataFrame(rows, columns=["output", "text", "language", "rater", "score"])
    table.to_csv("a.csv", index=False)
    kinds = [f"--kinds={in_list([f'{name}={kind}'])}" for name, kind in raters.items()]
    run = [sys.executable, "-m", "metal"]
    subprocess.run([*run, "import", "a.csv", *kinds, "--out=datasets/a"], check=True)
    listed = in_list([judge, "b"])
    reference = f"--reference=rater={in_list([person])},Ann"
    settings = [f"--judges={listed}", reference, "--resamples=100", "--out=runs/a"]
    subprocess.run([*run, "audit", "datasets/a", *settings], check=True)
    audit = metal.open_run("runs/a")
    assert sorted(audit.judge_names) == ["b", judge]
    assert {name for name, each in audit.raters.items() if each.kind == "human"} == {person, "Ann"}
    view = View.begin(tmp_path, 0)
    try:
        [criterion] = audit.criteria
        asks = {"language": "en", "criterion": criterion, "judge": judge, "way": "hand-out"}
        source = asked(view, f"on/runs/a?{urlencode(asks)}")[1]
        [shown] = re.findall('data-copy="([^"]*)"', source)
        typed = shlex.split(unescape(shown))
        subprocess.run([*run, *typed[1:]], check=True)
        again = asked(view, f"on/runs/a?{urlencode(asks | {'way': 'audit'})}")[1]
        [shown] = re.findall('data-copy="([^"]*)"', again)
        assert f"--judges={listed}" in shlex.split(unescape(shown))
    finally:
        view.stop()
