"""
Teams: ordered subsets of the world's ranks.
"""

import ctypes
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from . import _declarations, _numbers
from ._native import call, lib
from .stream import Stream
from .tensor import Tensor

if TYPE_CHECKING:
    from .world import World


class Team:
    """
    Some ranks of the world in an order; its members are numbered from 0 in that order. World.team
    is the team of all ranks. Memory belongs to the world: allocation is collective over the world,
    whatever teams use the memory.
    """

    def __init__(self, world: "World", handle: int):
        self.world, self._handle = world, handle
        self.rank: int = lib.tsr_team_rank(handle)
        self.size: int = lib.tsr_team_size(handle)
        self.name: str = lib.tsr_team_name(handle).decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"tessera.Team({self.name!r}, rank {self.rank} of {self.size})"

    @property
    def handle(self) -> int:
        """The tsr_team_t. Raises ArgumentError after the end of the world."""
        self.world.handle  # raises where the world is closed
        return self._handle

    def world_rank(self, rank: int) -> int:
        """The world rank of member `rank`; -1 if there is no such member."""
        return lib.tsr_team_world_rank(self.handle, _numbers.whole(rank, "rank", *_numbers.INT))

    def _made(self, handle: ctypes.c_void_p) -> Optional["Team"]:
        return Team(self.world, handle.value) if handle.value else None

    def split(
        self, colour: Optional[int], key: int = 0, name: Optional[str] = None
    ) -> Optional["Team"]:
        """
        Members with the same `colour` (0 or more) form a team, in the order of their keys. None in
        place of a colour joins no team, and gets None.

        Called by:  every member (collective).
        Raises:     ArgumentError, MismatchError, and those of barrier().
        """
        handle = ctypes.c_void_p()
        number = _declarations.CONSTANTS["TSR_NO_TEAM"]
        if colour is not None:
            number = _numbers.whole(colour, "colour", 0, _numbers.INT[1])
        key = _numbers.whole(key, "key", *_numbers.INT)
        called = name.encode() if name else None
        call("tsr_team_split", self.handle, number, key, called, ctypes.byref(handle))
        return self._made(handle)

    def split_node(self) -> Tuple["Team", "Team"]:
        """
        Two teams: the members on my node, named "node", and the members that have the same number
        in their node's team as I have in mine, in the order of their nodes, named "across". Where
        nodes have different numbers of members, the last of those teams have none of the smaller
        nodes.

        Called by:  every member (collective).
        Raises:     as split.
        """
        node, across = ctypes.c_void_p(), ctypes.c_void_p()
        call("tsr_team_split_node", self.handle, ctypes.byref(node), ctypes.byref(across))
        return Team(self.world, node.value), Team(self.world, across.value)

    def create(self, ranks: Sequence[int], name: Optional[str] = None) -> Optional["Team"]:
        """
        The team whose member i is rank ranks[i] of this team; None for members of this team that
        are not in the list.

        Called by:  every member of this team (collective), with the same list.
        Raises:     ArgumentError, MismatchError, and those of barrier().
        """
        handle = ctypes.c_void_p()
        ranks = [_numbers.whole(rank, "a rank of the list", *_numbers.INT) for rank in ranks]
        array = (ctypes.c_int * max(len(ranks), 1))(*ranks)
        called = name.encode() if name else None
        call("tsr_team_create", self.handle, array, len(ranks), called, ctypes.byref(handle))
        return self._made(handle)

    def destroy(self) -> None:
        """
        Destroys the team, whose streams must be closed. Teams that are not destroyed end with the
        world.

        Called by:  every member (collective).
        """
        call("tsr_team_destroy", self.handle)

    def barrier(self) -> None:
        """
        Waits for this rank's streams of the team, then for every member.

        Called by:  every member, one thread a rank (collective).
        Raises:     as World.barrier.
        """
        call("tsr_team_barrier", self.handle)

    def broadcast(self, data: bytes, root: int = 0) -> bytes:
        """
        The root's bytes, from host memory. On the other members `data` only says how many.

        Called by:  every member (collective), with as many bytes.
        Raises:     ArgumentError, and those of barrier().
        """
        data, root = _numbers.raw(data, "data"), _numbers.whole(root, "root", *_numbers.INT)
        buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        call("tsr_team_broadcast", self.handle, buffer, len(data), root)
        return buffer.raw[: len(data)]

    def gather_all(self, data: bytes) -> List[bytes]:
        """
        Every member's bytes, from host memory, in the order of the members.

        Called by:  every member (collective), with as many bytes.
        Raises:     ArgumentError (no bytes), and those of barrier().
        """
        self.world.handle  # raises where the world is closed
        return self.gather_all_on(_numbers.raw(data, "data"))

    def gather_all_on(self, data: bytes) -> List[bytes]:
        """gather_all for a world that is about to end."""
        buffer = ctypes.create_string_buffer(max(self.size * len(data), 1))
        call("tsr_team_gather_all", self._handle, data, buffer, len(data))
        return [
            buffer.raw[rank * len(data):(rank + 1) * len(data)] for rank in range(self.size)
        ]

    def stream(self, state: Optional[Tensor] = None, native: Any = None) -> Stream:
        """
        A stream of this team. Its collectives need a `state`, which World.collective_state
        allocates on all ranks of the world, and which no other stream uses. `native` is as in
        World.stream.

        Called by:  any member (not collective).
        Raises:     NoMemoryError, SystemFailure, UnsupportedError (`native` on the emulator).
        """
        return Stream(self, state, native=native)
