"""
Every weakening of every ordered operation and wait of a source: the mutants
that nobody writes by hand.
"""
import re
from dataclasses import dataclass

from source import Source

ORDERS_BELOW = {
    # the first that the operation can have
    "TSR_SEQ_CST": ["TSR_ACQ_REL", "TSR_ACQUIRE", "TSR_RELEASE"],
    "TSR_ACQ_REL": ["TSR_ACQUIRE", "TSR_RELEASE"],
    "TSR_ACQUIRE": ["TSR_RELAXED"],
    "TSR_RELEASE": ["TSR_RELAXED"],
}
SCOPE_BELOW = {"TSR_SCOPE_SYSTEM": "TSR_SCOPE_DEVICE", "TSR_SCOPE_DEVICE": "TSR_SCOPE_BLOCK"}

# Where each operation has what is weakened. A release or acquire without an argument for it is at
# system scope.
SIGNALS = {  # coop first; flag, value, op, peer
    "tsr_signal": (1, 2, 3, 4),
    "tsr_signal_all": (1, 2, 3, None),
    "tsr_put_signal": (4, 5, 6, 7),
    "tsr_put_signal_2d": (3, 4, 5, 6),
}
WAITS = ("tsr_wait", "tsr_wait_until")
LOCALS = ("tsr_signal_local", "tsr_wait_local")
WORDS = ("tsr_wait_word", "tsr_wait_word_until")
WAITS_ANY = {"tsr_wait_any": 4, "tsr_wait_any_until": 4}  # where the value is
ATOMICS = {  # value (or None), peer, orders, scope
    "tsr_atomic_load": (None, 2, [3], 4),
    "tsr_atomic_store": (2, 3, [4], 5),
    "tsr_atomic_cas": (None, 4, [5, 6], 7),
    **{
        f"tsr_atomic_{op}": (2, 3, [4], 5)
        for op in ("xchg", "add", "and", "or", "xor", "min", "max")
    },
}
PLAIN = ("tsr_barrier_ranks", "tsr_sync", "tsr_flush", "tsr_shared_clear", "tsr_unlock")
LOCKS = ("tsr_lock", "tsr_lock_until")
OPERATIONS = "|".join(
    [
        *SIGNALS, *WAITS, *LOCALS, *WAITS_ANY, *WORDS, *ATOMICS, *LOCKS, *PLAIN, "tsr_fence",
        "tsr_gemm"
    ]
)
GATE = 6  # of tsr_gemm

SYNCHRONISATION = ["data-race", "scope-race", "reuse", "coop-race", "unwritten-read"]
PROGRESS = ["deadlock", "livelock", "lost-signal", "duplicate-signal", "residency"]
VALUE = ["program-failure", "out-of-bounds", "misuse"]
CLASSES = {  # what a report about each kind may be called
    "order": SYNCHRONISATION,
    "scope": SYNCHRONISATION,
    "removed": SYNCHRONISATION + PROGRESS + VALUE,
    "moved-up": SYNCHRONISATION + PROGRESS + VALUE,
    "moved-down": SYNCHRONISATION + PROGRESS + VALUE,
    "value": SYNCHRONISATION + PROGRESS + VALUE,
    "peer": SYNCHRONISATION + PROGRESS + VALUE,
}


@dataclass
class Weakening:
    kind: str
    operation: str
    start: int  # text[start:end] becomes `after`
    end: int
    after: str
    call: str = ""  # the whole call, on one line


def weakenings(source: Source):
    """In the order of the source."""
    for call in source.calls(OPERATIONS):
        argument = [source.of(span) for span in call.arguments]
        if len(argument) < 2 or source.siblings(call.start, call.end) is None:
            continue  # not a call of the API, or in no function
        text = " ".join(source.text[call.start : call.end].split())
        for weakening in _of_call(source, call, argument):
            weakening.call = text
            yield weakening


def _of_call(source, call, argument):
    name = call.name
    if name == "tsr_gemm":
        if len(argument) > GATE and argument[GATE] != "TSR_NO_GATE":
            yield _with(call, "removed", GATE, "TSR_NO_GATE")
        return
    yield from _parts(call, argument)
    yield _whole(call, "removed", _nothing(name, argument))
    if name in SIGNALS:
        yield from _of_signal(call, argument)
    elif name in WAITS:
        yield from _of_wait(call, argument)
    elif name in LOCALS:
        yield from _of_local(call, argument)
    elif name in WAITS_ANY:
        yield from _off_by_one(call, argument, WAITS_ANY[name])
    elif name in WORDS:
        yield from _of_word(call, argument)
    elif name in ATOMICS:
        yield from _of_atomic(call, argument)
    elif name == "tsr_fence":
        yield from (_with(call, "order", 1, below) for below in _fence_orders_below(argument[1]))
        yield from _narrower(call, argument, 2)
    yield from _moved(source, call)


def _nothing(name, argument):
    """What takes the place of an operation's result, where it is used."""
    return (
        f"({argument[2]})"
        if name == "tsr_atomic_cas"
        else "((void)0)" if name in PLAIN + ("tsr_fence",) else "(0)"
    )


def _whole(call, kind, after):
    return Weakening(kind, call.name, call.start, call.end, after)


def _with(call, kind, index, after):
    start, end = call.arguments[index]
    return Weakening(kind, call.name, start, end, after)


def _parts(call, argument):
    """Of a put and its signal, either alone."""
    if not call.name.startswith("tsr_put_signal"):
        return
    flag, value, op, peer = (argument[i] for i in SIGNALS[call.name])
    put = call.name.replace("_signal", "")
    yield _whole(call, "removed", f"{put}({', '.join(argument[: SIGNALS[call.name][0]] + [peer])})")
    yield _whole(call, "removed", f"tsr_signal({argument[0]}, {flag}, {value}, {op}, {peer})")


def _of_signal(call, argument):
    flag, value, _, peer = SIGNALS[call.name]
    for kind, order, scope in (
        ("order", "TSR_RELAXED", "TSR_SCOPE_SYSTEM"), ("scope", "TSR_RELEASE", "TSR_SCOPE_DEVICE")
    ):
        yield _whole(call, kind, _weak_signal(call.name, argument, order, scope))
    yield from _off_by_one(call, argument, value)
    if peer is not None:
        yield _with(call, "peer", peer, _another(argument[0], argument[peer]))


def _weak_signal(name, argument, order, scope):
    coop = argument[0]
    flag, value, op, peer = (None if i is None else argument[i] for i in SIGNALS[name])
    change = "tsr_atomic_add" if op == "TSR_SIGNAL_ADD" else "tsr_atomic_store"
    to = f"tsr_peer({coop}, tsr_i)" if peer is None else peer
    one = f"{change}({coop}, {flag}, (uint64_t)({value}), {to}, {order}, {scope})"
    if peer is None:
        return f"({{ for (int tsr_i = 0; tsr_i < tsr_size({coop}); tsr_i++) {one}; }})"
    if name.startswith("tsr_put_signal"):
        put = name.replace("_signal", "")
        return f"({{ {put}({', '.join(argument[: SIGNALS[name][0]] + [peer])}); {one}; }})"
    return one


def _spin(coop, flag, value, order, scope):
    """A wait that is weaker than any of the API: it looks by an access of one's own, for ever."""
    return (
        f"({{ while (tsr_atomic_load({coop}, {flag}, tsr_rank({coop}), {order}, {scope}) <"
        f" (uint64_t)({value})) {{ }} TSR_WAIT_OK; }})"
    )


def _of_wait(call, argument):
    coop, flag, value = argument[:3]
    yield _whole(call, "order", _spin(coop, flag, value, "TSR_RELAXED", "TSR_SCOPE_SYSTEM"))
    yield _whole(call, "scope", _spin(coop, flag, value, "TSR_ACQUIRE", "TSR_SCOPE_DEVICE"))
    yield from _off_by_one(call, argument, 2)


def _of_local(call, argument):
    coop, flag, value, scope = argument
    if call.name == "tsr_signal_local":
        weak = (
            f"tsr_atomic_store({coop}, {flag}, (uint64_t)({value}), tsr_rank({coop}), TSR_RELAXED,"
            f" {scope})"
        )
    else:
        weak = _spin(coop, flag, value, "TSR_RELAXED", scope)
    yield _whole(call, "order", weak)
    yield from _narrower(call, argument, 3)
    yield from _off_by_one(call, argument, 2)


def _of_word(call, argument):
    """coop, word, comparison, value, peer, order, scope, ..."""
    if argument[5] == "TSR_ACQUIRE":
        yield _with(call, "order", 5, "TSR_RELAXED")
    yield from _narrower(call, argument, 6)
    yield _with(call, "peer", 4, _another(argument[0], argument[4]))
    yield from _off_by_one(call, argument, 3)


def _of_atomic(call, argument):
    value, peer, orders, scope = ATOMICS[call.name]
    for index in orders:
        possible = [
            below
            for below in ORDERS_BELOW.get(argument[index], [])
            if _can_have(call.name, index, below)
        ]
        for below in possible[:1] if argument[index] == "TSR_SEQ_CST" else possible:
            yield _with(call, "order", index, below)
    yield from _narrower(call, argument, scope)
    yield _with(call, "peer", peer, _another(argument[0], argument[peer]))
    if value is not None:
        yield from _off_by_one(call, argument, value)


def _fence_orders_below(order):
    """A relaxed fence is none: that is its removal."""
    below = [each for each in ORDERS_BELOW[order] if each != "TSR_RELAXED"]
    return below[:1] if order == "TSR_SEQ_CST" else below


def _can_have(name, index, order):
    """Loads do not release, stores do not acquire."""
    load = name == "tsr_atomic_load" or name == "tsr_atomic_cas" and index == ATOMICS[name][2][1]
    if load:
        return order not in ("TSR_RELEASE", "TSR_ACQ_REL")
    return name != "tsr_atomic_store" or order not in ("TSR_ACQUIRE", "TSR_ACQ_REL")


def _narrower(call, argument, index):
    if argument[index] in SCOPE_BELOW:
        yield _with(call, "scope", index, SCOPE_BELOW[argument[index]])


def _off_by_one(call, argument, index):
    yield _with(call, "value", index, f"({argument[index]}) + 1")
    yield _with(call, "value", index, f"({argument[index]}) - 1")


def _another(coop, peer):
    return f"(({peer}) + 1) % tsr_size({coop})"


def _moved(source, call):
    """
    To the other side of the nearest statement before it, and behind it, that does something. What
    lies between and only computes stays before both, where their operands come from.
    """
    statements, index = source.siblings(call.start, call.end)
    acts = [_acts(source.code[each.start : each.end]) for each in statements]
    before = next((i for i in range(index - 1, -1, -1) if acts[i]), None)
    behind = next((i for i in range(index + 1, len(statements)) if acts[i]), None)
    mine = statements[index]
    for kind, other in (("moved-up", before), ("moved-down", behind)):
        if other is not None and not _is_same_either_way(source, call, mine, statements[other]):
            first, second = sorted((index, other))
            yield _swapped(source, call, kind, statements[first], statements[second])


def _is_same_either_way(source, call, statement, neighbour):
    """Two relaxed atomics of different words, each a statement of its own, may change places: no
    order is between them, and neither uses what the other returns."""
    calls = {(each.start, each.end + 1): each for each in source.calls(OPERATIONS)}
    other = calls.get((neighbour.start, neighbour.end))
    if other is None or (call.start, call.end + 1) != (statement.start, statement.end):
        return False
    words = _relaxed_word(source, call), _relaxed_word(source, other)
    return None not in words and words[0] != words[1]


def _relaxed_word(source, call):
    """The word that a relaxed atomic is about; None: the call is none."""
    argument = [source.of(span) for span in call.arguments]
    if call.name not in ATOMICS or any(
        argument[order] != "TSR_RELAXED" for order in ATOMICS[call.name][2]
    ):
        return None
    return argument[1]


ACTION = re.compile(
    r"\b(?!(?:if|for|while|switch|sizeof|TSR_EACH|(?:tsr_(?:rank|size|peer|block_index|block_count|"
    r"worker_index|worker_count|role|tiles|grouped_order|grouped_index|ring_order|ring_index|"
    r"ring_row|chiplet_order|view\w*))|TSR_TILE_\w+)\b)\w+\s*\("
)


def _acts(code):
    return bool(ACTION.search(code) or re.search(r"\b(?:return|break|continue)\b", code))


def _swapped(source, call, kind, first, second):
    text = source.text
    between = text[first.end : second.start]
    after = between.lstrip() + text[second.start : second.end] + " " + text[first.start : first.end]
    return Weakening(kind, call.name, first.start, second.end, after)
