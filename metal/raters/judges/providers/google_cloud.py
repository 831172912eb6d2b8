"""What goes wrong with Google Cloud's own libraries (Vertex AI, Cloud Storage), in METAL's terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import google.auth.exceptions
import requests
from google.api_core import exceptions as api_exceptions
from google.protobuf.json_format import ParseError

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed
from metal.raters.judges.providers.failures import failure, one_line, retry_after, retry_delay
from metal.raters.judges.providers.google import NO_LOGIN


@contextmanager
def cloud_failures(whose: str, code: str = "") -> Iterator[None]:
    """Errors of a call in the block become CallFailed. whose: whom they are about; code: as of `failure`."""
    try:
        yield
    except api_exceptions.GoogleAPICallError as error:
        raise _failure(error, whose, code) from None
    except (requests.exceptions.Timeout, api_exceptions.RetryError) as error:
        raise CallFailed(calls.TIMEOUT, one_line(str(error))) from None
    except requests.exceptions.RequestException as error:
        timed_out = "timed out" in str(error)
        raise CallFailed(calls.TIMEOUT if timed_out else calls.DROPPED, one_line(str(error))) from None
    except google.auth.exceptions.GoogleAuthError as error:
        raise CallFailed(calls.DENIED, f"{whose}: {NO_LOGIN}; {one_line(str(error))}") from None
    except (ValueError, ParseError) as error:  # a body that is none
        raise CallFailed(calls.SERVER, f"not an answer: {one_line(str(error))}") from None


def _failure(error: api_exceptions.GoogleAPICallError, whose: str, code: str) -> CallFailed:
    response = getattr(error, "response", None)
    wait = 0.0
    if response is not None and hasattr(response, "headers"):
        wait = retry_after(response.headers)
        with suppress(ValueError):  # not JSON
            wait = wait or retry_delay(response.json())
    return failure(int(error.code or 500), error.message or str(error), code=code, wait=wait, whose=whose)
