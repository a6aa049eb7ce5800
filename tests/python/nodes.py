#!/usr/bin/env python3
"""
The Python package in worlds over several emulated nodes: who is where, the
teams of a node and across nodes, collectives and products.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

WORLDS = ((2, 2), (3, 2), (5, 3), (2, 1))  # ranks and nodes


# ---------------------------------------------------------------- what each rank runs


def places(ranks, nodes):
    """The node of each rank: the first nodes have one rank more where the numbers do not divide."""
    each, rest = divmod(ranks, nodes)
    return [node for node in range(nodes) for _ in range(each + (node < rest))]


def who_is_where(world, nodes):
    wanted = places(world.size, nodes)
    assert world.nodes == nodes and world.node == wanted[world.rank]
    assert [world.node_of(rank) for rank in range(world.size)] == wanted
    assert world.node_of(-1) == world.node_of(world.size) == -1


def members(team):
    return [team.world_rank(rank) for rank in range(team.size)]


def teams(world, nodes):
    wanted = places(world.size, nodes)
    mine = [rank for rank in range(world.size) if wanted[rank] == world.node]
    number = mine.index(world.rank)
    peers = [
        [rank for rank in range(world.size) if wanted[rank] == node] for node in range(nodes)
    ]
    opposite = [ranks[number] for ranks in peers if len(ranks) > number]
    node, across = world.team.split_node()
    assert (node.name, across.name) == ("node", "across")
    assert members(node) == mine and node.rank == number
    assert members(across) == opposite and across.world_rank(across.rank) == world.rank
    for team, ranks in ((node, mine), (across, opposite)):
        state = world.collective_state(world.size)
        x = world.full(3, world.rank + 1, "f64")
        with team.stream(state) as stream:
            stream.all_reduce(x, x)
            stream.sync()
        assert (x.read() == sum(ranks) + len(ranks)).all(), (team, x.read())
        x.free()
        state.free()
    node.destroy()
    across.destroy()


def product(world, nodes):
    """By nodes where there are several: the plan chooses bulk-synchronous there."""
    import numpy

    a, b = numpy.arange(33 * 20) % 5 - 2, numpy.arange(20 * 17) % 7 - 3
    a, b = a.reshape(33, 20), b.reshape(20, 17)
    with world.stream() as stream, world.product("gemm-all-reduce", 33, 17, 20, "f32") as whole:
        assert (whole.pattern == "bulk-synchronous") == (nodes > 1), whole.pattern
        for letter, values in (("a", a), ("b", b)):
            part = whole.part(letter)
            rows = slice(part.first_row, part.first_row + part.part_rows)
            cols = slice(part.first_col, part.first_col + part.part_cols)
            getattr(whole, letter).write(values[rows, cols])
        world.barrier()
        whole(stream)
        stream.sync()
        assert numpy.array_equal(whole.c.read(), a @ b)


BODIES = (who_is_where, teams, product)


# ---------------------------------------------------------------- worlds


def main():
    python, build = python_ranks.interpreter_with("numpy"), os.environ["BUILD"]
    why = None
    if not python:
        why = "no NumPy: run ci/install-deps"
    elif not os.path.exists(os.path.join(build, "libtessera.so")):
        why = "this variant has no shared library"
    elif not os.path.exists(os.path.join(build, "plugins", "libtessera-net-ucx.so")):
        why = "no UCX: nothing carries messages between nodes"
    if why:
        print(f"ok - Python on several nodes # skip {why}")
        return 0
    for ranks, nodes in WORLDS:
        code, output = python_ranks.run(
            [
                python, "-m", "tessera", "-n", str(ranks), "--nodes", str(nodes),
                os.path.abspath(__file__), str(nodes)
            ]
        )
        for body in BODIES:
            done = output.count(f"done {body.__name__}\n")
            verdict(done == ranks, f"{body.__name__}, {ranks} ranks, nodes: {nodes}", "see below")
        verdict(code == 0, f"all of {ranks} ranks end well, nodes: {nodes}", output)
    return exit_code()


def rank_main(nodes):
    import tessera

    with tessera.init() as world:
        for body in BODIES:
            body(world, nodes)
            os.write(1, f"done {body.__name__}\n".encode())


sys.exit(rank_main(int(sys.argv[1])) if sys.argv[1:] else main())
