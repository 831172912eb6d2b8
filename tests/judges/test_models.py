"""Judge models: their names, judges.toml, prices, models that are gone, and what makes a judge
another one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from metal.errors import DataError, MetalError, UnknownName, UsageError
from metal.raters.judges.models import (
    BatchSettings,
    Model,
    family,
    find_model,
    judges_files,
    named_models,
    with_settings,
    without_secrets,
)
from metal.raters.judges.prices import Price, listed_price

VARIABLES = (
    "OPENAI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
)
VARIABLES += ("OPENAI_COMPATIBLE_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
WHOLE = """
[judges.mine]
model = "openai-compatible:org/llama-3"
base_url = "http://127.0.0.1:8000/v1"
temperature = 0.5
structured = "json_object"
api_key_env = "MY_KEY"
api_version = "v1"
project = "p"
location = "europe-west4"
family = "llama"
requests_per_minute = 60
tokens_per_minute = 90000.5
concurrency = 4
timeout = 30
parameters = { seed = 7, max_tokens = 300 }
headers = { "X-Team" = "judges", "X-Key" = "$MY_HEADER" }
price = { input = 1, output = 2.5 }

[judges.mine.batch]
requests = 1000
tokens = 90000
poll = 0.5
bucket = "gs://mine"
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MY_HEADER", "header-canary-123")


def judges(tmp_path: Path, text: str) -> dict[str, Model]:
    path = tmp_path / "judges.toml"
    path.write_text(text, encoding="utf-8")
    return named_models([path])


def one(tmp_path: Path, line: str, model: str = "openai:gpt-4o") -> Model:
    return judges(tmp_path, f'[judges.mine]\nmodel = "{model}"\n{line}\n')["mine"]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("azure:my-deployment", "azure", "my-deployment"),
        ("gemini:gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("vertex:gemini-2.5-flash", "vertex", "gemini-2.5-flash"),
        ("vertex-endpoint:123", "vertex-endpoint", "123"),
        ("langchain:anthropic:claude-one", "langchain", "anthropic:claude-one"),
        ("openai:ft:gpt-4o-mini:org::id", "openai", "ft:gpt-4o-mini:org::id"),
    ],
)
def test_names(name: str, provider: str, model: str) -> None:
    result = find_model(name, {})
    assert (result.name, result.provider, result.model) == (name, provider, model)
    assert result.parameters == {"temperature": 0}


def test_a_server_of_ones_own_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="its server is unknown"):
        find_model("openai-compatible:llama", {})
    assert (
        find_model("openai-compatible:llama", {}, base_url="http://x/v1").base_url == "http://x/v1"
    )
    monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", "http://y/v1")
    assert find_model("openai-compatible:llama", {}).identity["base_url"] == "http://y/v1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "judge 'gpt-4o' is not known; did you mean 'openai:gpt-4o'\\?"),
        ("o3-mini", "did you mean 'openai:o3-mini'\\?"),
        ("claude-sonnet-4-5", "did you mean 'anthropic:claude-sonnet-4-5'\\?"),
        ("gemini-2.5-pro", "did you mean 'gemini:gemini-2.5-pro' or 'vertex:gemini-2.5-pro'\\?"),
        (
            "meta-llama/Llama-3.3-70B",
            "did you mean 'openai-compatible:meta-llama/Llama-3.3-70B'\\?",
        ),
        ("nobody", "judge 'nobody' is not known; known: .*openai:MODEL"),
        ("openai:", "judge 'openai:' is not known"),
        ("", "judge '' is not known"),
        ("opnai:gpt-4o", "did you mean 'openai'"),
        (":gpt-4o", "provider"),
        ("langchain:claude", "Write langchain:PROVIDER:MODEL"),
    ],
)
def test_names_nobody_knows(name: str, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        find_model(name, {})


def test_a_mistyped_name_of_judges_toml_is_meant_first(tmp_path: Path) -> None:
    path = tmp_path / "judges.toml"
    path.write_text('[judges.gpt-strict]\nmodel = "openai:gpt-4o"\n')
    with pytest.raises(UnknownName, match="did you mean 'gpt-strict' or 'openai:gpt-strct'"):
        find_model("gpt-strct", named_models([path]))


def test_a_name_of_judges_toml_comes_first(tmp_path: Path) -> None:
    named = judges(tmp_path, '[judges."openai:gpt-4o"]\nmodel = "openai:gpt-4o-mini"\n')
    assert find_model("openai:gpt-4o", named).model == "gpt-4o-mini"


GONE = "gemini-pro", "gemini-1.0-pro-002", "gemini-pro-vision", "gemini-1.5-flash-8b"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vertex:text-bison@001", r"PaLM 2 was shut down on .* try vertex:gemini-2\.5-flash"),
        ("vertex:text-bison-32k@002", "PaLM 2 was shut down"),
        ("vertex:codechat-bison", "PaLM 2 was shut down"),
        ("vertex:text-unicorn@001", "PaLM 2 was shut down"),
        ("gemini:text-bison-001", "PaLM 2 was shut down"),
        *(
            (f"{provider}:{model}", "was shut down")
            for provider in ("vertex", "gemini")
            for model in GONE
        ),
    ],
)
def test_models_that_are_gone(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_model(name, {})


def test_living_models_and_those_of_others_are_not_refused() -> None:
    for name in (
        "vertex:gemini-2.5-pro",
        "gemini:gemini-2.0-flash",
        "openai:text-bison",
        "azure:gemini-pro",
    ):
        assert find_model(name, {}).name == name


# ---------------------------------------------------------------- judges.toml


def test_a_fault_of_one_judge_is_nobody_elses(tmp_path: Path) -> None:
    named = judges(
        tmp_path,
        '[judges.gone]\nmodel = "vertex:text-bison"\n[judges.nowhere]\nmodel ='
        ' "openai-compatible:x"\n[judges.unset]\nmodel = "openai:m"\nheaders = { X ='
        ' "$NOT_SET_ANYWHERE" }\n[judges.fine]\nmodel = "openai:m"\n',
    )
    assert find_model("fine", named).model == "m"
    with pytest.raises(UsageError, match="PaLM 2"):
        find_model("gone", named)
    with pytest.raises(UsageError, match="Pass `base_url`"):
        find_model("nowhere", named)
    assert (
        find_model("nowhere", named, base_url="http://127.0.0.1:1/v1").base_url
        == "http://127.0.0.1:1/v1"
    )
    with pytest.raises(UsageError, match="NOT_SET_ANYWHERE"):
        find_model("unset", named).sent_headers()


def test_headers_come_from_the_environment(tmp_path: Path) -> None:
    assert judges(tmp_path, WHOLE)["mine"].sent_headers() == {
        "X-Team": "judges",
        "X-Key": "header-canary-123",
    }


def test_every_key(tmp_path: Path) -> None:
    result = judges(tmp_path, WHOLE)["mine"]
    assert result == Model(
        "mine",
        "openai-compatible",
        "org/llama-3",
        base_url="http://127.0.0.1:8000/v1",
        parameters={"temperature": 0.5, "seed": 7, "max_tokens": 300},
        structured="json_object",
        price=Price(1.0, 2.5),
        requests_per_minute=60,
        tokens_per_minute=90000.5,
        concurrency=4,
        timeout=30,
        headers={"X-Team": "judges", "X-Key": "$MY_HEADER"},
        api_key_env="MY_KEY",
        api_version="v1",
        project="p",
        location="europe-west4",
        family="llama",
        batch=BatchSettings(requests=1000, tokens=90000, poll=0.5, bucket="gs://mine"),
        batch_price=Price(0.5, 1.25),
    )


def test_a_price_of_batches_of_ones_own(tmp_path: Path) -> None:
    result = judges(tmp_path, WHOLE + "price = { input = 0.25, output = 1 }\n")["mine"]
    assert (result.price, result.batch_price) == (Price(1.0, 2.5), Price(0.25, 1.0))


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    assert one(tmp_path, "") == replace(find_model("openai:gpt-4o", {}), name="mine")


def test_temperature_may_be_left_out(tmp_path: Path) -> None:
    assert one(tmp_path, 'temperature = "unset"').parameters == {}
    assert one(tmp_path, 'parameters = { temperature = "unset", seed = 1 }').parameters == {
        "seed": 1
    }
    assert one(tmp_path, "parameters = { temperature = 1 }").parameters == {"temperature": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("concurency = 4", "did you mean 'concurrency'"),
        ("requests_per_minute = 0", "requests_per_minute is not a number above 0"),
        ("requests_per_minute = true", "not a number above 0"),
        ('requests_per_minute = "60"', "not a number above 0"),
        ("requests_per_minute = nan", "not a number above 0"),
        ("tokens_per_minute = inf", "not a number above 0"),
        ("timeout = nan", "not a number above 0"),
        ("concurrency = 0", "not a number above 0"),
        ("concurrency = 0.5", "not a whole number"),
        ("base_url = 5", "base_url is not a text"),
        ("parameters = 5", "parameters is not a table"),
        (
            "parameters = { max_tokens = 1000, thinking = { budget_tokens = 2048 } }",
            "max_tokens = 1000 is not above",
        ),
        ('headers = "x"', "headers is not a table"),
        ("price = 5", "price is not a table"),
        ("price = { input = 1 }", "Write price = "),
        ("price = { input = -1, output = 1 }", "Write price = "),
        ("price = { input = true, output = 1 }", "Write price = "),
        ("price = { input = inf, output = 1 }", "Write price = "),
        ("price = { input = 1, output = 2, outptu = 3 }", "outptu"),
        ('structured = "xml"', "'xml' is not known"),
        ("batch = { pol = 1 }", "did you mean 'poll'"),
        ("batch = { requests = 0 }", "requests = 0"),
        ("batch = { requests = 1.5 }", "a number above 0"),
        ("batch = { bytes = true }", "bytes = True"),
        ("batch = { bucket = 1 }", "a text"),
        ("batch = { price = { input = 1 } }", "price"),
        ("batch = { price = 16 }", "Write price = "),
        ("batch = { price = 2026-01-01 }", "Write price = "),
        ("batch = { price = 0 }", "Write price = "),
    ],
)
def test_faults_of_judges_toml_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MetalError, match=message) as result:
        one(tmp_path, line)
    assert "mine" in str(result.value)
    assert "judges.toml" in str(result.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[judges.mine]\n", "no model"),
        ("[judges.mine]\nmodel = 5\n", "no model"),
        ('[judges.mine]\nmodel = "gpt-4o"\n', "no model"),
        ('[judge.mine]\nmodel = "openai:gpt-4o"\n', "did you mean 'judges'"),
        ("[judges]\nmine = 5\n", "judge mine is not a table"),
        ("judges = 5\n", "judges is not a table"),
        ('[[judges]]\nmodel = "openai:gpt-4o"\n', "judges is not a table"),
        ("[judges.mine\n", "not TOML"),
    ],
)
def test_files_that_name_no_judges(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises((DataError, UnknownName, UsageError), match=message) as result:
        judges(tmp_path, text)
    assert "judges.toml" in str(result.value)


def test_the_projects_file_wins_over_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "config", tmp_path / "project"
    (home / "metal").mkdir(parents=True)
    project.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.chdir(project)
    assert judges_files() == []
    (home / "metal" / "judges.toml").write_text(
        '[judges.both]\nmodel = "openai:gpt-4o"\nconcurrency = 3\n[judges.users]\nmodel ='
        ' "openai:o3"\n'
    )
    assert set(named_models(judges_files())) == {"both", "users"}
    (project / "judges.toml").write_text('[judges.both]\nmodel = "openai:gpt-4.1"\n')
    result = named_models(judges_files())
    assert (result["both"].model, result["both"].concurrency, result["users"].model) == (
        "gpt-4.1",
        16,
        "o3",
    )


def test_without_xdg_the_users_file_is_in_dot_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".config" / "metal" / "judges.toml"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert judges_files() == [path]
    assert named_models(judges_files()) == {}


# ---------------------------------------------------------------- secrets


def test_no_secret_is_ever_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "key-canary-456")
    model = judges(tmp_path, WHOLE)["mine"]
    for url in (
        "http://user:url-canary@host/v1",
        "http://user:p@ss-url-canary@host/v1",
        "http://url-canary@host/v1",
        "http://host/v1?api-key=url-canary&x=1",
        "http://host/v1?x=1&sig=url-canary#top",
    ):
        described = json.dumps(replace(model, base_url=url).described())
        assert "canary" not in described
        assert "host/v1" in described
    assert model.described()["headers"] == ["X-Key", "X-Team"]
    assert "canary" not in json.dumps(model.identity)


def test_urls_without_secrets_stay_as_they_are() -> None:
    for url in (
        "",
        "http://127.0.0.1:8000/v1",
        "https://host/a@b/v1?version=2",
        "https://host/v1?user=a@b",
    ):
        assert without_secrets(url) == url


# ---------------------------------------------------------------- identity


@pytest.mark.parametrize(
    "line",
    [
        "temperature = 1",
        "parameters = { seed = 1 }",
        'structured = "none"',
        'base_url = "http://elsewhere/v1"',
        'api_version = "2025-01-01"',
    ],
)
def test_what_may_change_answers_changes_the_identity(tmp_path: Path, line: str) -> None:
    assert one(tmp_path, line).identity != one(tmp_path, "").identity
    assert one(tmp_path, "", "openai:gpt-4.1").identity != one(tmp_path, "").identity
    assert one(tmp_path, "", "azure:gpt-4o").identity != one(tmp_path, "").identity


@pytest.mark.parametrize(
    "line",
    [
        "concurrency = 2",
        "timeout = 9",
        "requests_per_minute = 5",
        "tokens_per_minute = 5",
        "price = { input = 9, output = 9 }",
        'family = "other"',
        'api_key_env = "OTHER"',
        "temperature = 0",
        'structured = "json_schema"',
    ],
)
def test_what_cannot_change_answers_does_not_change_the_identity(tmp_path: Path, line: str) -> None:
    assert one(tmp_path, line).identity == one(tmp_path, "").identity
    assert one(tmp_path, line).identity == find_model("openai:gpt-4o", {}).identity


def test_parameters_count_in_any_order(tmp_path: Path) -> None:
    first = one(tmp_path, "parameters = { seed = 1, top_p = 0.5 }").identity
    assert json.dumps(first) == json.dumps(
        one(tmp_path, "parameters = { top_p = 0.5, seed = 1 }").identity
    )


def test_another_address_in_the_environment_is_another_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = find_model("openai:gpt-4o", {}).identity
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert find_model("openai:gpt-4o", {}).identity != before


def test_an_endpoint_is_another_one_in_another_project_or_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = find_model("vertex-endpoint:123", {})
    seen = [
        model.identity,
        replace(model, project="p").identity,
        replace(model, location="asia-east1").identity,
    ]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "q")
    seen.append(model.identity)
    assert len({json.dumps(identity) for identity in seen}) == 4


# ---------------------------------------------------------------- families and prices


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:gpt-4o", "gpt"),
        ("openai:o3-mini", "gpt"),
        ("openai:chatgpt-4o-latest", "gpt"),
        ("openai:ft:gpt-4o-mini:org::id", "gpt"),
        ("azure:gpt-4o", "gpt"),
        ("gemini:gemini-2.5-pro", "gemini"),
        ("vertex:gemini-2.5-pro", "gemini"),
        ("vertex-endpoint:123", ""),
        ("langchain:anthropic:claude-sonnet-4-5", "claude"),
        ("langchain:ollama:llama3:8b", "llama"),
        ("openai-compatible:meta-llama/Llama-3-8B", "llama"),
        ("openai-compatible:llama3:8b", "llama"),
        ("openai-compatible:openai/gpt-oss-120b", "gpt"),
    ],
)
def test_families(name: str, message: str) -> None:
    provider, _, model = name.partition(":")
    assert family(provider, model) == message


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai:gpt-4o", (2.5, 10)),
        ("openai:gpt-4o-2024-08-06", (2.5, 10)),
        ("openai:gpt-4-0613", (30, 60)),
        ("azure:gpt-4o", (2.5, 10)),
        ("vertex:gemini-2.5-pro", (1.25, 10)),
        ("langchain:anthropic:claude-sonnet-4-5-20250929", (3, 15)),
        ("langchain:openai:gpt-4o", (2.5, 10)),
        ("openai:gpt-4-32k", None),
        ("openai:gpt-4o-mini-tts", None),
        ("azure:my-deployment", None),
        ("langchain:ollama:llama3:8b", None),
        ("vertex-endpoint:123", None),
    ],
)
def test_list_prices(name: str, price: tuple[float, float] | None) -> None:
    provider, _, model = name.partition(":")
    result = listed_price(provider, model)
    assert (result and (result.input, result.output)) == price
    assert not result or result.as_of


@pytest.mark.parametrize(
    ("entry", "thoughts"),
    [
        ('model = "openai:gpt-4o"', 0),
        ('model = "openai:o3-2025-04-16"', 500),
        ('model = "langchain:google_genai:gemini-2.5-pro"', 500),
        (
            (
                'model = "gemini:gemini-2.5-flash"\nparameters = { thinking_config = {'
                " include_thoughts = false } }"
            ),
            500,
        ),
        (
            (
                'model = "gemini:gemini-2.5-flash"\nparameters = { thinking_config = {'
                " thinking_budget = 0 } }"
            ),
            0,
        ),
        ('model = "openai:gpt-5"\nparameters = { reasoning_effort = "minimal" }', 0),
        (
            (
                'model = "openai-compatible:grok"\nbase_url = "http://x"\nparameters = {'
                ' reasoning_effort = "high" }'
            ),
            500,
        ),
        ('model = "anthropic:claude-sonnet-4-5"', 0),
        (
            (
                'model = "anthropic:claude-x"\nparameters = { thinking = { type = "enabled",'
                " budget_tokens = 2000 } }"
            ),
            500,
        ),
        ('model = "anthropic:claude-x"\nparameters = { thinking = { type = "disabled" } }', 0),
    ],
)
def test_what_a_model_will_think_is_part_of_the_estimate(
    entry: str, thoughts: float, tmp_path: Path
) -> None:
    (tmp_path / "judges.toml").write_text(f"[judges.j]\n{entry}\n", encoding="utf-8")
    assert named_models([tmp_path / "judges.toml"])["j"].thoughts == thoughts


def test_ones_own_price_wins_and_may_be_zero(tmp_path: Path) -> None:
    assert one(tmp_path, "price = { input = 1, output = 2 }").price == Price(1, 2)
    assert one(tmp_path, "price = { input = 0, output = 0 }").price == Price(0, 0)
    assert Price(2.5, 10).cost(1_000_000, 100_000) == pytest.approx(3.5)


def test_settings_from_the_command_line() -> None:
    model = find_model("openai:gpt-4o", {})
    assert with_settings(model, concurrency=None) == model
    assert with_settings(model, concurrency=2).concurrency == 2
