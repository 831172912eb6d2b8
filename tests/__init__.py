import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does: threads of small matrices only wait
