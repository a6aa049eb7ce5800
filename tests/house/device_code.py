#!/usr/bin/env python3
"""
The checks of assembly can fail: a kernel from which a wait, a write-back or an
invalidation is taken is found, on one path or on all, and so is one with local
memory, one whose plain load is an older one's, and an atomic that promises what
is not so. By a small kernel always, and by each shipped one where its assembly
is built.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device"))
import amd  # noqa: E402
import assembly  # noqa: E402
import counts  # noqa: E402
import cubin  # noqa: E402
import kept  # noqa: E402
import paths  # noqa: E402

BEGIN = re.compile(rf"({assembly.ENTRY}\w+):")
STORES = ("store", "atomic")

# Waits for a flag, reads what it guards, and passes it on.
SMALL = """
.LBB0_1:
	global_load_dwordx2 v[0:1], v2, s[0:1] sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_gt_u64_e32 vcc, s[4:5], v[0:1]
	s_cbranch_vccnz .LBB0_1
	buffer_inv sc0 sc1
	global_load_dword v3, v2, s[2:3]
	s_waitcnt vmcnt(0)
	s_cbranch_scc0 .LBB0_3
	global_store_dword v2, v3, s[6:7]
	s_waitcnt vmcnt(0)
	s_barrier
.LBB0_3:
	global_store_dword v2, v3, s[8:9]
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	flat_store_dwordx2 v[4:5], v[6:7] sc0 sc1
	s_endpgm
"""


def small(text=SMALL):
    return paths.instructions(enumerate(text.splitlines(True), 1))


def without(body, index):
    """The body without what stands at `index`, and, of a wait, without those right behind it, which
    would do its work."""
    end = index + 1
    while (
        body[index].token == "wait"
        and end < len(body)
        and body[end].token in ("wait", None)
        and not leads_away(body[end])
    ):
        end += 1
    return body[:index] + [kept for kept in body[index:end] if kept.token is None] + body[end:]


def without_any(body, index):
    """The body without that wait and all others before the next store: of words that are loaded
    first, the wait for what is loaded would do its work."""
    end = next(
        (i for i in range(index, len(body)) if (body[i].token or "").startswith(STORES)), len(body)
    )
    return body[:index] + [kept for kept in body[index:end] if kept.token != "wait"] + body[end:]


def leads_away(instruction):
    return paths.LABEL.match(instruction.text) or paths.BRANCH.match(instruction.text)


def behind(body, token):
    """Where the wait stands that follows each instruction of this kind."""
    for index, instruction in enumerate(body):
        if instruction.token and instruction.token.startswith(token):
            yield next(i for i in range(index + 1, len(body)) if body[i].token == "wait")


def all_without(body, token):
    return [instruction for instruction in body if not (instruction.token or "").startswith(token)]


def verdict(good, name):
    print(f"{'ok' if good else 'not ok'} - {name}")
    return good


def finds(text, sentence):
    return any(sentence in found for _, found in paths.broken(small(text)))


def small_ones():
    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)"
    yield verdict(not paths.broken(small()), "a kernel that is right is let pass")
    yield verdict(
        finds(SMALL.replace(wait, "s_nop 0"), "before the wait for the buffer_wbl2"),
        "a wait that is lost"
    )
    yield verdict(
        finds(SMALL.replace("buffer_wbl2 sc0 sc1", ""), "raises a flag"),
        "a write-back that is lost"
    )
    yield verdict(
        finds(SMALL.replace("wbl2 sc0 sc1", "wbl2 sc1"), "raises a flag"),
        "a write-back of too narrow a scope"
    )
    yield verdict(
        finds(SMALL.replace("buffer_inv sc0 sc1", ""), "reads what the flag"),
        "an invalidation that is lost"
    )
    late = SMALL.replace("flat_store", "global_store_dword v2, v3, s[8:9]\n\tflat_store")
    yield verdict(finds(late, "raises a flag"), "a store behind the write-back")
    yield verdict(
        finds(SMALL.replace("s[6:7]\n\ts_waitcnt vmcnt(0)", "s[6:7]"), "s_barrier"),
        "a barrier before the wait"
    )
    around = SMALL.replace("\tbuffer_wbl2", "\ts_cbranch_scc1 .LBB0_4\n\tbuffer_wbl2").replace(
        "\tflat", ".LBB0_4:\n\tflat"
    )
    yield verdict(finds(around, "raises a flag"), "a path around the write-back")


# A block of several waves stores and meets; its leader raises a flag for all, and all go on.
MEETING = """
	global_store_dword v2, v3, s[8:9]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[10:11], s[12:13]
	s_cbranch_execz .LBB0_1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	global_store_dwordx2 v2, v[6:7], s[14:15] sc0 sc1
.LBB0_1:
	s_or_b64 exec, exec, s[10:11]
	s_and_saveexec_b64 s[10:11], s[12:13]
	s_cbranch_execz .LBB0_2
	global_store_dwordx2 v2, v[6:7], s[16:17] sc1
.LBB0_2:
	s_endpgm
"""


def meetings():
    """What the waves of a block have stored is written back by the one that raises the flag."""
    what = "what was waited for"
    yield verdict(not paths.broken(small(MEETING)), "a write-back by the leader alone is let pass")
    yield verdict(
        finds(MEETING.replace("buffer_wbl2 sc0 sc1", ""), what), "a leader that writes nothing back"
    )
    yield verdict(
        finds(MEETING.replace("wbl2 sc0 sc1", "wbl2 sc1"), what),
        "a leader's write-back of too narrow a scope"
    )
    early = MEETING.replace("\tbuffer_wbl2 sc0 sc1\n", "").replace(
        "\tglobal_store_dword v2", "\tbuffer_wbl2 sc0 sc1\n\tglobal_store_dword v2"
    )
    yield verdict(finds(early, what), "a write-back before the stores")
    yield verdict(
        finds(
            MEETING.replace("\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_barrier", "\ts_barrier"),
            "s_barrier"
        ), "a wave that does not wait"
    )


# The file's name is copied to a note by a wait that goes on looking; as clang 22 does it.
NAMED = """
.LBB0_1:
	global_load_dwordx2 v[0:1], v2, s[0:1] sc0 sc1
	s_waitcnt vmcnt(0)
	s_cbranch_vccz .LBB0_3
.LBB0_2:
	s_getpc_b64 s[26:27]
	s_add_u32 s26, s26, .L.str.1@rel32@lo+4
	s_addc_u32 s27, s27, .L.str.1@rel32@hi+12
	s_add_u32 s26, s22, s26
	s_addc_u32 s27, s23, s27
	global_load_dword v1, v6, s[26:27]
	s_waitcnt vmcnt(0)
	s_cbranch_scc1 .LBB0_2
	s_branch .LBB0_1
.LBB0_3:
	buffer_inv sc0 sc1
	s_endpgm
"""


def constants():
    """What a flag guards is data; a constant of the code is none."""
    what = "reads what the flag"
    yield verdict(not paths.broken(small(NAMED)), "a constant that is read beside a flag's poll")
    vcc = NAMED.replace("s[26:27]", "vcc").replace("s26", "vcc_lo").replace("s27", "vcc_hi")
    yield verdict(not paths.broken(small(vcc)), "one whose address is in vcc")
    for writes in ("v_cmp_eq_u32_e32 vcc, 0, v5", "v_add_co_u32_e32 v5, vcc, v5, v6"):
        text = vcc.replace("\tglobal_load_dword v1", f"\t{writes}\n\tglobal_load_dword v1")
        yield verdict(finds(text, what), f"data beside it: {writes}")
    load = "\tglobal_load_dword v1, v6, s[26:27]\n"
    for old, new, name in (
        ("s_getpc_b64 s[26:27]", "s_nop 0", "an address that is no constant's"),
        (load, "\ts_mov_b32 s27, s5\n" + load, "half of another"),
        (load, "\ts_mov_b64 s[24:27], s[4:7]\n" + load, "another"),
        (load, "\ts_add_u32 s26, s4, s22\n" + load, "a sum of another"),
        (load, ".LBB0_4:\n" + load, "one that another path brings"),
        (load, load.replace("s[26:27]", "s[36:37]"), "one in other registers"),
        (load, "\tglobal_load_ubyte v1, v6, s[4:5]\n", "a byte of data"),
    ):
        text = NAMED.replace(old, new)
        yield verdict(text != NAMED and finds(text, what), f"data beside it: {name}")


# The same add as clang 21 leaves it by default, and where the port says what memory it is of.
PROMISED = """
  %3 = atomicrmw fadd ptr %0, double %1 monotonic, align 8, !amdgpu.no.fine.grained.memory !6
  %4 = atomicrmw add ptr %0, i64 %2 monotonic, align 8, !amdgpu.no.remote.memory !6
  %5 = atomicrmw fadd ptr %0, double %1 monotonic, align 8, !noalias.addrspace !5
""".strip("\n").splitlines()


def promises():
    """No atomic promises that its memory is the device's own; nor is it code that needs that."""
    found = list(amd.promises("a.ll", PROMISED))
    yield verdict(
        [text.split(": ")[0] for text in found] == ["a.ll:1", "a.ll:2"],
        "of three atomics the two that promise something"
    )
    yield verdict("fine-grained" in found[0] and "remote" in found[1], "and what they promise")
    with tempfile.TemporaryDirectory() as folder:
        yield verdict(any(amd.readings(folder)), "no intermediate code is no pass")
        with open(f"{folder}/a.ll", "w", encoding="ascii") as file:
            file.write(PROMISED[2])
        yield verdict(not list(amd.readings(folder)), "intermediate code that promises nothing")
        with open(f"{folder}/a.ll", "w", encoding="ascii") as file:
            file.write("ret void")
        yield verdict(any(amd.readings(folder)), "nor is code without an atomic")
    native, loop = (
        small(f"\t{text} v2, v[0:1], s[4:5]\n")
        for text in ("global_atomic_add_f64", "global_atomic_cmpswap_x2")
    )
    yield verdict(any(amd.lost_sums("gfx90a", "", native)), "an add of doubles by gfx90a itself")
    yield verdict(not any(amd.lost_sums("gfx90a", "", loop)), "and not one by compare-and-swaps")
    yield verdict(not any(amd.lost_sums("gfx942", "", native)), "nor one by gfx942")


def kept_accesses():
    """A plain load of its own behind an acquire, as many adds as asked for, loads that nobody
    uses."""
    for name, function, accesses, good in (
        ("a load behind an acquire", "probe_neighbour_load_SYSTEM", "LDG LD CCTL BAR LDG STG", 1),
        ("the value of one before it", "probe_neighbour_load_SYSTEM", "LDG LD CCTL BAR STG", 0),
        ("a load between invalidation and meeting", "probe_neighbour_wait", "LD CCTL LDG BAR", 0),
        ("an acquire that is gone", "probe_neighbour_fence", "LDG LDG STG", 0),
        ("two adds", "probe_adds_twice", "BAR MEMBAR ATOM BAR MEMBAR REDG BAR", 1),
        ("one add in place of two", "probe_adds_twice", "BAR MEMBAR REDG BAR", 0),
        ("a load for nothing", "probe_unused_RELAXED", "LD BAR", 1),
        ("a load for nothing that is gone", "probe_unused_RELAXED", "BAR", 0),
        ("an acquire for nothing that is gone", "probe_unused_ACQUIRE", "LD BAR", 0),
    ):
        found = list(kept.problems(function, accesses.split()))
        yield verdict(bool(found) != bool(good), f"{name} is {'let pass' if good else 'found'}")
    flag = "\tglobal_load_dwordx2 v[0:1], v2, s[0:1] sc0 sc1\n\ts_barrier\n\tbuffer_inv sc0 sc1\n"
    for load, good in (("global_load_dwordx2 v[4:5], v1, s[4:5]", 1),
                       ("s_load_dwordx2 s[8:9], s[4:5], 0x8", 0)):
        names = kept.of_isa(small(f"{flag}\t{load}\n"))
        found = list(kept.problems("probe_neighbour_load_SYSTEM", names))
        yield verdict(bool(found) != bool(good), f"AMD: {load.split()[0]} behind an acquire")


def counted():
    """One write-back a release, behind the barrier, and one invalidation an acquire, behind the
    last barrier."""
    write_back, invalidate, meeting = (
        ["buffer_wbl2 sc0 sc1", "wait"], ["wait", "buffer_inv sc0 sc1"], ["wait", "s_barrier"]
    )
    signal, load = meeting + write_back + ["store sc0 sc1"], ["load sc0 sc1"] + meeting + invalidate
    cases = (
        ("a signal that writes back once", "probe_signal_set", signal, True),
        ("one that every wave writes back for", "probe_signal_set", write_back + signal, False),
        ("one that nobody writes back for", "probe_signal_set", meeting + ["store sc0 sc1"], False),
        (
            "one that is written back before the coop has met", "probe_signal_set",
            write_back + meeting + ["store sc0 sc1"], False
        ),
        ("an acquire that invalidates once", "probe_load_ACQUIRE_SYSTEM", load, True),
        (
            "one that the leader invalidates for, too", "probe_load_ACQUIRE_SYSTEM",
            ["load sc0 sc1"] + invalidate + load[1:], False
        ),
        (
            "one that the leader alone invalidates for", "probe_load_ACQUIRE_SYSTEM",
            ["load sc0 sc1"] + invalidate + meeting, False
        ),
        ("a seq_cst load that writes back", "probe_load_SEQ_CST_SYSTEM", write_back + load, False),
    )
    for name, function, tokens, good in cases:
        yield verdict(
            good != any(counts.problems("gfx942", function, tokens)),
            f"{name} is {'let pass' if good else 'found'}"
        )


def one_dtype(unit):
    """Variants differ in dtype and tile, and wait alike in each dtype: one of them will do, in
    every tile."""
    return "/variants/" not in unit or os.path.basename(unit).startswith("bf16_")


def shipped_ones():
    """Every wait behind a write-back, one by one; all write-backs, and all invalidations that guard
    data."""
    for arch in ("gfx942", "gfx90a"):
        found = assembly.assemblies(arch, ".s", "clang-19") or []
        waits = missed = 0
        for unit, path in (
            pair for pair in found if assembly.is_shipped(pair[0]) and one_dtype(pair[0])
        ):
            for name, lines in assembly.functions(path, BEGIN):
                if name.startswith(assembly.ENTRY + assembly.INTERPRETERS):
                    continue
                body = paths.instructions(lines)
                lost = list(behind(body, "buffer_wbl2"))
                waits += len(lost)
                missed += sum(
                    not paths.is_broken(without(body, index))
                    and not paths.is_broken(without_any(body, index)) for index in lost
                )
        if not found:
            print(f"ok - the shipped kernels of {arch} # skip they are not built: scons device")
        else:
            yield verdict(
                waits and not missed,
                f"each of {waits} waits of the shipped kernels of {arch}: {missed} are not missed"
            )


def flags_and_local_memory():
    consumer = "kernels/gemm_all_scatter/variants/bf16_16x16x16"
    folder = os.path.join(assembly.ROOT, "build", "device-debug")
    if os.path.exists(f"{folder}/gfx942/{consumer}.s"):
        kernels = dict(assembly.functions(f"{folder}/gfx942/{consumer}.s", BEGIN))
        body = paths.instructions(kernels["tsr_entry_gas_fused_sequential__bf16_16x16x16"])
        for token, sentence in (
            ("buffer_wbl2", "raises a flag"), ("buffer_inv", "reads what the flag")
        ):
            good = any(sentence in found for _, found in paths.broken(all_without(body, token)))
            yield verdict(good, f"a shipped kernel without any {token}")
    if os.path.exists(f"{folder}/sm_90a/{consumer}.cubin"):
        local = cubin.local_bytes(f"{folder}/sm_90a/{consumer}.cubin")
        yield verdict(
            "tsr_entry_gas_consumer__bf16_16x16x16" in local, "local memory is read from a cubin"
        )


# What whole units are stored and loaded by where a kernel says so; and that no other unit is.
HINTED = {
    "sm_90a": (".ptx", re.compile(r"\.visible \.entry (\w+)\("), {
        "store_hint_stream": ("ld.global.cs.v4", "st.global.cs.v4"),
        "put_hint_stream": ("st.global.cs.v4",),
        "store_hint_through": ("st.global.wt.v4",),
        "put_hint_through": ("st.global.wt.v4",)}),
    "gfx942": (".s", BEGIN, {
        "store_hint_stream": ("global_load_dwordx4.* nt", "global_store_dwordx4.* nt"),
        "put_hint_stream": ("global_store_dwordx4.* nt",),
        "store_hint_through": ("global_store_dwordx4.* sc0 sc1",),
        "put_hint_through": ("global_store_dwordx4.* sc0 sc1",)}),
    "gfx90a": (".s", BEGIN, {
        "store_hint_stream": ("global_load_dwordx4.* glc slc", "global_store_dwordx4.* glc slc"),
        "put_hint_stream": ("global_store_dwordx4.* glc slc",),
        "store_hint_through": ("global_store_dwordx4.* glc$",),
        "put_hint_through": ("global_store_dwordx4.* glc$",)}),
}  # fmt: skip


def hints():
    for arch, (suffix, begin, wanted) in HINTED.items():
        path = f"{assembly.ROOT}/build/device-debug/{arch}/tests/device/probe_hints{suffix}"
        if not os.path.exists(path):
            print(f"ok - hints of {arch} # skip they are not built: scons device")
            continue
        kernels = dict(assembly.functions(path, begin))
        for name, patterns in wanted.items():
            lines = [line.rstrip() for _, line in kernels[f"{assembly.ENTRY}probe_{name}"]]
            units = [line for line in lines if re.search(r"st\.global.*v4|store_dwordx4", line)]
            plain = [
                line for line in units if not any(re.search(pattern, line) for pattern in patterns)
            ]
            found = all(any(re.search(pattern, line) for line in lines) for pattern in patterns)
            yield verdict(
                found and units and not plain,
                f"{arch}: {name} of {len(units)} units, {len(plain)} of them without"
            )


if __name__ == "__main__":
    sys.exit(
        not all(
            list(small_ones())
            + list(meetings())
            + list(constants())
            + list(promises())
            + list(kept_accesses())
            + list(counted())
            + list(shipped_ones())
            + list(flags_and_local_memory())
            + list(hints())
        )
    )
