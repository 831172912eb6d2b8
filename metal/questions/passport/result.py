"""What `metal.passport` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.passport.run import PassportRun


class Passport(Result, PassportRun):
    """What judges may be used for, by language and criterion, and until when. `content` is that of passport.json."""

    shown = "uses"
