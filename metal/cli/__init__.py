"""The command line: one file a verb; it parses, wires and prints.

Verb files import only light modules at the top and the rest inside the function, so that help is quick.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from typing import NoReturn

import click

from metal import __version__
from metal.cli.annotate import annotate
from metal.cli.audit import audit
from metal.cli.billboard import billboard
from metal.cli.check import check
from metal.cli.compare import compare
from metal.cli.describe import describe
from metal.cli.design import design
from metal.cli.export import export
from metal.cli.generate import generate
from metal.cli.import_ import import_
from metal.cli.judge import judge
from metal.cli.judges import judges
from metal.cli.leaderboard import leaderboard
from metal.cli.metric import metric
from metal.cli.monitor import monitor
from metal.cli.prompt import prompt
from metal.cli.report import report
from metal.cli.sample import sample
from metal.cli.score import score
from metal.cli.submit import submit
from metal.errors import MetalError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each verb explains itself: metal VERB --help",
)
@click.version_option(__version__, prog_name="metal")
def metal() -> None:
    """METAL audits LLM judges per language: how far each can be trusted, for which criterion.

    \b
    First steps:
      metal import pariksha PATH --out datasets/pariksha   other people's ratings in
      metal judge datasets/pariksha -j openai:gpt-4o       a judge rates the outputs
      metal audit datasets/pariksha runs/pariksha-judges   judges against people
    """


for verb in (
    sample,
    generate,
    annotate,
    import_,
    check,
    describe,
    judge,
    judges,
    prompt,
    score,
    metric,
    audit,
    billboard,
    monitor,
    leaderboard,
    submit,
    design,
    report,
    compare,
    export,
):
    metal.add_command(verb)


def main() -> None:
    """Run `metal`. Exit code 0: done; 2: something the user can put right; 70: a defect; 130: interrupted."""
    for threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # our matrices are small: threads only wait for each other
    try:
        metal.main(prog_name="metal", standalone_mode=False)
    except click.exceptions.Abort:
        _stop("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context else ""
        _stop(" ".join(error.format_message().split()) + hint, 2)  # click puts choices on lines of their own
    except MetalError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("interrupted", 130)
    except BrokenPipeError:
        # The reader went away (`| head`): not an error, and nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # A folder that cannot be written, a full disk: the user's to put right, if it names a file.
        if error.filename is None:
            _defect(error)
        _stop(f"{error.filename}: {(error.strerror or str(error)).lower()}; give another path, or change its rights", 2)
    except Exception as error:
        _defect(error)


def as_typed(message: str) -> str:
    """A message in words of the command line that was typed."""
    from metal.cli.flags import in_flags

    command: click.Command = metal
    for word in sys.argv[1:]:
        if not isinstance(command, click.Group):
            break
        command = command.commands.get(word, command)
    return in_flags(message, getattr(command, "default", command), metal)


def _defect(error: Exception) -> NoReturn:
    _stop(f"unexpected {type(error).__name__}: {error}; the traceback is in {_log()}", 70)


def _stop(message: str, code: int) -> NoReturn:
    from metal.show.terminal.console import clean  # a message quotes files, whose text could rewrite the screen

    one_line = " ".join(clean(as_typed(message)).split())
    if code == 130:  # one more Ctrl-C would only break into the interpreter's end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(f"metal: {one_line}", file=sys.stderr)
    sys.exit(code)


def _log() -> str:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="metal-error-", suffix=".log", delete=False) as file:
        traceback.print_exc(file=file)
    return file.name
