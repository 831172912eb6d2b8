"""The judge wizard, with a real server of a model."""

from __future__ import annotations

import html
import http.client
import re
from itertools import product
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import metal
from metal.app.asking import JudgeWish
from tests.app.shop import KEY, SIZES, Shop, check_looks, listened, until
from tests.llm_server import Fault, always
from tests.saying import tells

Answer = tuple[int, str, dict[str, str]]


def sent(shop: Shop, do: str, key: str = "datasets/demo", **fields: str) -> Answer:
    """What the form answers."""
    parts = urlsplit(shop.view.address)
    assert parts.port
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=120)
    form = {"judge": "openai-compatible:m", "base_url": shop.server.openai_url} | fields
    form = {"prompt": "simple", "criterion": "task_quality", "language": "hi"} | form
    body = urlencode(form | {"do": do}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"{parts.path}judge/{key}", body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, html.unescape(text), dict(response.getheaders())


def confirmed(shop: Shop, do: str, **fields: str) -> Answer:
    """What the form answers after its cost was shown."""
    _, text, _ = sent(shop, "look", **fields)
    match = re.search(r'name="seen" value="(\w+)"', text)
    assert match, text
    return sent(shop, do, **fields, seen=match[1])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_the_form_names_models_and_keys_and_shows_none(shop: Shop) -> None:
    text = shop.page("judge/datasets/demo")
    assert tells(text, "openai-compatible:MODEL", "ready")
    assert tells(text, "anthropic:MODEL")
    assert KEY not in text
    assert tells(text, "Task quality", "detailed", "Hindi")
    dataset_page = shop.page("dataset/datasets/demo")
    assert "/judge/datasets/demo" in dataset_page


def test_a_look_sends_nothing_and_shows_what_a_dry_run_does(shop: Shop) -> None:
    status, text, _ = sent(shop, "look")
    assert status == 200
    dry = metal.judge(
        shop.folder / "datasets" / "demo", "openai-compatible:m", base_url=shop.server.openai_url,
        prompt="simple", criteria="task_quality", languages="hi", dry_run=True,
    )  # fmt: skip
    (estimate,) = dry.outcome.estimates
    assert tells(text, dry.outcome.what, shop.server.openai_url)
    assert estimate.first
    assert estimate.first.message.user in text
    assert tells(text, f">{estimate.calls}<", f"{estimate.tokens_in:,.0f}"[:3])
    command = "metal judge --judge=openai-compatible:m"
    assert tells(text, command, "--languages=hi", "--out=runs/demo-", "--yes -- datasets/demo")
    assert shop.server.requests == 0
    assert not (shop.folder / "runs").exists()


def test_three_trial_answers_are_really_asked_and_stay_text(shop: Shop) -> None:
    reply = '{"score": 2, "justification": "<script>alert(1)</script> \u202e"}'
    shop.server.answer = lambda prompt, body: reply
    status, text, _ = confirmed(shop, "try")
    assert status == 200
    assert shop.server.requests == 3
    assert text.count("2 Good") == 3
    assert "\u202e" not in text
    assert not (shop.folder / "runs").exists()


def test_hostile_answers_are_escaped(shop: Shop, browser: Any) -> None:
    shop.server.answer = lambda prompt, body: '{"score": 2, "justification": "<img src=x>"}'
    page = browser.new_page()
    complaints = listened(page)
    page.goto(f"{shop.view.address}judge/datasets/demo")
    page.get_by_label("Model, or").fill("openai-compatible:m")
    page.get_by_label("Address").fill(shop.server.openai_url)
    page.get_by_role("button", name="Show the prompt").click()
    page.get_by_role("button", name="Ask the judge now").click()
    page.get_by_text("<img src=x>").first.wait_for()
    assert page.locator("img").count() == 0
    assert complaints == []
    page.close()


def test_what_was_changed_is_shown_again_and_not_run(shop: Shop) -> None:
    for do in ("try", "run"):
        _, text, _ = sent(shop, do, seen="0" * 16)
        assert tells(text, "changed", "What would be asked")
        _, text, _ = sent(shop, do, seen=JudgeWish(judge="other").seen)
        assert tells(text, "changed")
    assert shop.server.requests == 0
    assert not (shop.folder / "runs").exists()


def test_a_run_is_started_and_watched(shop: Shop) -> None:
    status, _, headers = confirmed(shop, "run", out="runs/first", sample="5")
    assert status == 303
    page = headers["location"].split("/", 2)[2]
    until(lambda: "live/runs/first" in location(shop, page))
    until(lambda: "Finished" in shop.page("live/runs/first"))
    run = metal.open_run(shop.folder / "runs" / "first")
    assert len(run.ratings) == 5
    assert shop.server.completed == 5
    status, text, _ = confirmed_problem(shop, out="runs/first")
    assert (status, tells(text, "runs/first", "exists")) == (400, True)


def location(shop: Shop, page: str) -> str:
    from tests.app.test_guard import asked

    return asked(shop.view, page)[2].get("location", "")


def confirmed_problem(shop: Shop, **fields: str) -> Answer:
    return sent(shop, "look", **fields)


def test_a_new_criterion_is_written_when_the_run_begins(shop: Shop) -> None:
    fields = {"criterion": "+", "name": "tone", "scale": "1-5", "asks": "Is it polite?"}
    _, text, _ = sent(shop, "look", **fields)
    assert tells(text, "Is it polite?")
    assert tells(text, "metal criterion new --scale=1-5 '--question=Is it polite?' -- tone")
    assert tells(text, "--criteria=tone", "--prompt-folders=prompts")
    file = shop.folder / "prompts" / "criteria" / "tone.toml"
    assert not file.exists()
    status, _, headers = confirmed(shop, "run", **fields, out="runs/tone", sample="3")
    assert status == 303
    assert "Is it polite?" in file.read_text()
    page = headers["location"].split("/", 2)[2]
    until(lambda: "live/runs/tone" in location(shop, page))
    until(lambda: "Finished" in shop.page("live/runs/tone"))
    assert shop.server.completed == 3
    assert tells(sent(shop, "look", **fields)[1], "tone")
    _, text, _ = sent(shop, "look", criterion="tone")  # it is a file now
    assert tells(text, "Is it polite?")


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"judge": ""}, ("openai:gpt-4o-mini",)),
        ({"judge": "gpt-9"}, ("gpt-9",)),
        ({"judge": "nobody:x"}, ("nobody",)),
        ({"base_url": ""}, ("address of your server",)),
        ({"base_url": "file:///etc/passwd"}, ("file:///etc/passwd",)),
        ({"criterion": "nothing"}, ("nothing",)),
        ({"prompt": "../../secret"}, ("secret",)),
        ({"language": "xx"}, ("xx",)),
        ({"sample": "-1"}, ("-1",)),
        ({"sample": "1" * 30}, ("1",)),
        ({"sample": "\u0663"}, ("\u0663",)),
        ({"out": "/etc/run"}, ("/etc/run",)),
        ({"out": "../out"}, ("../out",)),
        ({"out": ".hidden"}, (".hidden",)),
        ({"out": "--out=/run"}, ("--out=",)),
        ({"out": "runs/a\nb"}, ("name", "folder")),
        ({"max_cost": "much"}, ("much",)),
        ({"max_cost": "nan"}, ("nan",)),
        ({"max_cost": "3"}, ("most dollars", "price")),
        ({"criterion": "+", "name": "../x", "scale": "1-5", "asks": "?"}, ("../x",)),
        ({"criterion": "+", "name": "x", "scale": "many", "asks": "?"}, ("many",)),
        ({"question": "x" * 20_000}, ("question", "10,000")),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_said_on_the_form(
    shop: Shop, fields: dict[str, str], facts: tuple[str, ...]
) -> None:
    status, text, _ = sent(shop, "look", **fields)
    if fields.get("sample") == "1" * 30:  # more than there are: all
        assert status == 200
        return
    assert status == 400
    problem = text.split('role="alert">')[1].split("</p>")[0]
    assert tells(problem, *facts)
    assert shop.server.requests == 0
    assert not [path for path in shop.folder.iterdir() if path.name != "datasets"]


def test_keys_stay_off_the_page(shop: Shop) -> None:
    address = shop.server.openai_url.replace("http://", "http://me:sk-typed-by-mistake@")
    status, text, _ = sent(shop, "look", base_url=address)
    assert (status, "sk-typed-by-mistake" in text) == (400, False)
    shop.server.faults = always(Fault("unauthorized"))  # its message repeats the key
    status, text, _ = confirmed(shop, "try")
    assert status == 400
    assert tells(text, "Incorrect API key")
    assert KEY not in text


def test_only_datasets_have_a_judge(shop: Shop) -> None:
    from tests.app.test_guard import asked

    assert asked(shop.view, "judge/nothing")[0] == 404
    assert asked(shop.view, "judge/../../etc")[0] in (403, 404)
    assert sent(shop, "look", "nothing")[0] == 404
    assert asked(shop.view, "judge-started/nothing")[0] == 404


@pytest.mark.slow
def test_from_the_dataset_to_the_live_page(shop: Shop, browser: Any) -> None:
    for width, scheme in product(SIZES, ("light", "dark")):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        complaints = listened(page)
        page.goto(f"{shop.view.address}dataset/datasets/demo")
        page.get_by_role("link", name="Have a judge rate it").click()
        check_looks(page, width)
        page.get_by_label("Model, or").fill("openai-compatible:m")
        page.get_by_label("Address").fill(shop.server.openai_url)
        page.get_by_label("Number of outputs").fill("4")
        page.get_by_role("button", name="Show the prompt").click()
        page.get_by_role("button", name="Ask the judge now").click()
        page.get_by_role("button", name="Ask again").wait_for()
        check_looks(page, width)
        page.get_by_label("Folder of the run").fill(f"runs/{width}-{scheme}")
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("heading", name="Finished").wait_for(timeout=120_000)
        assert complaints == []
        page.close()


@pytest.mark.slow
def test_it_works_without_script(shop: Shop, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{shop.view.address}judge/datasets/demo")
    page.get_by_label("Model, or").fill("openai-compatible:m")
    page.get_by_label("Address").fill(shop.server.openai_url)
    page.get_by_label("Number of outputs").fill("4")
    page.keyboard.press("Enter")  # the first button, which sends nothing
    page.get_by_role("heading", name="The first prompt").wait_for()
    assert shop.server.requests == 0
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("heading", name="Finished").wait_for(timeout=120_000)
    context.close()


def test_judges_and_functions_of_the_folder_are_asked_from_anywhere(shop: Shop) -> None:
    """The app was started in another folder than that in which its commands run."""
    entry = '[judges.mine]\nmodel = "openai-compatible:m"\nbase_url = "{}"\n'
    (shop.folder / "judges.toml").write_text(entry.format(shop.server.openai_url))
    text = "def rate(source, output, criterion):\n    return 1\n"
    (shop.folder / "rates_all_alike.py").write_text(text)
    assert 'value="mine"' in shop.page("judge/datasets/demo")
    assert "mine" not in metal.judges_list().judges
    status, text, _ = sent(shop, "look", judge="mine", base_url="")
    assert status == 200
    assert tells(text, shop.server.openai_url)
    status, text, _ = confirmed(shop, "try", judge="mine", base_url="")
    assert status == 200
    assert shop.server.requests == 3
    status, text, _ = sent(shop, "look", judge="rates_all_alike:rate", base_url="")
    assert status == 200, text


def given(shop: Shop, name: str, content: str, key: str = "datasets/demo") -> Answer:
    """What the form for a criterion file answers."""
    parts = urlsplit(shop.view.address)
    assert parts.port
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=120)
    head = f'--=\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = f"{head}{content}\r\n--=--\r\n".encode()
    headers = {"Content-Type": "multipart/form-data; boundary=="}
    connection.request("POST", f"{parts.path}criterion-file/{key}", body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, html.unescape(text), dict(response.getheaders())


POLITE = """label = "Tone"
question = "Is it polite?"
measure = "ordinal"
direction = "higher"
levels = [{ value = 0, label = "Rude" }, { value = 1, label = "Polite" }]
"""


def test_a_criterion_file_is_taken_and_chosen(shop: Shop) -> None:
    status, _, headers = given(shop, "tone.toml", POLITE)
    assert (status, headers["location"].rpartition("/judge/")[2]) == (
        303,
        "datasets/demo?criterion=tone",
    )
    file = shop.folder / "prompts" / "criteria" / "tone.toml"
    assert file.read_text() == POLITE
    assert '<option value="tone" selected>' in shop.page("judge/datasets/demo?criterion=tone")
    assert tells(sent(shop, "look", criterion="tone")[1], "Is it polite?")
    assert given(shop, "tone.toml", POLITE)[0] == 303  # the same again
    status, text, _ = given(shop, "tone.toml", POLITE.replace("polite", "kind"))
    assert status == 400
    assert tells(text, "prompts/criteria/tone.toml exists")
    assert file.read_text() == POLITE


@pytest.mark.parametrize(
    ("name", "content", "facts"),
    [
        ("tone.txt", POLITE, ("tone.txt", ".toml")),
        ("a b.toml", POLITE, ("'a b'", "letters")),
        (".toml", POLITE, ("''", "letters")),
        ("..%2f..%2fx.toml", POLITE, ("letters",)),
        ("tone.toml", "levels = [", ("tone.toml", "TOML")),
        ("tone.toml", "scale = 5\n", ("tone.toml: criterion", "'scale'")),
        ("tone.toml", POLITE + f'simple = "{"x" * 2_000_000}"', ("larger",)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_criterion_file_is_not_kept(
    shop: Shop, name: str, content: str, facts: tuple[str, ...]
) -> None:
    status, text, _ = given(shop, name, content)
    assert status == 400
    assert tells(text, *facts)
    assert "/criteria" not in text.replace("prompts/criteria", "")  # no private folder
    assert not (shop.folder / "prompts").exists()
