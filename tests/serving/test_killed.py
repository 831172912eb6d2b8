"""The server is killed again and again while a crowd rates: nothing it acknowledged is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import select

import metal
from metal.data.dataset import load_dataset
from metal.serving import tables
from metal.serving.beside import AttendedWorker
from metal.serving.ledger import ServingLedger
from metal.serving.studies import Forms, study_of
from metal.serving.worker import KeepingWorker
from tests.serving.crowd import Crowd, check_promises
from tests.serving.postgres import Cluster
from tests.serving.web import LANGUAGES, ServedProcess, eventually, folder_with_demo

AT = (15, 45, 80)  # acknowledged answers after which the server is killed


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    folder = folder_with_demo(tmp_path)
    _, links = metal.study_new(
        folder / "demo", folder=folder, database=database, people=4, raters=3
    )
    server = ServedProcess(folder, database)
    crowd = Crowd(server.address, "demo", think=0.05)
    rating = threading.Thread(target=crowd.rate, args=([path for _, path in links],))
    rating.start()
    try:
        for number in AT:
            while len(crowd.acknowledged) < number and rating.is_alive():
                time.sleep(0.01)
            server.kill()
            server.start()
            if database:
                cluster: Cluster = request.getfixturevalue("postgres")
                cluster.cut(database.partition("@/")[2].partition("?")[0])
        rating.join()
    finally:
        crowd.over.set()
        server.kill()
    assert crowd.failures == []
    ledger = ServingLedger(folder, database)
    check_promises(ledger, crowd)
    assert len(crowd.acknowledged) == 36 * 3  # every output has its people
    answered = select(tables.tasks.c.answered)
    assert set(ledger.reads(lambda c: c.scalars(answered).all())) == {3}
    worker = KeepingWorker(ledger, folder)
    worker.forms = Forms(ledger)
    worker.look()
    data = load_dataset(folder / "demo")
    promised = sum(len(scores) for scores in crowd.acknowledged.values())
    assert len(data.ratings) == promised
    assert not data.ratings.duplicated(["output", "criterion", "rater"]).any()
    outputs = dict(
        ledger.reads(
            lambda c: c.execute(
                select(tables.tasks.c.task, tables.shown.c.content).join(tables.shown)
            ).all()
        )
    )
    rows = data.ratings.astype({"rater": str, "criterion": str, "output": str})
    imported = {
        (row.rater, row.output, row.criterion): row.score for row in rows.itertuples(index=False)
    }
    for (rater, task), scores in crowd.acknowledged.items():
        for criterion, score in scores.items():
            assert imported[rater, outputs[task]["output"], criterion] == float(score)
    assert study_of(ledger, "demo").languages == tuple(sorted(LANGUAGES))
    ledger.close()


def test_a_worker_ends_with_its_server_even_if_that_ended_first(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    command = [sys.executable, "-m", "metal.serving.worker", str(tmp_path), str(gone.pid)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_a_killed_worker_is_started_again_and_leaves_no_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metal.serving.beside.REST", 0.01)
    ServingLedger(tmp_path).close()
    worker = AttendedWorker("worker", tmp_path, "")
    first, scratch = worker.process, Path(worker.scratch)
    (scratch / "metal-metric-x").mkdir()
    (scratch / "metal-metric-x" / "texts").write_text("what a program wrote")
    first.kill()
    eventually(lambda: worker.process is not first and not scratch.exists())
    assert worker.process.poll() is None
    last = Path(worker.scratch)
    assert last.is_dir()
    worker.stop()
    assert not last.exists()
