"""The container files, as far as they can be checked without a daemon."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

from metal.cli.serve import app

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def instruction(name: str) -> str:
    (line,) = re.findall(rf"^{name} (.+)$", DOCKERFILE, flags=re.MULTILINE)
    return str(line)


def test_the_image_starts_the_server_with_options_that_it_has() -> None:
    program, verb, *arguments = json.loads(instruction("CMD"))
    assert (program, verb) == ("metal", "serve")
    app.make_context("serve", list(arguments), resilient_parsing=False)
    port = arguments[arguments.index("--port") + 1]
    assert instruction("EXPOSE") == port
    assert f":{port}/healthz" in DOCKERFILE


def test_the_image_installs_an_extra_that_there_is_and_does_not_run_as_root() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert instruction("ARG").removeprefix("EXTRAS=") in extras
    assert instruction("USER") != "root"
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = required["requires-python"].removeprefix(">=").split(".")
    of_image = re.fullmatch(r"python:(\d+)\.(\d+)-slim", instruction("FROM"))
    assert of_image
    assert tuple(map(int, of_image.groups())) >= tuple(map(int, oldest))


def test_compose_keeps_data_in_volumes_and_listens_to_this_machine_only() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    server, database = services["services"]["metal"], services["services"]["database"]
    address = server["environment"]["METAL_DATABASE"]
    assert address.startswith("postgresql+psycopg://")
    assert "@database/" in address
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    used = [volume.partition(":")[0] for each in (server, database) for volume in each["volumes"]]
    assert sorted(used) == sorted(services["volumes"])
    assert "POSTGRES_PASSWORD:?" in address  # no password of ours


def test_containers_run_behind_a_proxy_that_speaks_https() -> None:
    assert "--https" in json.loads(instruction("CMD"))
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    server = services["services"]["metal"]
    assert "--https" in server.get("command", ["--https"])
    assert server["environment"]["FORWARDED_ALLOW_IPS"]  # the proxy is not in the container
