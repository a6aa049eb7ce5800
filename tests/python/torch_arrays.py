#!/usr/bin/env python3
"""
The Python package with PyTorch on the emulator, started by torchrun: tensors on
the heap's memory both ways, collectives beside those of torch.distributed, and
lifetimes.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import python_ranks  # noqa: E402
from tap import exit_code, verdict  # noqa: E402

WORLDS = (2, 4)
DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
    "i32": "int32", "i8": "int8", "u8": "uint8"
}

# ---------------------------------------------------------------- what each rank runs


def both_ways(world, torch):
    for name, long in DTYPES.items():
        tensor = world.zeros((4, 6), getattr(torch, long))
        view = tensor.torch()
        assert tensor.dtype == name and str(view.dtype) == f"torch.{long}"
        assert view.data_ptr() == tensor.data and tuple(view.shape) == (4, 6)
        view.copy_(torch.arange(24).reshape(4, 6) + world.rank)
        assert tensor.read()[1, 2] == 8 + world.rank
        tensor.write([[5] * 6] * 4)
        assert (view == 5).all()
        assert torch.from_dlpack(tensor).data_ptr() == tensor.data
        for part in (view[1:3], view[:, 2:4], view.t(), view[::2], view.reshape(-1)):
            back = world.from_dlpack(part)
            assert back.data == part.data_ptr() and back.dtype == name
            assert back.shape == tuple(part.shape) and back.stride == part.stride()
            assert torch.equal(torch.from_dlpack(back), part)
    try:
        world.from_dlpack(torch.zeros(3))
    except world.errors.NotFoundError as error:
        assert "this Tensor lies outside the symmetric heap" in str(error)
    else:
        raise AssertionError("memory of PyTorch's own")


def collectives(world, torch):
    """In bf16, too, whose sums of few terms are exact here."""
    ours = torch.distributed
    with world.stream() as stream:
        for dtype in (torch.float32, torch.bfloat16, torch.int32):
            values = (torch.arange(12) % 5 + world.rank).reshape(4, 3)
            mine = world.empty((4, 3), dtype).torch()
            mine.copy_(values)
            whole = world.empty((4 * world.size, 3), dtype).torch()
            stream.all_gather(whole, mine)
            stream.all_reduce(mine, mine)
            stream.sync()
            expected = values.clone()
            ours.all_reduce(expected)
            assert torch.equal(mine, expected.to(dtype)), (mine, expected)
            parts = [torch.empty_like(values) for _ in range(world.size)]
            ours.all_gather(parts, values)
            assert torch.equal(whole, torch.cat(parts).to(dtype))


def empty_parts(world, torch):
    """More ranks than rows: PyTorch gives views without elements no address."""
    n, r = world.size, world.rank
    lo, hi = n // 2 * r // n, n // 2 * (r + 1) // n
    mine, other = (world.zeros((n // 2, 4)).torch() for _ in range(2))
    mine.fill_(r + 1)
    part = mine[lo:hi]
    assert world.from_dlpack(part).read().shape == (hi - lo, 4)
    world.from_dlpack(part).write([[r + 1] * 4] * (hi - lo) or torch.zeros(0, 4).numpy())
    scalar = mine[0, 0]  # no dimensions
    with world.stream() as stream:
        stream.all_gather(other, part)
        stream.sync()
        world.barrier()
        owner = [rank for rank in range(n) if n // 2 * rank // n < n // 2 * (rank + 1) // n]
        assert other[:, 0].tolist() == [rank + 1 for rank in owner]
        stream.reduce_scatter(part, other)
        stream.gather(other, part, root=1)
        stream.scatter(part, other, root=1)
        columns = 4 * (r + 1) // n - 4 * r // n
        stream.all_to_all(other[:, :columns], part, 1, 0)  # each begins at the same place
        stream.all_reduce(mine[:0], mine[:0])
        stream.sync()
        world.barrier()
        mine.fill_(1)
        world.barrier()
        stream.all_reduce(scalar, scalar)
        stream.sync()
        assert scalar.item() == n and mine.sum() == n + 4 * (n // 2) - 1
        world.barrier()


def negated(world, torch):
    """Views whose memory does not hold their values are refused, whatever was given before."""
    x = world.full((4, 2), world.rank + 1.0).torch()
    column = x[:, 1:]
    view = torch.view_as_complex(x).conj().imag.unsqueeze(1)
    assert view.is_neg() and view.data_ptr() == column.data_ptr()
    whole = world.zeros((4, 1)).torch()
    with world.stream() as stream:
        stream.all_reduce(whole, column)  # at the same address
        for call in (lambda: world.from_dlpack(view), lambda: stream.all_reduce(whole, view)):
            try:
                call()
            except world.errors.ArgumentError as error:
                assert "negates or conjugates" in str(error), error
            else:
                raise AssertionError("a view of other values is taken")
        stream.sync()
        column.copy_(view.resolve_neg())
        world.barrier()
        stream.all_reduce(whole, column)
        stream.sync()
        assert (whole == -sum(rank + 1 for rank in range(world.size))).all()


def lifetimes(world, torch):
    tensor = world.ones(100)
    held = tensor.torch()[3:] if world.rank == 0 else None
    try:
        tensor.free()
    except world.errors.InUseError as error:
        assert "(rank 0 has 1)" in str(error), error
    else:
        raise AssertionError("memory of an array is freed")
    assert held is None or held.sum() == 97
    del held
    tensor.free()
    graph = world.ones(3).torch().requires_grad_()
    (graph * 2).sum().backward()
    assert (graph.grad == 2).all()


BODIES = (both_ways, collectives, empty_parts, negated, lifetimes)

# ---------------------------------------------------------------- and who starts them


def launched(python, ranks, *program):
    """What torchrun starts. Its exit code and output."""
    return python_ranks.run(
        [
            python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks),
            *program
        ]
    )


def main():
    python = python_ranks.usable("PyTorch", "torch, numpy", "PyTorch: run ci/install-torch")
    if not python:
        return 0
    python_ranks.verdicts(python, WORLDS, __file__, BODIES, start=launched)
    example = os.path.join(python_ranks.ROOT, "examples", "python", "linear.py")
    code, output = launched(python, 4, example)
    verdict(
        code == 0 and output.count("of 4: (16, 96), off by ") == 4,
        "examples/python/linear.py on 4", output
    )
    return exit_code()


def rank_main():
    import torch
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    python_ranks.rank_main(BODIES, torch)
    torch.distributed.destroy_process_group()


sys.exit(rank_main() if sys.argv[1:] else main())
