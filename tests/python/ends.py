#!/usr/bin/env python3
"""
How worlds of Python begin and end: by a unique id, under torchrun's variables,
by exceptions, by ranks that are lost or late, with arrays that outlive the
world, and in a process that forks.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

# ---------------------------------------------------------------- what each rank runs


def tell(text):
    os.write(1, f"{text}\n".encode())


def outlive(tessera):
    """Arrays that live at the end of the world keep their memory."""
    with tessera.init() as world:
        array = world.full(1000, world.rank).numpy()
        if world.rank:
            array = None
        tensor = world.ones(3)
    for call in (world.barrier, tensor.numpy, tensor.free, world.stream, world.heap_usage):
        try:
            call()
        except tessera.errors.ArgumentError as error:
            assert "this world is closed" in str(error)
        else:
            raise AssertionError(f"{call} after the end")
    world.close()
    assert array is None or (array == 0).all()
    tell(f"{world}")


def twice(tessera):
    """One world after the other in one process."""
    for _ in range(3):
        with tessera.init() as world:
            world.ones(3).free()
    tell(f"{world}")


def raised(tessera):
    """An exception of one rank ends the others, by its sentence."""
    with tessera.init() as world, world.stream() as stream:
        x = world.ones(3)
        held = x.numpy()
        if world.rank == world.size - 1:
            raise ValueError(f"{len(held)} is not my number")
        stream.all_reduce(x, x)
        stream.sync()


def lost(tessera):
    """A rank that is gone, and one that is late."""
    world = tessera.init()
    try:
        if world.rank == 0 and sys.argv[2] == "gone":
            os._exit(3)
        elif world.rank != 0:
            world.barrier()
    except tessera.errors.WorldLostError as error:
        tell(f"{type(error).__name__}: {error}")
        tell(f"TimeoutError {isinstance(error, TimeoutError)}")
        tell(f"ConnectionError {isinstance(error, ConnectionError)}")
    finally:
        if world.rank == 0:
            __import__("time").sleep(4)


def forked(tessera):
    """A process that was forked is no rank; its parent goes on."""
    with tessera.init() as world, world.stream() as stream:
        x = world.ones(3)
        array = x.numpy()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert (array == 1).all()
                stream.all_reduce(x, x)
            except tessera.errors.ArgumentError as error:
                code = 0 if "belongs to the process that was forked" in str(error) else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        stream.all_reduce(x, x)
        stream.sync()
        assert (array == world.size).all()
    tell(f"{world}")


def differ(tessera):
    """Ranks pass different things to a collective: each is told, and nobody stores outside dst."""
    import numpy

    with tessera.init() as world, world.stream() as stream:
        extent, odd = 400, world.rank == world.size - 1
        x, y = world.ones((extent, extent)), world.full((extent, extent), -1)
        rows = y.numpy()
        first = extent // world.size * world.rank
        try:
            if sys.argv[2] == "dst":
                part = slice(first, first + extent // world.size)
                stream.all_to_all(rows[part], x.numpy()[:, part], 0, 1)
            elif sys.argv[2] == "op":
                stream.all_reduce(y, x, "max" if odd else "sum")
            elif sys.argv[2] == "root":
                stream.broadcast(y, x, int(odd))
            elif sys.argv[2] == "call":
                (stream.broadcast if odd else stream.all_reduce)(y, x)
            stream.sync()
        except tessera.errors.MismatchError as error:
            tell(f"untouched {numpy.all(rows == -1)}: {error}")
            raise


def by_id(tessera):
    """Started by hand."""
    rank, size, text = sys.argv[2:5]
    with tessera.init(int(rank), int(size), bytes.fromhex(text)) as world:
        assert world.team.gather_all(bytes([world.rank])) == [
            bytes([peer]) for peer in range(world.size)
        ]
        tell(f"{world}")


def new_id(tessera):
    made = tessera.unique_id()
    assert len(made) == 128 and made != tessera.unique_id()
    for arguments in ((0, 1), (0, 1, made[:4]), (0, ), (3, 2, made)):
        try:
            tessera.init(*arguments)
        except tessera.errors.ArgumentError as error:
            assert re.search("together|has 4 bytes|rank 3", str(error)), error
        else:
            raise AssertionError("invalid arguments")
    tell(made.hex())


# ---------------------------------------------------------------- and who starts them


def started(python, commands):
    """Exit codes and outputs of processes that run at the same time; a command is a program's
    arguments and its variables."""
    processes = [
        subprocess.Popen(
            [python, os.path.abspath(__file__), *arguments], text=True,
            env=python_ranks.environment(**more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for arguments, more in commands
    ]
    outputs = [process.communicate(timeout=python_ranks.LIMIT_S)[0] for process in processes]
    return [process.returncode for process in processes], "".join(outputs)


def try_by_hand(python):
    code, made = python_ranks.run([python, os.path.abspath(__file__), "new_id"])
    verdict(code == 0, "a unique id", made)
    if code == 0:
        commands = [(("by_id", str(rank), "3", made.strip()), {}) for rank in range(3)]
        codes, output = started(python, commands)
        verdict(not any(codes) and output.count(" of 3 ") == 3, "a world by its id", output)
    torchrun = {
        "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(os.getpid()), "TORCHELASTIC_RUN_ID": "none"
    }
    commands = [
        (("twice", ), {**torchrun, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(3)
    ]
    codes, output = started(python, commands)
    verdict(
        not any(codes) and output.count(" of 3 ") == 3, "worlds under torchrun's variables", output
    )


def main():
    python = python_ranks.usable("Python")
    if not python:
        return 0
    here = os.path.abspath(__file__)
    for body in (outlive, twice, forked):
        for ranks in (1, 3):
            code, output = python_ranks.in_world(python, ranks, here, body.__name__)
            verdict(
                code == 0 and output.count(f" of {ranks} ") == ranks,
                f"{body.__name__} on {ranks}", output
            )
    code, output = python_ranks.in_world(python, 3, here, "raised")
    sentence = "rank 2 ended by ValueError: 3 is not my number"
    verdict(
        code != 0 and output.count(f"AbortedError: {sentence}") == 2, "an exception ends all ranks",
        output
    )
    code, output = python_ranks.in_world(python, 2, here, "lost", "gone")
    verdict(
        re.search(r"PeerLostError: rank 0 .*\nTimeoutError False\nConnectionError True", output),
        "a rank that is gone", output
    )
    _, output = python_ranks.in_world(python, 2, here, "lost", "late", TESSERA_DEADLINE="1s")
    verdict(
        re.search(
            r"DeadlineError: .*rank 0.*\nTimeoutError True\nConnectionError False", output
        ), "a rank that is late", output
    )
    for what, value in (
        ("dst", r"with dst at '[^']*'\+\d+"), ("op", r"with TSR_REDUCE_\w+"),
        ("root", r"with root \d"), ("call", "")
    ):
        one = rf"rank \d calls tsr_stream_\w+ at \S*ends\.py:\d+ ?{value}"
        for ranks in (2, 4):
            code, output = python_ranks.in_world(python, ranks, here, "differ", what)
            verdict(
                code != 0 and
                len(re.findall(rf"untouched True: {one}, where {one}: ", output)) == ranks,
                f"ranks differ: {what}, {ranks} ranks", output
            )
    try_by_hand(python)
    return exit_code()


def rank_main():
    import tessera

    globals()[sys.argv[1]](tessera)


sys.exit(rank_main() if sys.argv[1:] else main())
