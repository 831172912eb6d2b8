import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does: threads of small matrices only wait
os.environ["COLUMNS"] = "80"  # whatever the terminal is like

DEMO = Path(__file__).parent / "data" / "demo"  # a small dataset: ten languages, eight outputs each, three people
