"""
How many write-backs and invalidations one operation has on AMD: one of each,
where its order and scope ask for it. A write-back is of the whole L2, behind
the barrier at which each wave has waited for its own stores; each wave
invalidates once, behind the last one.
"""
import re

ATOMIC = re.compile(
    r"probe_(?P<op>[a-z]+)_(?P<order>RELAXED|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)"
    r"(?:_(?P<failure>RELAXED|ACQUIRE|SEQ_CST))?_(?P<scope>BLOCK|DEVICE|SYSTEM)"
)
SIGNAL = re.compile(r"probe_(?:put_)?signal(?:_set|_add|_all|_2d)?$")
RELEASES, ACQUIRES = ("RELEASE", "ACQ_REL", "SEQ_CST"), ("ACQUIRE", "ACQ_REL", "SEQ_CST")


def wanted(arch, function):
    """(write-backs, invalidations) of a probe of one operation; None where it is none of these."""
    match = ATOMIC.fullmatch(function)
    if SIGNAL.fullmatch(function):
        return 1, 0
    if not match:
        return None
    op, order, failure, scope = match.group("op", "order", "failure", "scope")
    releases = order in RELEASES and op != "load"
    acquires = (order in ACQUIRES or failure in ACQUIRES) and op != "store"
    # one L2 a device has nothing to write back
    written = scope == "SYSTEM" or (scope == "DEVICE" and arch != "gfx90a")
    return int(releases and written), int(acquires and scope != "BLOCK")


def problems(arch, function, tokens):
    """What an operation has too much of, or too little; a write-back that does not cover the coop,
    an invalidation too early."""
    expected = wanted(arch, function)
    if expected is None:
        return
    written = [i for i, token in enumerate(tokens) if token.startswith("buffer_wbl2")]
    # On gfx90a the L2 and the L1 are invalidated by an instruction each.
    invalidated = [
        i
        for i, token in enumerate(tokens)
        if token.startswith(("buffer_inv", "buffer_wbinv")) and token != "buffer_invl2"
    ]
    barriers = [i for i, token in enumerate(tokens) if token == "s_barrier"]
    for what, found, count in (
        ("write-backs", written, expected[0]), ("invalidations", invalidated, expected[1])
    ):
        if len(found) != count:
            yield f"{len(found)} {what}, and {count} {'is' if count == 1 else 'are'} enough"
    if written and not any(barrier < written[0] for barrier in barriers):
        yield "writes back before the coop has met: other waves' stores may come later"
    if invalidated and not any(barrier < invalidated[0] for barrier in barriers):
        yield "invalidates before the coop has met: one wave for all"
