"""The Ray engine: actors on a cluster ask the same questions under the same keys as the local
engine.

The driver writes the open questions as shards (shards.py). Ray Data reads them on the driver's
node, and its async actors (asker.py) ask them with the local engine's attempts, reply parser and
journal records. One coordinator (coordinator.py) on the driver's node keeps everything that must
exist only once: a judge's rate, its places and budget (leases.py), and the journals of the shards.
So workers need no shared disk. engine.py connects these parts.
"""
