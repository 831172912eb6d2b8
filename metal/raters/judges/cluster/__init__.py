"""The Ray engine: the same questions, keys and journal lines as the local runner's, asked by actors on a cluster.

The driver writes what is still to be asked as Parquet shards (requests.py). Ray Data reads them where they lie, and
its async actors (asker.py) ask, each with the local runner's own attempts, reader and journal lines. One coordinator
(coordinator.py) on the driver's node keeps what there is only one of: a judge's rate, places and budget, and the
journals of the shards (shards.py), so that workers need no shared disk. engine.py puts these together.
"""
