"""
What compilers leave of plain accesses beside ordered ones, and of ordered ones
that nobody uses: probe_order.c. Accesses are names in the order of the code,
the same for all GPUs.

A load behind an acquire is a load of its own: ptxas 12.0 to 13.5 would take the
value of one from before an acquiring load of another word, and LLVM 18 to 22
move it there. Adds stay as many as asked for: of a release add by all threads
of a warp ptxas makes one, and here one thread adds. What is loaded at system
scope is loaded, though ptxas deletes such a load if nobody uses its value: the
block is told the value.
"""
import re

LOADS, ADDS = ("LD", "LDG"), ("ATOM", "ATOMG", "REDG")


def of_isa(body):
    """The accesses of an AMD kernel: a load by the scalar unit is none, for an invalidation does
    not reach its cache."""
    names = []
    for instruction in body:
        token, text = instruction.token or "", instruction.text
        if re.match(r"(global|flat)_load", text) and not instruction.own:
            names.append("LDG")
        elif re.match(r"(global|flat)_atomic", text):
            names.append("ATOMG")
        elif token.startswith(("buffer_inv", "buffer_wbinv")):
            names.append("CCTL")
        elif token == "s_barrier":
            names.append("BAR")
    return names


def problems(function, names):
    """What is missing in a probe of probe_order.c."""
    if function.startswith("probe_neighbour_"):
        ends = [i for i, name in enumerate(names) if name in ("CCTL", "BAR")]
        if not ends:
            yield "nothing acquires"
        elif not any(name in LOADS for name in names[ends[-1] :]):
            yield "no load behind the acquire: the value is one from before"
    elif function.startswith("probe_unused_"):
        if sum(name in LOADS for name in names) != 1:
            yield "the load whose value nobody uses is not there once"
        if function.endswith("ACQUIRE") and "CCTL" not in names:
            yield "an acquire that invalidates nothing"
    elif function == "probe_adds_twice":
        if sum(name in ADDS for name in names) != 2:
            yield "the adds are not two"
