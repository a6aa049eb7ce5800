"""
For scripts that time what PyTorch's users have: one process a GPU, joined by NCCL,
and times of the slowest GPU.
"""
import os
import statistics
import time

REST_TIMES, LONGEST_REST_S = 8, 0.1
WARM, PORT = 5, 29531


def spawn(parser, work, arguments):
    """
    Calls work(torch, rank, arguments) in a process for each of arguments.gpus GPUs.
    Exits with 77 where PyTorch or a GPU is missing.
    """
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        parser.exit(77, f"{parser.prog}: there is no PyTorch here\n")
    if torch.cuda.device_count() < arguments.gpus:
        parser.exit(
            77, f"{parser.prog}: PyTorch finds {torch.cuda.device_count()} GPUs, not"
            f" {arguments.gpus}\n"
        )
    torch.multiprocessing.spawn(_join, args=(work, arguments), nprocs=arguments.gpus)


def _join(rank, work, arguments):
    """One GPU's process."""
    import torch  # pylint: disable=import-outside-toplevel
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), RANK=str(rank),
        WORLD_SIZE=str(arguments.gpus)
    )
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group(
        "nccl", rank=rank, world_size=arguments.gpus, device_id=torch.device("cuda", rank)
    )
    work(torch, rank, arguments)
    torch.distributed.destroy_process_group()


def measure(torch, run, iterations):
    """Milliseconds: the median, the least and the most; of the slowest GPU."""
    for _ in range(WARM):
        run()
    samples = [_sample(torch, run) for _ in range(iterations)]
    of_gpu = torch.tensor(
        [statistics.median(samples), -min(samples), max(samples)], device="cuda"
    )
    torch.distributed.all_reduce(of_gpu, op=torch.distributed.ReduceOp.MAX)
    median, least, most = of_gpu.tolist()
    return median, -least, most


def _sample(torch, run):
    """Milliseconds of a run that directly follows another one. A rest follows it."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.distributed.barrier()
    run()
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    taken = begin.elapsed_time(end)
    time.sleep(min(LONGEST_REST_S, REST_TIMES * taken * 1e-3))
    return taken


def words(times):
    """Times of measure as text."""
    median, least, most = (1e3 * ms for ms in times)
    return f"{median:.1f} us [{least:.1f} {most:.1f}]"
