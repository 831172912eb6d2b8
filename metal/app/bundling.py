"""The pages of a bundle: what the app shows, as linked files that need no server."""

from __future__ import annotations

import html
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import numpy as np

from metal.api.answer_table import Choice, RunAnswers
from metal.api.answers import rows_of
from metal.api.folders import NOUNS, Folder
from metal.app import answers_page, start
from metal.app.answer_list import content_of
from metal.app.drawing import page_of_run
from metal.app.library import Library
from metal.app.opening import answers_of
from metal.app.outputs import Shown, of_disagreements, of_judges
from metal.app.sharing import Sharing
from metal.app.templating import rendered, static
from metal.data.dataset_lines import read_raters
from metal.data.files import read_toml
from metal.data.languages import language_name
from metal.data.text import count, slug
from metal.errors import MetalError
from metal.runs.judges_run import COMMANDS
from metal.runs.kinds import is_kind, kind_of
from metal.runs.parts import read_lines
from metal.show.pages import Links
from metal.show.replies import about_answer

if TYPE_CHECKING:
    import pandas as pd

FIRST_ROWS, MOST_ROWS = 50, 1000  # of a list: at least listed, and listed if they have a page
AT_ONCE = 200  # outputs whose texts are in memory
INDEX = "index.html"
FILES = {"app.css": "app.css", "bundle.js": "bundle.js"}
LINK = re.compile(r'<a\b[^>]*?\shref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
ALL = "all languages"
Address = tuple[str, str]  # a path below `base`, and the language or the output that it is about


def address_of(link: str) -> Address:
    """The address that a link of the app leads to. Only the language and an output's number are
    kept from its query.
    """
    parts = urlsplit(link)
    query = parse_qs(parts.query)
    wanted = {"answers": "language", "output": "output"}.get(parts.path.split("/")[1], "")
    return unquote(parts.path), query.get(wanted, [""])[0]


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A file name for each text. No two names are the same, even if case is ignored."""
    names: dict[str, str] = {}
    taken = set[str]()
    for text in texts:
        plain, number = slug(text), 1
        name = plain
        while name.casefold() in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name.casefold())
        names[text] = name
    return names


@dataclass
class Bundling:
    """The pages of a folder's datasets and runs, written one after another.

    site: the folder to write to. of_cell: how many outputs of each language and criterion have a
    page, those with the largest differences; 0 for all. files: the file of each address that has a
    page. left_out: why a run has no page, by its key. cut: how many outputs are listed without one.
    """

    library: Library
    site: Path
    hide_texts: bool
    of_cell: int
    files: dict[Address, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    base: str = field(default_factory=lambda: f"/{secrets.token_hex(16)}")
    sharing: Sharing = field(init=False)

    def __post_init__(self) -> None:
        self.sharing = Sharing.of(self.library.root, self.hide_texts)

    def write(self, progress: Callable[[int, int], None]) -> None:
        """Write all pages. Each run is done before the next is opened."""
        folders = self.library.folders()
        self.files[("/", "")] = INDEX
        for file in FILES:
            self._save(file, static(file))
            self.files[(f"/static/{file}", "")] = file
        keys = file_names(folders)
        for done, (key, folder) in enumerate(folders.items()):
            progress(done, len(folders) + 1)
            try:
                self._write_folder(key, folder, keys[key])
            except (MetalError, OSError) as error:
                self._leave_out(key, keys[key], str(error))
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                problem = f"its files do not fit together ({type(error).__name__})"
                self._leave_out(key, keys[key], problem)
        listed = [(key, self._as_listed(folder)) for key, folder in folders.items()]
        content = start.content_of(self.library, listed) | {"notes": self.notes}
        self._render(INDEX, "start.html", content, self.sharing)
        progress(1, 1)

    @property
    def outputs(self) -> int:
        """How many outputs have a page."""
        return sum(path.startswith("/output/") for path, _ in self.files)

    @property
    def notes(self) -> list[str]:
        """What the bundle does not have, in sentences."""
        notes = []
        if self.hide_texts:
            notes.append("Texts, comments, messages and replies are left out of all pages.")
        if self.cut:
            notes.append(
                f"{count(self.cut)} outputs are listed without a page of their own. At most "
                f"{count(self.of_cell)} of each language and criterion have one: those with the "
                "largest differences."
            )
        notes += [f"{key} has no page: {why}" for key, why in self.left_out.items()]
        return notes

    def _leave_out(self, key: str, name: str, why: str) -> None:
        """Note why a run has no page, and remove those that were written."""
        self.left_out[key] = self.sharing.text(why)
        shutil.rmtree(self.site / name, ignore_errors=True)
        for address, file in [*self.files.items()]:
            if file.startswith(f"{name}/"):
                del self.files[address]

    def _as_listed(self, folder: Folder) -> Folder:
        """A folder as the index shows it. The reason why a folder cannot be read is cleaned,
        because it may quote its files.
        """
        if self.hide_texts and folder.state == "damaged":
            return replace(folder, answer="cannot be read")
        return folder

    def _write_folder(self, key: str, folder: Folder, name: str) -> None:
        if folder.kind == "dataset":
            self.files[(f"/dataset/{key}", "")] = file = f"{name}/{INDEX}"
            content = {"nouns": NOUNS, "key": key, "folder": self._as_listed(folder), "path": ""}
            self._render(file, "dataset.html", content, self.sharing)
            return
        path = self.library.path(key)
        if not is_kind(folder.kind) and folder.kind not in COMMANDS:
            self.left_out[key] = f"a folder of `metal {folder.kind}` has none"
            return
        sharing = self._sharing_of(path)
        pages = {"All datasets and runs": f"{self.base}/"}
        if folder.kind == "audit" or not is_kind(folder.kind):
            self._write_answers(key, path, name, sharing)
            pages["Answers"] = f"{self.base}/answers/{quote(key)}"
        if is_kind(folder.kind):
            self._write_run(key, path, name, sharing, Links(pages))

    def _sharing_of(self, path: Path) -> Sharing:
        """What of a run is kept from others."""
        contents: list[Any] = [read_toml(path / "run.toml")]
        if (path / "raters.jsonl").is_file():
            contents.append([rater.about for rater in read_raters(path)])
        if (path / "warnings.txt").is_file():
            contents.append(read_lines(path / "warnings.txt", "report"))
        return self.sharing.also_of(*contents)

    def _write_run(self, key: str, path: Path, name: str, sharing: Sharing, links: Links) -> None:
        kind = self.library.folder(key).kind
        if self.hide_texts and not kind_of(kind).run.startswith("metal."):
            self.left_out[key] = f"pages of `metal {kind}`, of another package, may show texts"
            return
        page = page_of_run(self.library, path, links, sharing)
        self.files[(f"/run/{key}", "")] = file = f"{name}/{INDEX}"
        self._save(file, self._linked(sharing.page(page), file))

    def _write_answers(self, key: str, path: Path, name: str, sharing: Sharing) -> None:
        """The lists of a run's outputs, one of each language, and the pages of outputs."""
        answers = answers_of(self.library, path)
        languages = ["", *answers.languages] if len(answers.languages) > 1 else [""]
        own = file_names(languages[1:])
        lists = {code: answers.chosen(Choice(code)) for code in languages}
        for code in languages:
            file = f"{name}/answers-{own[code]}.html" if code else f"{name}/answers.html"
            self.files[(f"/answers/{key}", code)] = file
        if len(languages) == 1:
            self.files |= {
                (f"/answers/{key}", code): f"{name}/answers.html" for code in answers.languages
            }
        if not is_kind(self.library.folder(key).kind):
            self.files[(f"/run/{key}", "")] = f"{name}/answers.html"
        every = lists[""].drop_duplicates("output")
        order = every
        if self.of_cell:
            cells = lists[""].groupby(["language", "criterion"], sort=False, observed=True)
            order = every[every["output"].isin(cells.head(self.of_cell)["output"])]
        self.cut += len(every) - len(order)
        ids = order["output"].astype(str).tolist()
        pages = file_names(ids)
        for output in ids:
            self.files[(f"/output/{key}", output)] = f"{name}/outputs/{pages[output]}.html"
        for code, chosen in lists.items():
            first = np.arange(len(chosen)) < FIRST_ROWS
            rows = chosen[first | chosen["output"].isin(order["output"])].head(MOST_ROWS)
            self._write_list(key, answers, Choice(code), rows, len(chosen), sharing)
        self._write_outputs(key, path, answers, order, Choice(), sharing)

    def _write_list(
        self,
        key: str,
        answers: RunAnswers,
        choice: Choice,
        rows: pd.DataFrame,
        total: int,
        sharing: Sharing,
    ) -> None:
        left = total - len(rows)
        named = [(code, language_name(code)) for code in answers.languages]
        more = f"{count(left)} more are not listed here." if left else ""
        content = {
            **content_of(answers, choice, rows, with_texts=not self.hide_texts),
            "key": key,
            "total": total,
            "page": 1,
            "pages": 1,
            "title": self.library.path(key).name,
            "has_verdicts": False,
            "only_differing": self.library.folder(key).kind == "audit",
            "datasets": (),
            "lists": [("", ALL), *named] if len(named) > 1 else [],
            "said": more,
        }
        self._render(
            self.files[(f"/answers/{key}", choice.language)], "answers.html", content, sharing
        )

    def _write_outputs(
        self,
        key: str,
        path: Path,
        answers: RunAnswers,
        order: pd.DataFrame,
        choice: Choice,
        sharing: Sharing,
    ) -> None:
        names = order["output"].astype(str).tolist()
        beside = [*zip(names, order["criterion"].astype(str), strict=True)]
        for position, shown in self._each_shown(key, path, answers, names):
            before, after = answers_page.beside_of(beside, position)
            content = {
                "key": key,
                "title": path.name,
                "choice": choice,
                "query": choice.to_dict(),
                "earlier": "",
                "changes": (),
                "position": position,
                "total": len(beside),
                "before": before,
                "after": after,
                "shown": sharing.of_output(shown),
                "of": beside[position][1],
                "about": about_answer,
            }
            file = self.files[(f"/output/{key}", shown.output)]
            self._render(file, "output.html", content, sharing)

    def _each_shown(
        self, key: str, path: Path, answers: RunAnswers, names: Sequence[str]
    ) -> Iterator[tuple[int, Shown]]:
        """Each output with its position among the names.

        Those of an audit come as they lie in its file, so that it is read once, and never all of it
        is in memory.
        """
        if not is_kind(self.library.folder(key).kind):
            for position, output in enumerate(names):
                yield position, of_judges(self.library, path, output)
            return
        numbers: dict[str, list[int]] = {output: [] for output in names}
        outputs = answers.items["output"].astype(str)
        for number in outputs.index[outputs.isin(names)].tolist():
            numbers[outputs[number]].append(number)
        positions = {output: position for position, output in enumerate(names)}
        in_file = sorted(names, key=lambda output: numbers[output][0])
        for first in range(0, len(in_file), AT_ONCE):
            part = in_file[first : first + AT_ONCE]
            wanted = sorted(number for output in part for number in numbers[output])
            rows = dict(zip(wanted, rows_of(path, wanted), strict=True))
            for output in part:
                own = [rows[number] for number in numbers[output]]
                shown = of_disagreements(self.library, path, output, own, answers.by_name)
                yield positions[output], shown

    def _render(
        self, file: str, template: str, content: Mapping[str, Any], sharing: Sharing
    ) -> None:
        page = rendered(template, self.base, {**content, "static": True})
        self._save(file, self._linked(sharing.text(page), file))

    def _linked(self, page: str, file: str) -> str:
        """A page whose links lead to files; a link that leads to no file becomes plain text."""
        up = "../" * file.count("/")

        def linked(match: re.Match[str]) -> str:
            target = self._target(match[1])
            if target is None:
                return match[2]
            link = target if target == match[1] else up + target
            return match.group().replace(match[1], link, 1)

        page = LINK.sub(linked, page)
        for name in FILES:
            page = page.replace(f'"{self.base}/static/{name}"', f'"{up}{name}"')
        return page

    def _target(self, link: str) -> str | None:
        """The file of a link; None if it has none. A link that is not the app's stays as it is."""
        if not link.startswith(f"{self.base}/"):
            return link
        file = self.files.get(address_of(html.unescape(link).removeprefix(self.base)))
        return file and quote(file)

    def _save(self, file: str, text: str) -> None:
        path = self.site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
