"""
Errors of the library as exceptions: one class for each tsr_status_t, below a
class for what is lost. Each carries the library's sentence, which names cause
and cure.
"""

from ._declarations import CONSTANTS


class TesseraError(Exception):
    """Any error of the library. `status` is the tsr_status_t, such as -2; `status_name` its name,
    such as "TSR_ERR_NO_MEMORY". str() is the library's sentence."""

    status_name = "TSR_OK"

    @property
    def status(self) -> int:
        """The tsr_status_t."""
        return CONSTANTS[self.status_name]


class CallError(TesseraError):
    """The call did nothing; the world goes on."""


class DeviceError(TesseraError):
    """This process has lost its device."""


class WorldLostError(TesseraError):
    """The world is lost: every later call of it fails."""


class ArgumentError(CallError, ValueError):
    """A value outside its range, or an invalid shape."""

    status_name = "TSR_ERR_ARGUMENT"


class InUseError(ArgumentError):
    """Memory that cannot be released yet: arrays of some rank still refer to it. All ranks get this
    error alike, and the memory is as it was."""


class NoMemoryError(CallError, MemoryError):
    """No room in the symmetric heap, or on the host."""

    status_name = "TSR_ERR_NO_MEMORY"


class MismatchError(CallError):
    """The ranks asked for different things in a collective call."""

    status_name = "TSR_ERR_MISMATCH"


class NotFoundError(CallError, LookupError):
    """No such backend, kernel, variant, option or allocation."""

    status_name = "TSR_ERR_NOT_FOUND"


class UnsupportedError(CallError):
    """This backend cannot do it."""

    status_name = "TSR_ERR_UNSUPPORTED"


class ConfigError(CallError):
    """An environment variable or an option that cannot be read."""

    status_name = "TSR_ERR_CONFIG"


class ResidencyError(CallError):
    """Blocks that wait for each other do not fit on the device together."""

    status_name = "TSR_ERR_RESIDENCY"


class NoDeviceError(DeviceError):
    """The backend finds no device here."""

    status_name = "TSR_ERR_NO_DEVICE"


class SystemFailure(DeviceError):
    """The operating system or a vendor's runtime failed; the sentence quotes it."""

    status_name = "TSR_ERR_SYSTEM"


class KernelError(DeviceError):
    """A kernel misused the device API."""

    status_name = "TSR_ERR_KERNEL"


class DeadlineError(WorldLostError, TimeoutError):
    """A deadline passed."""

    status_name = "TSR_ERR_TIMEOUT"


class PeerLostError(WorldLostError, ConnectionError):
    """A rank ended, or never joined."""

    status_name = "TSR_ERR_PEER_LOST"


class AbortedError(WorldLostError):
    """Another rank, or an earlier call, ended the world."""

    status_name = "TSR_ERR_ABORTED"


def _leaves(base):
    for child in base.__subclasses__():
        if "status_name" in vars(child):
            yield child
        else:
            yield from _leaves(child)


BY_STATUS = {CONSTANTS[leaf.status_name]: leaf for leaf in _leaves(TesseraError)}
