"""`metal judge` where no call is answered: one request, the cause in words, exit code 2, and
nothing left behind.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from tests import DEMO
from tests.cli.forks import Metal
from tests.cli.runs import KEY, records
from tests.llm_server import Fault, LlmServer, always, first_attempts
from tests.saying import tells

TWO = ("-l", "en", "-c", "task_quality", "--sample", "2")  # calls
EIGHT = ("-l", "en", "-c", "task_quality")


@pytest.fixture
def nobody() -> str:
    """An address where no server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.fixture
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """The port of a server whose certificate nobody has signed, and then a number for each
    connection to it.
    """
    place = tmp_path_factory.mktemp("untrusted")
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    command = [*made, "-keyout", place / "key.pem", "-out", place / "certificate.pem"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "certificate.pem", place / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:
        seen = [server.getsockname()[1]]

        def serve() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    connection, _ = server.accept()
                    seen.append(len(seen))
                    with (
                        connection,
                        suppress(OSError),
                        context.wrap_socket(connection, server_side=True),
                    ):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield seen
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [TWO, EIGHT], ids=["two calls", "eight calls"])
@pytest.mark.parametrize("more", [(), ("--batch",)], ids=["direct", "batch"])
def test_a_server_that_is_not_there(
    calls: tuple[str, ...], more: tuple[str, ...], nobody: str, metal: Metal, tmp_path: Path
) -> None:
    metal.env["OPENAI_BASE_URL"] = nobody
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *calls, *more, "--out", "r", expect=2)
    place = nobody.removesuffix("/v1")
    assert done.err.count("\n") == 1
    assert tells(
        done.err, "metal: openai:gpt-4o:", place, "connection refused", "No call", "r was not kept"
    )
    assert "Next" not in done.out
    assert "ratings" not in done.out
    assert not list(tmp_path.iterdir())


def test_a_server_that_hangs_up_at_once(metal: Metal, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"https://127.0.0.1:{server.getsockname()[1]}"

        def hang_up() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        metal.env["OPENAI_BASE_URL"] = f"{place}/v1"
        done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r", expect=2)
        server.shutdown(socket.SHUT_RDWR)
    assert tells(done.err, f"cannot reach {place}:", "closed the connection")
    assert not list(tmp_path.iterdir())


def test_a_host_that_is_misspelt(metal: Metal, tmp_path: Path) -> None:
    metal.env["OPENAI_BASE_URL"] = "http://no-such-host.invalid/v1"
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r", expect=2)
    assert tells(done.err, "no-such-host.invalid", "(DNS)")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000x/v1",
        "127.0.0.1:8000/v1",
        "http:///v1",
        "http://127.0.0.1:99999/v1",
        "http://a b/v1",
    ],
)
def test_an_address_that_is_none_is_not_asked(address: str, metal: Metal, tmp_path: Path) -> None:
    metal.env["OPENAI_BASE_URL"] = address
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r", expect=2)
    is_none = f"{address!r} is not an address such as http://127.0.0.1:8000/v1"
    assert done.err == f"metal: judge 'openai:gpt-4o': OPENAI_BASE_URL {is_none}\n"
    done = metal(
        "judge",
        DEMO,
        "-j",
        "openai-compatible:m",
        "--base-url",
        address,
        *TWO,
        "--out",
        "r",
        expect=2,
    )
    assert is_none in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["judge", "generate"])
def test_a_base_url_beside_a_model_that_is_not_asked_there(
    verb: str, metal: Metal, llm_server: LlmServer
) -> None:
    """The texts would have gone to the provider instead."""
    option = "-j" if verb == "judge" else "-m"
    done = metal(
        verb,
        DEMO,
        option,
        "openai:gpt-4o",
        "--base-url",
        "http://127.0.0.1:8000/v1",
        "--yes",
        expect=2,
    )
    assert tells(done.err, "--base-url;", "openai-compatible:MODEL")
    assert llm_server.requests == 0


def test_a_certificate_that_nobody_signed_costs_one_connection(
    metal: Metal, untrusted: list[int], tmp_path: Path
) -> None:
    metal.env["OPENAI_BASE_URL"] = f"https://127.0.0.1:{untrusted[0]}/v1"
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--out", "r", expect=2)
    assert "is not trusted" in done.err
    assert done.err.count("\n") == 1
    assert len(untrusted) == 2
    assert not list(tmp_path.iterdir())


def test_two_calls_that_are_both_rejected(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault("400"))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--reask", "0", "--out", "r", expect=2)
    assert done.err.count("\n") == 1
    assert tells(done.err, "2 calls failed", "none was answered")
    assert not (tmp_path / "r").exists()
    assert "Next" not in done.out


def test_a_server_that_fails_at_every_call(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """One question gets three attempts and another a single one; the other six are not sent."""
    llm_server.faults = always(Fault("503"))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--out", "r", expect=2)
    assert (
        done.err
        == "metal: openai:gpt-4o: server error: HTTP 503: The model is overloaded. Please try again"
        " later. No call was answered; r was not kept\n"
    )
    assert llm_server.requests == 4
    assert not (tmp_path / "r").exists()
    assert "Next" not in done.out


def test_a_server_that_starts_while_it_is_asked(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault("503") if llm_server.requests <= 2 else None
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--out", "r")
    assert "8 ratings in r" in done.said
    assert llm_server.requests == 10


@pytest.mark.parametrize("kind", ["401", "403", "404", "insufficient_quota"])
def test_a_refused_key_is_asked_once(
    kind: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault(kind))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r", expect=2)
    assert done.err.count("\n") == 1
    assert KEY not in done.err
    assert not (tmp_path / "r").exists()


def test_an_error_that_comes_as_a_success_is_asked_once(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    body = json.dumps(
        {"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}
    )
    llm_server.faults = always(Fault("body", text=body))
    done = metal(
        "judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--concurrency", "1", "--out", "r", expect=2
    )
    assert llm_server.requests == 1
    assert "quota used up: HTTP 402: You exceeded your quota." in done.err
    assert not (tmp_path / "r").exists()


def test_every_reply_is_a_web_page(metal: Metal, llm_server: LlmServer, tmp_path: Path) -> None:
    """The judge stops after three; what came may have been paid for and is kept, and nothing is
    called a rating.
    """
    llm_server.faults = always(Fault("body", text="<html>Welcome</html>"))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--out", "r", expect=2)
    assert (
        "openai:gpt-4o stopped (5 calls not made): not a reply: not a JSON object:"
        " <html>Welcome</html>" in done.err
    )
    assert "Next" not in done.out
    assert "ratings in" not in done.out
    assert tells(done.said, "fixed", "metal judge --resume r")
    assert tells(done.said, "kept in r", "metal replies r")
    assert [record["body"] for record in records(tmp_path / "r")] == ["<html>Welcome</html>"] * 3
    assert llm_server.requests == 3
    llm_server.faults = None
    again = metal("judge", "--resume", "r")
    assert "8 ratings" in again.said


CHOICE = {"message": {"content": '{"score": 1, "justification": "Fine."}'}, "finish_reason": "stop"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (
            json.dumps({"error": {"message": "upstream is gone"}, "choices": [CHOICE]}),
            "2 error in the reply",
        ),
        (
            json.dumps({"choices": [CHOICE | {"message": {"content": "I would rather not say."}}]}),
            "2 unparsable",
        ),
        (json.dumps({"choices": []}), "2 no choices"),
    ],
    ids=["an error beside the choices", "no score", "no choices"],
)
def test_no_reply_holds_a_score(
    body: str, cause: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault("body", text=body))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--reask", "0", "--out", "r", expect=2)
    assert tells(done.err, "metal: openai:gpt-4o stopped: 2 replies", f"none has a score: {cause}")
    assert "Next" not in done.out
    assert "ratings in" not in done.out
    assert "--resume" not in done.out
    assert tells(done.said, "kept in r", "metal replies r")
    assert len(records(tmp_path / "r")) == 2
    assert "metal: r" not in metal("replies", "r").err


def test_every_question_is_held_back_by_a_filter(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault("content_filter"))
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r", expect=2)
    assert tells(done.err, "openai:gpt-4o stopped: 2 questions", "no reply: 2 filtered")
    assert "Next" not in done.out


def test_a_run_without_a_single_score_is_not_audited(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    body = json.dumps({"choices": [CHOICE | {"message": {"content": "I would rather not say."}}]})
    llm_server.faults = always(Fault("body", text=body))
    metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--reask", "0", "--out", "r", expect=2)
    done = metal("audit", DEMO, "r", "--out", "a", expect=2)
    assert done.err.count("\n") == 1
    assert tells(
        done.err, "metal: r:", "none of its 2 ratings", "(unparsable 2)", "`metal replies r`"
    )
    assert not (tmp_path / "a").exists()


def test_one_reply_of_two_holds_a_score(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: (
        Fault("text", text="I would rather not say.") if call.number == 1 else None
    )
    done = metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--reask", "0", "--out", "r")
    assert "2 ratings in r, 1 of them without a score" in done.said
    assert "Next: metal audit" in done.said


def test_of_two_judges_one_is_not_there(
    nobody: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    judges = f'[judges.gone]\nmodel = "openai-compatible:m"\nbase_url = "{nobody}"\n'
    (tmp_path / "judges.toml").write_text(judges)
    done = metal("judge", DEMO, "-j", "gone,openai:gpt-4o", *EIGHT, "--out", "r", expect=2)
    assert done.err.count("\n") == 1
    assert "metal: gone stopped (8 calls not made): cannot reach http://127.0.0.1:" in done.err
    assert llm_server.requests == 8
    ratings = pd.read_parquet(tmp_path / "r" / "ratings.parquet")
    assert set(ratings["rater"]) == {"openai:gpt-4o/detailed"}
    assert ratings["score"].notna().all()
    assert "8 calls not made. Continue with: metal judge --resume r" in done.said
    assert "Next: metal audit" in done.said


@pytest.mark.slow
def test_a_run_that_goes_on_while_the_server_is_away(
    nobody: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--limit", "3", "--out", "r")
    before = (tmp_path / "r" / "journal.jsonl").read_bytes()
    llm_server.faults = always(Fault("401"))
    done = metal("judge", "--resume", "r", expect=2)
    assert "openai:gpt-4o stopped (5 calls not made): access denied" in done.err
    assert (tmp_path / "r" / "journal.jsonl").read_bytes() == before
    llm_server.faults = None
    assert "8 ratings" in metal("judge", "--resume", "r").said
    assert set(llm_server.counts.values()) <= {1, 2}


def test_too_many_requests_with_an_odd_header_are_asked_again(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = first_attempts(Fault("429", retry_after="zehn Sekunden, später"))
    metal("judge", DEMO, "-j", "openai:gpt-4o", *TWO, "--out", "r")
    assert pd.read_parquet(tmp_path / "r" / "ratings.parquet")["score"].notna().all()
    assert llm_server.requests == 4


def test_baselines_answer_beside_a_server_that_is_not_there(
    nobody: str, metal: Metal, tmp_path: Path
) -> None:
    metal.env["OPENAI_BASE_URL"] = nobody
    done = metal("judge", DEMO, "-j", "majority,openai:gpt-4o", *EIGHT, "--out", "r", expect=2)
    assert "openai:gpt-4o stopped (8 calls not made): cannot reach" in done.err
    assert set(pd.read_parquet(tmp_path / "r" / "ratings.parquet")["rater"]) == {"majority"}


def test_force_with_a_server_that_is_not_there_leaves_other_files(
    nobody: str, metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    metal("judge", DEMO, "-j", "majority", *EIGHT, "--out", "r")
    (tmp_path / "r" / "notes.txt").write_text("mine")
    metal.env["OPENAI_BASE_URL"] = nobody
    metal("judge", DEMO, "-j", "openai:gpt-4o", *EIGHT, "--out", "r", "--force", expect=2)
    assert (tmp_path / "r" / "notes.txt").read_text() == "mine"
