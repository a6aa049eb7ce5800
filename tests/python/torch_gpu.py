#!/usr/bin/env python3
"""
The Python package with PyTorch on GPUs: tensors on the heap's memory both ways,
collectives and products on PyTorch's stream, beside torch.distributed; and what
a call costs on the host. Needs PyTorch with CUDA or ROCm, and TSR_LIBRARY.

    python3 -m tessera -n 2 tests/python/torch_gpu.py
"""
import os
import sys
import time

import torch
import torch.distributed as dist

import tessera

KINDS = ("gemm-all-scatter", "all-gather-gemm", "gemm-reduce-scatter", "gemm-all-reduce")
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8")
M, N, K = 264, 200, 328  # products of integers, exact in f32
CALLS = 300


def both_ways(world, stream):
    for name in DTYPES:
        tensor = world.zeros((4, 6), getattr(torch, name))
        view = tensor.torch()
        assert view.is_cuda and view.data_ptr() == tensor.data and str(view.dtype)[6:] == name
        view.copy_(torch.arange(24).reshape(4, 6) + world.rank)
        torch.cuda.current_stream().synchronize()
        assert tensor.read()[1, 2] == 8 + world.rank
        for part in (view[1:3], view[:, 2:4], view.t(), view[::2], view.reshape(-1)):
            back = world.from_dlpack(part)
            assert back.data == part.data_ptr() and back.stride == part.stride()
    try:
        world.from_dlpack(torch.zeros(3, device="cuda"))
    except tessera.errors.NotFoundError as error:
        assert "outside the symmetric heap" in str(error), error
    else:
        raise AssertionError("memory of PyTorch's own")
    stream.sync()


def collectives(world, stream):
    """No host waits between PyTorch's kernels and the collectives: they are on one stream."""
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        values = (torch.arange(12) % 5 + world.rank).reshape(4, 3)
        mine = world.empty((4, 3), dtype).torch()
        whole = world.empty((4 * world.size, 3), dtype).torch()
        mine.copy_(values, non_blocking=True)
        stream.all_gather(whole, mine)
        stream.all_reduce(mine, mine)
        mine.mul_(2)
        expected, parts = values.clone(), [torch.empty_like(values) for _ in range(world.size)]
        dist.all_reduce(expected)
        dist.all_gather(parts, values)
        assert torch.equal(mine.cpu(), (2 * expected).to(dtype)), mine
        assert torch.equal(whole.cpu(), torch.cat(parts).to(dtype)), whole


def given(part, rank, salt):
    """My part of a matrix, of small integers."""
    source = torch.Generator().manual_seed(1000 * rank + salt)
    return torch.randint(-3, 4, (part.part_rows, part.part_cols), generator=source)


def whole_of(part, block):
    """The matrix of which every rank has a part."""
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, (part.first_row, part.first_col, block))
    whole = torch.zeros((part.rows, part.cols), dtype=torch.float64)
    for row, col, held in parts:
        whole[row:row + held.shape[0], col:col + held.shape[1]] = held.double()
    return whole


def mine_of(part, memory):
    """My part of the memory that a product has for a matrix."""
    if not part.in_place:
        return memory
    rows = slice(part.first_row, part.first_row + part.part_rows)
    return memory[rows, part.first_col:part.first_col + part.part_cols]


def products(world, stream):
    for kind in KINDS:
        product = world.product(kind, M, N, K, torch.float32)
        operands = {}
        for salt, name in enumerate("ab"):
            part = product.part(name)
            memory = getattr(product, name).torch()
            memory.fill_(7)  # what a product may not read, or has to fetch
            block = given(part, world.rank if part.part_rows * part.part_cols < part.rows *
                          part.cols else 0, salt)
            mine_of(part, memory).copy_(block)
            operands[name] = whole_of(part, block)
        c = product.c.torch()
        c.fill_(-1)
        torch.cuda.current_stream().synchronize()
        world.barrier()  # peers' memory is written from here on
        product(stream)
        part = product.part("c")
        expected = (operands["a"] @ operands["b"])[part.first_row:, part.first_col:]
        mine = mine_of(part, c).cpu().double()
        assert torch.equal(mine, expected[:mine.shape[0], :mine.shape[1]]), f"{kind}: wrong"
        del memory, c
        product.close()


def windows(world, stream):
    """Tensors of a pool are reduced where they are, by kernels of all ranks, and stay PyTorch's."""
    assert not torch.version.hip, "AMD's GPUs have no windows"
    pool = tessera.torch_pool()
    with torch.cuda.use_mem_pool(pool):
        mine = torch.empty((1000, 333), device="cuda")  # the first of the pool
    values = torch.arange(mine.numel(), device="cuda").reshape(mine.shape) % 1001
    for turn in range(2):
        mine.copy_(values + world.rank + turn)
        with world.window(mine, "activations") as window:
            seen = window.torch()
            assert seen.data_ptr() != mine.data_ptr() and torch.equal(seen, mine)
            stream.all_reduce(window, window)
            whole = world.empty((1000 * world.size, 333)).torch()
            stream.all_gather(whole, window)
            expected = world.size * (values + turn) + world.size * (world.size - 1) // 2
            assert torch.equal(mine, expected.float()), f"turn {turn}"
            assert torch.equal(whole, expected.float().repeat(world.size, 1)), f"turn {turn}"
            mine.add_(1)  # both ways
            assert torch.equal(seen, mine)
            del seen, whole
        assert torch.equal(mine, expected.float() + 1)
    product_in_windows(world, stream)
    for tensor in (torch.zeros(1 << 22, device="cuda"), mine[500:]):  # PyTorch's own; not the begin
        try:
            world.window(tensor)
        except tessera.errors.ArgumentError as error:
            assert "tessera.torch_pool" in str(error), error
        else:
            raise AssertionError("a window on memory that peers cannot map")


def product_in_windows(world, stream):
    """GEMM + all-reduce whose operands are tensors of PyTorch's, each in a window."""
    pools = [tessera.torch_pool() for _ in "ab"]
    tensors = []
    product = world.product("gemm-all-reduce", M, N, K, torch.bfloat16, given="ab")
    for salt, (name, pool) in enumerate(zip("ab", pools)):
        part = product.part(name)
        with torch.cuda.use_mem_pool(pool):
            tensors.append(torch.empty((part.part_rows, part.part_cols), dtype=torch.bfloat16,
                                       device="cuda"))
        tensors[-1].copy_(given(part, world.rank, salt))
    expected = (tensors[0].cpu().double() @ tensors[1].cpu().double())
    dist.all_reduce(expected)
    windows_of = [world.window(tensor, name) for tensor, name in zip(tensors, "ab")]
    torch.cuda.current_stream().synchronize()
    world.barrier()
    product(stream, a=windows_of[0], b=windows_of[1])
    found = product.c.torch().cpu().double()
    close = (found - expected).abs() <= expected.abs() / 64 + 1
    assert close.all(), "the product in windows is wrong"
    product.close()
    for window in windows_of:
        window.free()


def host_us(call):
    """Microseconds of the host for a call, when the stream is not full."""
    best = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS // 5):
            call()
        best.append((time.perf_counter() - begin) / (CALLS // 5) * 1e6)
    torch.cuda.synchronize()
    return sorted(best)[len(best) // 2]


def overhead(world, stream):
    """Of one rank: others would have to keep up."""
    if world.size > 1:
        return
    product = world.product("gemm-all-scatter", M, N, K, torch.float32)
    x = world.ones(64).torch()
    a, b = (torch.ones((256, 256), device="cuda") for _ in range(2))
    print(
        f"microseconds of the host a call: product {host_us(lambda: product(stream)):.1f}, "
        f"all_reduce {host_us(lambda: stream.all_reduce(x, x)):.1f}, "
        f"torch.matmul {host_us(lambda: torch.matmul(a, b)):.1f}"
    )


def main():
    with tessera.init() as world:
        store = dist.FileStore(f"/tmp/tessera-torch-gpu-{os.getppid()}", world.size)
        dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size)
        torch.cuda.set_device(world.empty(1).torch().device)
        native = torch.cuda.Stream()
        with world.stream(native=native) as stream, torch.cuda.stream(native):
            for body in (both_ways, collectives, products, windows, overhead):
                body(world, stream)
                world.barrier()
                print(f"rank {world.rank}: done {body.__name__}", flush=True)
        dist.destroy_process_group()


sys.exit(main())
