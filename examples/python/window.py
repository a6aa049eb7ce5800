"""
Every rank has an array of its own, which the program has made. All ranks add
theirs up where they are: nothing is copied into the heap.

    python -m tessera -n 4 examples/python/window.py
"""
import tessera

array = tessera.pages((64, 1024))  # an array of NumPy, like any other
with tessera.init() as world, world.stream() as stream:
    array[:] = world.rank + 1
    with world.window(array) as x:
        stream.all_reduce(x, x)
        stream.sync()
    print(f"rank {world.rank} has {array.min():g} to {array.max():g}")
