"""`metal annotate export` and `html`: what is handed out, all or a part of it, to whom, and that it
tells nothing.
"""

from __future__ import annotations

import io
import json
import stat
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from metal.building.store import note_given, read_given, read_tasks
from metal.data.dataset import Dataset, load_dataset, save_dataset
from metal.genie.output_scores import sources_chosen
from tests.cli.conftest import SECRETS
from tests.cli.forks import Metal
from tests.cli.test_commands import words
from tests.saying import tells

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk", "crowd-csv")
OUTPUTS = 9  # chosen ones in the dataset; 3 a language


def given(people: Metal) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in (people.cwd / "mine/annotation/given.jsonl").read_text().splitlines()
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, workbooks unpacked."""
    result = {}
    for path in folder.rglob("*"):
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as book:
                result |= {f"{path.name}/{name}": book.read(name) for name in book.namelist()}
        elif path.is_file():
            result[path.name] = path.read_bytes()
    return result


@pytest.mark.parametrize("form", FORMS)
def test_nothing_tells_who_wrote_what(people: Metal, form: str) -> None:
    done = people("annotate", "export", "mine", "--to", form, "--out", "out")
    files = contents(people.cwd / "out")
    shown = {
        (name, secret)
        for name, content in files.items()
        for secret in SECRETS
        if secret.encode() in content
    }
    assert not shown
    assert not [secret for secret in SECRETS if any(secret in name for name in files)]
    # some writers of XML escape all but ASCII
    full = unescape(b"".join(files.values()).decode("utf-8", "ignore"))
    for output in load_dataset(people.cwd / "mine").outputs.values():
        # neither escaped nor cut
        plain = output.language != "en" and all(ord(char) < 0x10000 for char in output.text)
        assert not plain or output.text in full
    assert "Not chosen." not in full
    assert max(map(len, done.out.splitlines())) <= 80
    assert ("README.txt there" in done.out) == (form in ("label-studio", "mturk", "crowd-csv"))


def test_the_key_of_tasks_is_its_owners_alone(
    people: Metal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From before it is written."""
    modes, write = [], Path.write_text

    def write_text(path: Path, *rest: str, **more: str) -> int:
        if ".key." in path.name:
            modes.append(stat.S_IMODE(path.stat().st_mode))
        return write(path, *rest, **more)

    monkeypatch.setattr(Path, "write_text", write_text)
    note_given(people.cwd / "mine", [], "html", 0, "secret")
    assert [*modes, stat.S_IMODE((people.cwd / "mine/annotation/key").stat().st_mode)] == [
        0o600,
        0o600,
    ]


def test_three_people_a_language_rate_everything(people: Metal) -> None:
    people("annotate", "html", "mine")
    names = {path.name for path in (people.cwd / "runs/mine-html").iterdir()}
    assert names == {
        f"{language}-{n}.html" for language in ("ar", "en", "zh") for n in (1, 2, 3)
    } | {"run.toml"}
    tasks = read_tasks(people.cwd / "mine")
    assert len(tasks) == OUTPUTS
    assert Counter(
        task for each in read_given(people.cwd / "mine").values() for task in each.asked
    ) == dict.fromkeys(tasks, 3)
    run = tomllib.loads((people.cwd / "runs/mine-html/run.toml").read_text())
    assert run["settings"]["people_given"]["zh-3"] == 3


def test_html_is_export_to_html_and_another_seed_has_other_orders_and_the_same_ids(
    people: Metal,
) -> None:
    people("annotate", "html", "mine", "--out", "one", "--seed", "3")
    before = read_tasks(people.cwd / "mine")
    people("annotate", "export", "mine", "--to", "html", "--out", "two", "--seed", "3")
    assert contents(people.cwd / "one") == contents(people.cwd / "two")
    assert len(given(people)) == 9  # the same sheets again are not other sheets
    people("annotate", "html", "mine", "--out", "three", "--seed", "1")
    assert read_tasks(people.cwd / "mine") == before
    assert contents(people.cwd / "one")["en-1.html"] != contents(people.cwd / "three")["en-1.html"]


def test_more_people_share_the_work(people: Metal) -> None:
    done = people(
        "annotate",
        "export",
        "mine",
        "--to",
        "csv",
        "--raters",
        "2",
        "--people",
        "4",
        "--common",
        "1",
        "-l",
        "zh,en",
    )
    assert ["zh", "3", "zh-1", "to", "zh-4", "2"] in [
        line.split() for line in done.out.splitlines()
    ]
    own = [each for each in read_given(people.cwd / "mine").values() if each.language == "zh"]
    assert [each.rater for each in own] == ["zh-1", "zh-2", "zh-3", "zh-4"]
    assert sorted(Counter(task for each in own for task in each.asked).values()) == [2, 2, 4]
    assert {each.language for each in read_given(people.cwd / "mine").values()} == {"zh", "en"}


def test_some_criteria_only(people: Metal) -> None:
    done = people(
        "annotate", "export", "mine", "--to", "csv", "-c", "hallucinations", "--out", "out"
    )
    assert "Tasks for people: H\n" in done.out
    header = (people.cwd / "out/ar-1.csv").read_text("utf-8-sig").splitlines()[0]
    assert header == "task,rater,language,title,source,output,hallucinations,comment"
    assert {criteria for each in given(people) for criteria in each["criteria"]} == {
        "hallucinations"
    }  # type: ignore[attr-defined]


def test_what_cannot_be_asked_for(people: Metal) -> None:
    def refused(*more: str) -> str:
        return people.refused("annotate", "html", "mine", *more)

    assert tells(refused("--people", "2"), "--people 2", "--raters 3")
    assert "language 'sw' is not known; known: ar (Arabic), en (English), zh (Chinese)" in refused(
        "-l", "sw"
    )
    assert "criterion 'hallucination' is not known; did you mean 'hallucinations'" in refused(
        "-c", "hallucination"
    )
    assert "no such dataset folder" in people.refused("annotate", "html", "nowhere")
    assert not (people.cwd / "mine/annotation").exists()
    assert not (people.cwd / "runs").exists()


def test_a_folder_that_is_there(people: Metal) -> None:
    people("annotate", "html", "mine", "--out", "out")
    before = contents(people.cwd / "out")
    message = people.refused("annotate", "export", "mine", "--to", "csv", "--out", "out")
    assert "out exists; give another --out, or --force to replace it" in message
    assert contents(people.cwd / "out") == before
    people("annotate", "export", "mine", "--to", "csv", "--out", "out", "--force")
    assert "en-1.html" not in contents(people.cwd / "out")
    message = people.refused("annotate", "html", "mine", "--out", "mine", "--force")
    assert tells(message, "mine", "(annotation/given.jsonl)")
    assert len(load_dataset(people.cwd / "mine").outputs) == OUTPUTS + 1


def test_without_outputs(people: Metal) -> None:
    for name in ("outputs.jsonl", "raters.jsonl"):
        (people.cwd / "mine" / name).write_text("")
    (people.cwd / "mine/ratings.parquet").unlink()
    (people.cwd / "mine/ratings.csv").write_text("output,criterion,rater,score\n")
    assert tells(people.refused("annotate", "html", "mine"), "no outputs", "`metal generate`")


def changed(people: Metal, name: str, row: int, **fields: object) -> None:
    """A line of a file of the dataset with other values."""
    path = people.cwd / "mine" / name
    lines = path.read_text("utf-8").splitlines()
    lines[row] = json.dumps(json.loads(lines[row]) | fields, ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def test_outputs_without_text_are_counted(people: Metal) -> None:
    changed(people, "outputs.jsonl", 0, text=" ")
    changed(people, "sources.jsonl", 4, text="")
    done = people("annotate", "html", "mine")
    assert tells(done.said, "1 output not handed out", "no text")
    assert tells(done.said, "1 output", "without the source")
    assert len(read_tasks(people.cwd / "mine")) == OUTPUTS - 1
    message = people.refused(
        "annotate", "html", "mine", "--only", only(people, "xbadx-en-9"), "--out", "other"
    )
    assert tells(message, "no chosen output", "to rate in ")


def only(people: Metal, *outputs: str, head: str = "output,note") -> Path:
    path = people.cwd / "only.csv"
    path.write_text("\n".join([head, *(f"{output},x" for output in outputs)]) + "\n", "utf-8")
    return path


def test_only_some_outputs_go_to_new_people(people: Metal) -> None:
    people("annotate", "html", "mine", "--people", "4")
    done = people(
        "annotate",
        "export",
        "mine",
        "--to",
        "csv",
        "--only",
        only(people, "xgoodx-en-0", "xbadx-en-9"),
    )
    assert tells(done.said, "1 output", "not chosen")
    assert "en-5 to en-7" in done.out
    new = [each for name, each in read_given(people.cwd / "mine").items() if int(name[-1]) > 4]
    assert {read_tasks(people.cwd / "mine")[task] for each in new for task in each.asked} == {
        "xgoodx-en-0"
    }


def test_only_with_mistakes(people: Metal) -> None:
    def refused(path: Path) -> str:
        return people.refused("annotate", "html", "mine", "--only", path)

    assert "only.csv row 3: output 'o7' is not in this dataset" in refused(
        only(people, "xgoodx-en-0", "o7")
    )
    assert "(columns found: outputs, x)" in refused(only(people, head="outputs,x"))
    assert "(columns found: none)" in refused(only(people, head=""))


def test_ids_in_only_are_text(people: Metal) -> None:
    """As ambiguous.csv has them: guarded against formulas; and `007` and `NA` are ids like
    others.
    """
    for row, name in enumerate(("007", "-x", "NA", "'=q")):
        changed(people, "outputs.jsonl", row, output=name)
    (people.cwd / "mine/raters.jsonl").write_text("")
    (people.cwd / "mine/ratings.parquet").unlink()
    (people.cwd / "mine/ratings.csv").write_text("output,criterion,rater,score\n")
    people("annotate", "html", "mine", "--only", only(people, "007", "'-x", "NA", "'=q"))
    assert set(read_tasks(people.cwd / "mine").values()) == {"007", "-x", "NA", "'=q"}


def test_nobody_is_called_as_a_rater_from_elsewhere(people: Metal) -> None:
    """Ratings of another en-2 must not be taken for those of the en-2 who is given tasks now."""
    raters = people.cwd / "mine/raters.jsonl"
    raters.write_text(
        raters.read_text() + '{"rater": "en-2", "kind": "human", "group": "native"}\n'
    )
    assert "en-3 to en-5" in people("annotate", "html", "mine").out
    assert "en-3 to en-5" in people("annotate", "export", "mine", "--to", "csv").out


def test_rubrics_of_ones_own(people: Metal) -> None:
    folder = people.cwd / "own/criteria"
    folder.mkdir(parents=True)
    levels = "".join(
        f'[[levels]]\nvalue = {n}\nlabel = "{w}"\n' for n, w in enumerate(("Bad", "Medium", "Good"))
    )
    (folder / "task_quality.toml").write_text(f'simple = "Look at the <task>."\n{levels}')
    people("annotate", "export", "mine", "--to", "csv", "--prompts", "own", "--out", "out")
    assert "Look at the &lt;task&gt;." in (people.cwd / "out/guidelines.html").read_text("utf-8")


def asked(people: Metal, language: str = "") -> set[str]:
    """The outputs that were handed out."""
    tasks = read_tasks(people.cwd / "mine")
    own = read_given(people.cwd / "mine").values()
    return {
        tasks[task]
        for each in own
        for task in each.asked
        if not language or each.language == language
    }


def of(dataset: Dataset, generators: Iterable[str], sources: Iterable[str]) -> set[str]:
    result = dataset.outputs.values()
    return {
        each.output
        for each in result
        if each.chosen and each.generator in generators and each.source in sources
    }


def test_only_some_generators(people: Metal) -> None:
    people(
        "annotate",
        "export",
        "mine",
        "--to",
        "csv",
        "--generators",
        "generatorx-xbadx",
        "--out",
        "out",
    )
    own = load_dataset(people.cwd / "mine")
    assert asked(people) == of(own, ["generatorx-xbadx"], own.sources)
    run = tomllib.loads((people.cwd / "out/run.toml").read_text())
    assert run["settings"]["generators"] == ["generatorx-xbadx"]
    assert "sample" not in run["settings"]


def test_several_generators_and_names_with_commas(people: Metal) -> None:
    own = load_dataset(people.cwd / "mine")
    outputs = {
        name: replace(each, generator=each.generator.replace("-", ", "))
        for name, each in own.outputs.items()
    }
    save_dataset(replace(own, outputs=outputs), people.cwd / "mine", force=True)
    people("annotate", "html", "mine", "-g", "generatorx, xbadx", "--out", "one")
    assert len(asked(people)) == 3
    people(
        "annotate",
        "html",
        "mine",
        "-g",
        "generatorx, xbadx",
        "-g",
        "generatorx, xgoodx",
        "--out",
        "two",
    )
    assert len(asked(people)) == 9


def test_a_sample_is_the_leaderboards(people: Metal) -> None:
    people("annotate", "html", "mine", "--sample", "1", "--seed", "4", "--out", "one")
    own = load_dataset(people.cwd / "mine")
    chosen = sources_chosen(own.sources.values(), 1, 4)
    assert asked(people) == of(own, [each.generator for each in own.outputs.values()], chosen)
    assert tomllib.loads((people.cwd / "one/run.toml").read_text())["settings"]["sample"] == 1
    people("annotate", "html", "mine", "--sample", "2", "--seed", "4", "--out", "two")
    assert len(asked(people, "en")) == 2  # the first of them again, and one more


def test_a_part_that_is_not_there(people: Metal) -> None:
    text = people.refused("annotate", "html", "mine", "-g", "generatorx-bad")
    assert "generator 'generatorx-bad' is not known; did you mean 'generatorx-xbadx'" in words(text)
    chosen = ("--sample", "1", "--seed", "1", "-g", "generatorx-xbadx")
    own = load_dataset(people.cwd / "mine")
    present = of(own, ["generatorx-xbadx"], sources_chosen(own.sources.values(), 1, 1))
    empty = [
        each
        for each in own.languages
        if not any(own.outputs[name].language == each for name in present)
    ]
    text = people.refused("annotate", "html", "mine", *chosen, "-l", empty[0])
    assert tells(words(text), "mine:", "generatorx-xbadx", "in the sample")
    assert not (people.cwd / "runs").exists()
