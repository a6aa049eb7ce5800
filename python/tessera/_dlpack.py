"""
DLPack: memory of the heap as arrays of other packages, and back, without a
copy. The structures are those of dlpack.h, version 1.0.
"""

import ctypes
import itertools

from . import dtypes, errors

CPU, CUDA, ROCM = 1, 2, 10
DEVICES = {"cpuemu": CPU, "cuda": CUDA, "hip": ROCM}
_NAMES = (b"dltensor", b"dltensor_versioned")
_NO_STREAM = -1  # to a producer on a GPU: the consumer reads no elements


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Array(ctypes.Structure):
    """DLTensor"""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32),
        ("dtype", _DataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor"""

    _fields_ = [
        ("array", _Array), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("array", _Array)
    ]


def _python_api(name, result, *arguments):
    """A function of Python's own C API. Capsules go as addresses: one that is being destroyed must
    not be referenced."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _python_api(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_valid = _python_api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python_api(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p
)
_keep = _python_api("Py_IncRef", None, ctypes.py_object)

_exported = {}  # what consumers hold, by the number in manager_ctx
_numbers = itertools.count(1)


# The callbacks run on any thread, and at the end of the interpreter too, when globals may be gone:
# what they need is bound to them.
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(managed, exported=_exported, struct=_Managed):
    exported.pop(struct.from_address(managed).manager_ctx, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete_versioned(managed, exported=_exported, struct=_Versioned):
    exported.pop(struct.from_address(managed).manager_ctx, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule, names=_NAMES, valid=_valid, pointer=_pointer, exported=_exported):
    """A capsule that nobody took (a consumer gives it another name) returns what it holds."""
    for name, struct in zip(names, (_Managed, _Versioned)):
        if valid(capsule, name):
            exported.pop(struct.from_address(pointer(capsule, name)).manager_ctx, None)


for callback in (_delete, _delete_versioned, _destroy):
    _keep(callback)


def capsule_of(lease, device, pointer, dtype, shape, stride, max_version):
    """A capsule that keeps `lease` until its consumer is done with the memory."""
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    managed = _Versioned(major=1, minor=0) if versioned else _Managed()
    extents = (ctypes.c_int64 * len(shape))(*shape)
    strides = (ctypes.c_int64 * len(shape))(*stride)
    code, bits = dtypes.DLPACK[dtype]
    managed.array = _Array(
        data=pointer, device=_Device(*device), ndim=len(shape), dtype=_DataType(code, bits, 1),
        shape=extents, strides=strides
    )
    managed.manager_ctx = next(_numbers)
    managed.deleter = ctypes.cast(_delete_versioned if versioned else _delete, ctypes.c_void_p)
    _exported[managed.manager_ctx] = (managed, extents, strides, lease)
    return _new(
        ctypes.addressof(managed), _NAMES[versioned], ctypes.cast(_destroy, ctypes.c_void_p)
    )


def changes_sign(array):
    """Whether memory of a tensor of PyTorch does not hold its values."""
    return array.is_neg() or array.is_conj()


def describe(array):
    """(address, dtype, shape, stride) of an array that knows DLPack; the stride in elements."""
    if hasattr(array, "data_ptr"):  # PyTorch's own calls take a tenth of the time of a capsule
        if changes_sign(array):
            raise errors.ArgumentError(
                "this tensor is a view that PyTorch negates or conjugates where it is read"
                " (is_neg(), is_conj()), so its memory holds other values: copy"
                " tensor.resolve_conj().resolve_neg() to memory of the heap"
            )
        return array.data_ptr(), dtypes.name_of(array.dtype), tuple(array.shape), array.stride()
    try:
        device, _ = array.__dlpack_device__()
        capsule = array.__dlpack__(**({} if device == CPU else {"stream": _NO_STREAM}))
    except AttributeError:
        raise errors.ArgumentError(
            f"a {type(array).__name__} is no array: pass a tensor of Tessera, or an array that has"
            " __dlpack__, such as those of NumPy and PyTorch"
        ) from None
    for name, struct in zip(_NAMES, (_Managed, _Versioned)):
        if _valid(id(capsule), name):
            return _described(struct.from_address(_pointer(id(capsule), name)).array)
    raise errors.ArgumentError(f"the __dlpack__ of a {type(array).__name__} gives no capsule")


def _described(array):
    shape = tuple(array.shape[: array.ndim])
    if array.strides:
        stride = tuple(array.strides[: array.ndim])
    else:
        stride = dense(shape)
    dtype = dtypes.BY_DLPACK.get((array.dtype.code, array.dtype.bits))
    if dtype is None or array.dtype.lanes != 1:
        raise errors.ArgumentError(
            f"elements of {array.dtype.bits} bits and DLPack's code {array.dtype.code} are no"
            f" element type: {', '.join(dtypes.NUMBERS)} are"
        )
    return (array.data or 0) + array.byte_offset, dtype, shape, stride


def dense(shape):
    """The strides of a dense row-major array, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
