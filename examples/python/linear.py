"""
Two linear layers of a network whose ranks divide activations by tokens and
weights by features, as tensor parallelism with sequence parallelism does:

    hidden = relu(x @ up)    gathers the tokens of all ranks: all-gather + GEMM
    y      = hidden @ down   sums over all ranks: GEMM + reduce-scatter

torch.distributed computes the same, to compare with.

    torchrun --nproc-per-node 4 examples/python/linear.py
"""
import sys

import torch
import torch.distributed as dist

import tessera

FEATURES, TOKENS_EACH, HIDDEN_EACH = 96, 16, 40


def by_torch(x, up, down):
    """The same with the collectives of torch.distributed, in f32."""
    tokens = [torch.empty(x.shape) for _ in range(dist.get_world_size())]
    dist.all_gather(tokens, x.float().cpu())
    y = torch.relu(torch.cat(tokens) @ up.float().cpu()) @ down.float().cpu()
    dist.all_reduce(y)
    return y.chunk(dist.get_world_size())[dist.get_rank()]


def stream_of(world):
    """One on which PyTorch works, too, if there is a GPU."""
    device = world.empty(1).torch().device
    if device.type == "cpu":
        return world.stream()
    devices = getattr(torch, device.type)
    devices.set_device(device)
    devices.set_stream(devices.Stream())
    return world.stream(native=devices.current_stream())


def main():
    dist.init_process_group("gloo")
    with tessera.init() as world, stream_of(world) as stream:
        torch.manual_seed(world.rank)
        dtype = torch.bfloat16 if "--bf16" in sys.argv else torch.float32
        tokens, hidden = TOKENS_EACH * world.size, HIDDEN_EACH * world.size
        gather = world.product("all-gather-gemm", tokens, hidden, FEATURES, dtype)
        # Its A is what the first layer makes.
        scatter = world.product("gemm-reduce-scatter", tokens, FEATURES, hidden, dtype, given="a")

        # The operand that is gathered has room for all tokens; mine are in their place in it.
        first = gather.part("a").first_row
        x = gather.a.torch()[first:first + TOKENS_EACH]
        up, down = gather.b.torch(), scatter.b.torch()
        for values, scale in ((x, 1), (up, FEATURES**-0.5), (down, hidden**-0.5)):
            values.copy_(scale * torch.randn(values.shape))

        gather(stream)
        stream.sync()  # before PyTorch reads what the stream writes
        between = gather.c.torch().relu_()
        scatter(stream, a=between)
        stream.sync()
        y = scatter.c.torch().float().cpu()

        error = (y - by_torch(x, up, down)).abs().max().item()
        print(f"rank {world.rank} of {world.size}: {tuple(y.shape)}, off by {error:.1e} at most")
        if error > (1e-5 if dtype == torch.float32 else 0.05):
            raise SystemExit(f"rank {world.rank}: not what torch.distributed computes")
    dist.destroy_process_group()


main()
