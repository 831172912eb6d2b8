"""Forms that people fill in, one file a kind. Bytes in and out: nothing here opens a file.

A form has `write(sheets) -> Iterator[(file name, content)]`, which gives the files to hand out, guidelines included,
and `read(name, content, criteria) -> list[Answer]`, which takes a file that came back: scores as they stand there,
to be checked by metal.build.answers. To add a form, write its file and add its line to FORMS.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A kind of form: its name on the command line, its module, what it gives."""

    name: str
    module: str
    summary: str


FORMS = (
    Form("html", "html_form", "one page a person, works offline; answers are saved as a file"),
    Form("csv", "csv_sheet", "one CSV file a person, with guidelines beside"),
    Form("xlsx", "xlsx_sheet", "one workbook a person, with drop-down lists and guidelines"),
    Form("label-studio", "label_studio", "tasks and labelling interface for Label Studio"),
    Form("mturk", "mturk", "input CSV and page layout for Mechanical Turk"),
)
