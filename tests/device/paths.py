"""
The order of memory accesses in AMD's assembly, on every path through a kernel:
what may still be on its way where an instruction stands. Each rule is a set of
facts that instructions make and end, joined where paths meet, until nothing
changes.

  ("written", n)   the store of line n has not been written back beyond this
                   wave's caches at device scope, or at system scope
  ("leaving", n)   written back by a buffer_wbl2 that has not been waited for
  ("written-back", n)  the buffer_wbl2 of line n has not been waited for
  ("pending", n)   the access of line n has not been waited for
  ("polled", n)    the load at system scope of line n has seen a flag, and
                   nothing is invalidated since

Stores that a wave has waited for are in the cache that all waves of its block
share: from then on whichever wave releases writes them back. The block's leader
passes the write-back and the others do not, so these facts hold where all paths
agree:

  ("handed", n, scope)    what was waited for at line n has not been written
                          back beyond that cache
  ("taken", n, scope)     written back by a buffer_wbl2 that has not been waited
                          for
"""
import collections
import re

END = re.compile(r"\s*\.section|\s*\.Lfunc_end")
LABEL = re.compile(r"(\.L\w+):")
MEMORY = re.compile(r"(global|flat|buffer|scratch)_(load|store|atomic)(\w*)")
CACHE = re.compile(r"buffer_(wbl2|inv\w*|wbinv\w*)")
BITS = re.compile(r"\b(?:sc0|sc1|glc)\b")
BRANCH = re.compile(r"s_(c?branch)\w*\s+(\.L\w+)")
LEAVES = re.compile(r"s_(?:endpgm|setpc\w*)")

# own: it reads a constant of the code object itself, which nobody writes
Instruction = collections.namedtuple("Instruction", "number text token own", defaults=[False])
Block = collections.namedtuple("Block", "body next")


def token(text):
    """What an instruction means for order; None where it means nothing."""
    bits = "".join(" " + bit for bit in BITS.findall(text))
    cache, memory = CACHE.match(text), MEMORY.match(text)
    if cache:
        return cache.group(0) + bits
    if memory:
        _, kind, rest = memory.groups()
        return kind + (re.sub(r"_x2$", "", rest) if kind == "atomic" else "") + bits
    if text.startswith("s_waitcnt") and "vmcnt(0)" in text:
        return "wait"
    if text.startswith("ds_"):
        return "lds " + {"ds_read": "load", "ds_write": "store"}.get(text.split("_b")[0], "atomic")
    return "s_barrier" if text.startswith("s_barrier") else None


# The address of a constant, and what is added to it: s_getpc_b64, then the constant's distance.
COUNTER = re.compile(r"s_getpc_b64 s\[(\d+):\d+\]")
DISTANCE = re.compile(r"s_add_u32 s(\d+), s\1, \S+@rel32@lo")
SUM = re.compile(r"s_addc?_u32 s(\d+), (\S+), (\S+)$")
SCALARS = re.compile(r"(?:v_\w+_co_\w+ v\d+,|[sv]_\S+) s(?:\[(\d+):(\d+)\]|(\d+))")
SCALAR_BASE = re.compile(r"global_load_\w+ \S+, v\d+, s\[(\d+):\d+\]")
VCC = re.compile(r"\bvcc(_lo|_hi)?\b")
NUMBER_OF_VCC = {None: "s[106:107]", "_lo": "s106", "_hi": "s107"}

# behind an s_barrier across which other accesses may go on (tsr_hip_meet_shared)
SHARED_ALONE = "; for shared memory alone"


def instructions(lines):
    """Up to the function's end, without comments and directives; a label is an instruction without
    a token."""
    found = []
    for number, line in lines:
        if END.match(line):
            break
        text = "" if SHARED_ALONE in line else line.split(";")[0].strip()
        if text and (LABEL.match(text) or not text.startswith(".") and not text.endswith(":")):
            found.append(Instruction(number, text, token(text)))
    return list(_with_constants(found))


def _with_constants(found):
    """The same instructions; those that read a constant say so. Its address is computed where it is
    used: what is known of registers ends where paths meet or part."""
    counters, addresses = set(), set()
    for instruction in found:
        text = VCC.sub(lambda name: NUMBER_OF_VCC[name[1]], instruction.text)
        if LABEL.match(text) or BRANCH.match(text):
            counters, addresses = set(), set()
        counter, distance, total = COUNTER.match(text), DISTANCE.match(text), SUM.match(text)
        base = SCALAR_BASE.match(text)
        if base and int(base.group(1)) in addresses:
            instruction = instruction._replace(own=True)
        if distance and int(distance.group(1)) in counters:
            addresses = addresses | {int(distance.group(1))}
        elif counter or not (total and _keeps(addresses, total)):
            written = _written(text)
            counters, addresses = counters - written, addresses - written
        if counter:
            counters = counters | {int(counter.group(1))}
        yield instruction


def _keeps(addresses, total):
    """Whether a sum is of an address in these pairs of registers, and goes to the same pair."""
    pair = int(total.group(1)) if "addc" not in total.group(0) else int(total.group(1)) - 1
    half = f"s{total.group(1)}"
    return pair in addresses and half in total.groups()[1:]


def _written(text):
    """The pairs of scalar registers that an instruction writes to, by the first of each."""
    match = SCALARS.match(text)
    if not match:
        return set()
    first, last, sole = match.groups()
    low, high = (int(first), int(last)) if sole is None else (int(sole), int(sole))
    return set(range(low - 1, high + 1))


def blocks(body):
    """{label: Block}, the first one called "": its instructions that mean something, and the labels
    that may follow."""
    found, label, kept, ended = {}, "", [], False
    for instruction in body:
        start, branch = LABEL.match(instruction.text), BRANCH.match(instruction.text)
        if start:
            found[label] = Block(
                kept, found.get(label, Block([], [])).next + ([] if ended else [start.group(1)])
            )
            label, kept, ended = start.group(1), [], False
        elif ended:
            continue  # behind an unconditional branch, up to the next label
        elif branch:
            kept.append(instruction)
            kind, target = branch.groups()
            if kind == "branch":
                found[label] = Block(kept, [target])
                ended = True
            else:  # what follows is a block of its own
                behind = f"{label}+"
                found[label] = Block(kept, [target, behind])
                label, kept = behind, []
        elif LEAVES.match(instruction.text):
            kept.append(instruction)
            found[label] = Block(kept, [])
            ended = True
        elif instruction.token:
            kept.append(instruction)
    if label not in found:
        found[label] = Block(kept, [])
    return found


def scope_of(kind):
    """2: system, 1: device, 0: neither. gfx942 says so on each access; gfx90a does not, and has 0
    everywhere."""
    return 2 if "sc0 sc1" in kind else 1 if kind.endswith(" sc1") else 0


def after(facts, instruction):
    """The facts behind an instruction."""
    number, text, kind = instruction[:3]
    if kind is None:
        return facts
    if kind == "wait":
        return {
            fact
            for fact in facts
            if fact[0] not in ("pending", "written-back", "written", "leaving")
        }
    if kind.startswith("buffer_wbl2"):
        scope = scope_of(kind) or 2
        facts = {
            ("leaving", *fact[1:]) if fact[0] == "written" and fact[2] <= scope else fact
            for fact in facts
        }
        return facts | {("written-back", number)}
    if kind.startswith(("buffer_inv", "buffer_wbinv")):
        return {fact for fact in facts if fact[0] != "polled" or scope_of(kind) < 2}
    if not text.startswith(("global_", "flat_")):
        return facts
    facts = facts | {("pending", number)}
    if kind.startswith("store") and not scope_of(kind):
        facts |= {("written", number, 1), ("written", number, 2)}
    if is_poll(instruction):
        facts |= {("polled", number)}
    return facts


def handed_after(handed, facts, instruction):
    """What is handed over behind an instruction; `facts` hold before it."""
    number, _, kind = instruction[:3]
    if kind == "wait":
        kept = {fact for fact in handed if fact[0] != "taken"}
        return kept | {("handed", number, fact[2]) for fact in facts if fact[0] == "written"}
    if kind is not None and kind.startswith("buffer_wbl2"):
        scope = scope_of(kind) or 2
        return {("taken", *fact[1:]) if fact[2] <= scope else fact for fact in handed}
    return handed


def unfollowed_polls(body):
    """Line numbers of polls from which no path leads to an invalidation."""
    graph = blocks(body)
    follows = {
        label
        for label, block in graph.items()
        if any(i.token == "buffer_inv sc0 sc1" for i in block.body)
    }
    grown = True
    while grown:
        leads = {label for label, block in graph.items() if follows.intersection(block.next)}
        grown = not leads <= follows
        follows |= leads
    for label, block in graph.items():
        polls = [i for i, instruction in enumerate(block.body) if is_poll(instruction)]
        behind = block.body[polls[-1] + 1 :] if polls else []
        if (
            polls
            and not follows.intersection(block.next)
            and not any(i.token == "buffer_inv sc0 sc1" for i in behind)
        ):
            yield block.body[polls[-1]].number


def is_poll(instruction):
    """A flag is a 64-bit word, looked at with system scope."""
    return instruction.token == "load sc0 sc1" and "_dwordx2" in instruction.text


def is_signal(instruction):
    """A flag is raised by a 64-bit store, or an atomic, at device or system scope."""
    kind, text = instruction.token, instruction.text
    wide = "_dwordx2" in text or "_x2" in text
    return wide and kind.startswith(("store", "atomic")) and scope_of(kind) > 0


def wrong(facts, instruction):
    """What must not be on its way where the instruction stands."""
    text, kind = instruction.text, instruction.token
    accesses = kind is not None and kind != "wait"
    stands = {"written-back": accesses or LEAVES.match(text)}
    stands["pending"] = kind is not None and kind.startswith(
        ("s_barrier", "buffer_inv", "buffer_wbinv")
    )
    signals = accesses and is_signal(instruction)
    # A constant is the file's name, which a wait that has failed, and acquires nothing, copies to
    # its note.
    stands["polled"] = (
        kind == "load" and text.startswith(("global_", "flat_")) and not instruction.own
    )
    for fact in sorted(facts):
        if fact[0] in ("written", "leaving"):
            if signals and fact[2] == scope_of(kind):
                yield (
                    f"raises a flag, and the store of line {fact[1]} is not written back and"
                    " waited for"
                )
        elif fact[0] in ("handed", "taken"):
            if signals and fact[2] == scope_of(kind):
                yield (
                    f"raises a flag, and what was waited for at line {fact[1]} is not written back"
                    " and waited for"
                )
        elif stands[fact[0]]:
            yield {
                "written-back": f"before the wait for the buffer_wbl2 of line {fact[1]}",
                "pending": f"and the access of line {fact[1]} has not been waited for",
                "polled": (
                    f"reads what the flag of line {fact[1]} guards, and nothing has been"
                    " invalidated"
                ),
            }[fact[0]]


def before_blocks(graph):
    """{label: the facts where its block begins}: what holds on any path."""
    before = {label: set() for label in graph}
    todo = list(graph)
    while todo:
        label = todo.pop()
        facts = before[label]
        for instruction in graph[label].body:
            facts = after(facts, instruction)
        for following in graph[label].next:
            if not facts <= before[following]:
                before[following] |= facts
                todo.append(following)
    return before


def handed_before_blocks(graph, before):
    """{label: what is handed over where its block begins}: what holds on every path; None where
    none leads."""
    handed_before = {label: None for label in graph}
    handed_before[""] = set()
    todo = [""]
    while todo:
        label = todo.pop()
        facts, handed = before[label], handed_before[label]
        for instruction in graph[label].body:
            facts, handed = after(facts, instruction), handed_after(handed, facts, instruction)
        for following in graph[label].next:
            known = handed_before[following]
            met = handed if known is None else known & handed
            if met != known:
                handed_before[following] = met
                todo.append(following)
    return handed_before


def breaches(body):
    """(line number, sentence) for each rule that some path breaks."""
    graph = blocks(body)
    before = before_blocks(graph)
    handed_before = handed_before_blocks(graph, before)
    for label, block in graph.items():
        facts, handed = before[label], handed_before[label] or set()
        for instruction in block.body:
            for why in wrong(facts | handed, instruction):
                yield instruction.number, f'"{instruction.text}" {why}'
            facts, handed = after(facts, instruction), handed_after(handed, facts, instruction)


def broken(body):
    """The same, each once, sorted by line."""
    return sorted(set(breaches(body)))


def is_broken(body):
    return any(True for _ in breaches(body))
