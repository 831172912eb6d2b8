import os
from pathlib import Path

# as the command line does: threads of small matrices only wait
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["COLUMNS"] = "80"  # whatever the terminal is like
# No test asks a server that shows a certificate: a client is spared to read all that browsers
# trust, 20 ms each time.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "data" / "certificate.pem")

# a small dataset: ten languages, eight outputs each, three people
DEMO = Path(__file__).parent / "data" / "demo"
ROOT = Path(__file__).parent.parent
