"""`make shots`: pages of an audit with 1, 5 and 30 languages and 1, 6 and 20 judges, as pictures in
runs/shots.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from metal.auditing.audit import audit
from metal.auditing.settings import AuditSettings
from metal.questions.audit.run import AuditRun
from metal.runs.parts import manifest
from metal.show.pages import page
from tests.browser import FLAGS, Visit, chromium
from tests.planning.studies import LIKERT, study

LANGUAGES = (
    *(
        "hi",
        "bn",
        "ta",
        "ar",
        "sw",
        "en",
        "zh",
        "fr",
        "de",
        "ja",
        "tr",
        "ru",
        "es",
        "pt",
        "he",
        "ur",
        "fa",
        "ko",
        "vi",
    ),
    *("th", "id", "am", "yo", "ig", "zu", "ha", "kn", "ml", "te", "pa"),
)
JUDGES = (
    "gpt-4o/detailed",
    "\u062d\u0643\u0645",
    "gemini-pro/simple",
    *(f"judge-{n}/detailed" for n in range(17)),
)
CRITERIA = ("Linguistic acceptability", "Task quality", "Hallucinations")
SIZES = tuple(product((1, 5, 30), (1, 6, 20)))
WIDTHS = (1400, 390)


def written(folder: Path, languages: int, judges: int, sources: int = 40) -> Path:
    """The page of an audit of made ratings."""
    criteria = dict.fromkeys(CRITERIA, LIKERT)
    made = study(
        sources=sources,
        languages=LANGUAGES[:languages],
        generators=("g",),
        judges=JUDGES[:judges],
        criteria=criteria,
    )
    chosen = AuditSettings(resamples=100)
    result = audit(made, chosen)
    about = manifest(
        "audit", made, [Path("made")], chosen.to_dict(), result.judges, result.signature
    )
    AuditRun.of(result, made, about, result.compared, result.disagreements).write(
        folder, page, force=True
    )
    return folder / "report.html"


def main(folder: Path) -> None:
    """Every size, width and colour scheme."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for languages, judges in SIZES:
            path = written(folder / f"{languages}x{judges}", languages, judges)
            assert path.stat().st_size < 1_480_000, path
            for width, scheme in product(WIDTHS, ("light", "dark")):
                seen = Visit(
                    browser,
                    path,
                    folded=True,
                    color_scheme=scheme,
                    viewport={"width": width, "height": 900},
                )
                picture = folder / f"{languages}x{judges}-{width}-{scheme}.png"
                seen.page.screenshot(path=picture, full_page=True)
                seen.context.close()
                print(picture, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["runs/shots"]))
