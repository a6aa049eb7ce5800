"""
A tensor of PyTorch that Tessera reduces where it is, on CUDA: its memory comes
from a pool whose memory other processes can map.

    torchrun --nproc-per-node 2 tests/python/torch_window.py
"""
import torch

import tessera

with tessera.init() as world:
    torch.cuda.set_device(world.device().ordinal)
    pool = tessera.torch_pool()  # of this device; keep it as long as its tensors
    with torch.cuda.use_mem_pool(pool):
        gradients = torch.full((1000, 1000), world.rank + 1.0, device="cuda")
    native = torch.cuda.current_stream()
    with world.window(gradients) as x, world.stream(native=native) as stream:
        stream.all_reduce(x, x)  # every rank, with a tensor of the same size
        gradients /= world.size
    print(f"rank {world.rank} has {gradients.min():g} to {gradients.max():g}")
