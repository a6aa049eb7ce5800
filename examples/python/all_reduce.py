"""
Every rank adds up what all ranks have.

    python -m tessera -n 4 examples/python/all_reduce.py
"""
import tessera

with tessera.init() as world, world.stream() as stream:
    x = world.full(4, world.rank + 1)
    stream.all_reduce(x, x)
    stream.sync()
    print(f"rank {world.rank} has {x.read()}")
