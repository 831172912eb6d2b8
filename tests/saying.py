"""What a message has to say, without the words that it is said in."""

from collections.abc import Iterable


def tells(message: str | Iterable[str], *facts: str) -> bool:
    """Whether a message (of several: one of them) holds all facts, one after another.

    Facts are what a reader acts on: a number, a name, a file, an option. Line breaks do not count.
    """
    lines = [message] if isinstance(message, str) else message
    return any(in_order(" ".join(line.split()), facts) for line in lines)


def in_order(line: str, facts: Iterable[str]) -> bool:
    end = 0
    for fact in facts:
        start = line.find(fact, end)
        if start < 0:
            return False
        end = start + len(fact)
    return True
