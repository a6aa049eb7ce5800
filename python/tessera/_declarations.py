"""
What the package uses of the C API, as the headers declare it. ctypes needs it
at run time, when there are no headers. tests/python/declarations.py compares
functions, members, sizes and values with what a C compiler reads in
include/tessera.
"""

import ctypes

MAX_DIMS = 8
UNIQUE_ID_BYTES = 128


class Tensor(ctypes.Structure):
    """tsr_tensor_t"""

    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("dims", ctypes.c_int),
        ("shape", ctypes.c_int64 * MAX_DIMS), ("stride", ctypes.c_int64 * MAX_DIMS)
    ]


class UniqueId(ctypes.Structure):
    """tsr_unique_id_t"""

    _fields_ = [("bytes", ctypes.c_ubyte * UNIQUE_ID_BYTES)]


class DeviceProps(ctypes.Structure):
    """tsr_device_props_t"""

    _fields_ = [
        ("size", ctypes.c_size_t), ("name", ctypes.c_char * 64), ("ordinal", ctypes.c_int),
        ("resident_blocks", ctypes.c_int), ("workers_per_block", ctypes.c_int),
        ("shared_bytes", ctypes.c_size_t), ("tile_depth", ctypes.c_int),
        ("parallel_blocks", ctypes.c_int)
    ]


class HeapUsage(ctypes.Structure):
    """tsr_heap_usage_t"""

    _fields_ = [
        ("size", ctypes.c_size_t), ("heap_bytes", ctypes.c_size_t), ("free_bytes", ctypes.c_size_t),
        ("largest_bytes", ctypes.c_size_t), ("allocations", ctypes.c_int)
    ]


class Launcher(ctypes.Structure):
    """tsr_launcher_t"""

    _fields_ = [
        ("size", ctypes.c_size_t), ("ranks", ctypes.c_int), ("placement", ctypes.c_int),
        ("backend", ctypes.c_char_p), ("nodes", ctypes.c_int)
    ]


class View(ctypes.Structure):
    """tsr_view_t"""

    _fields_ = [
        ("data", ctypes.c_void_p), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
        ("ld", ctypes.c_int64), ("dtype", ctypes.c_int32), ("space", ctypes.c_int32)
    ]


class ProductDesc(ctypes.Structure):
    """tsr_product_desc_t"""

    _fields_ = [
        ("size", ctypes.c_size_t), ("kind", ctypes.c_int), ("m", ctypes.c_int64),
        ("n", ctypes.c_int64), ("k", ctypes.c_int64), ("dtype", ctypes.c_int),
        ("given", ctypes.c_uint), ("gather", ctypes.c_int), ("sums", ctypes.c_int),
        ("pattern", ctypes.c_char_p)
    ]


class ProductPart(ctypes.Structure):
    """tsr_product_part_t"""

    _fields_ = [
        ("size", ctypes.c_size_t), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
        ("first_row", ctypes.c_int64), ("first_col", ctypes.c_int64),
        ("part_rows", ctypes.c_int64), ("part_cols", ctypes.c_int64), ("in_place", ctypes.c_int)
    ]


STRUCTURES = {
    "tsr_tensor_t": Tensor,
    "tsr_unique_id_t": UniqueId,
    "tsr_device_props_t": DeviceProps,
    "tsr_heap_usage_t": HeapUsage,
    "tsr_launcher_t": Launcher,
    "tsr_view_t": View,
    "tsr_product_desc_t": ProductDesc,
    "tsr_product_part_t": ProductPart,
}

# Values of enumerations, and other constants.
CONSTANTS = {
    "TSR_MAX_DIMS": MAX_DIMS,
    "TSR_UNIQUE_ID_BYTES": UNIQUE_ID_BYTES,
    "TSR_OK": 0,
    "TSR_ERR_ARGUMENT": -1,
    "TSR_ERR_NO_MEMORY": -2,
    "TSR_ERR_MISMATCH": -3,
    "TSR_ERR_NOT_FOUND": -4,
    "TSR_ERR_UNSUPPORTED": -5,
    "TSR_ERR_CONFIG": -6,
    "TSR_ERR_RESIDENCY": -7,
    "TSR_ERR_NO_DEVICE": -20,
    "TSR_ERR_SYSTEM": -21,
    "TSR_ERR_KERNEL": -22,
    "TSR_ERR_TIMEOUT": -40,
    "TSR_ERR_PEER_LOST": -41,
    "TSR_ERR_ABORTED": -42,
    "TSR_F64": 0,
    "TSR_F32": 1,
    "TSR_F16": 2,
    "TSR_BF16": 3,
    "TSR_I64": 4,
    "TSR_I32": 5,
    "TSR_I8": 6,
    "TSR_U8": 7,
    "TSR_REDUCE_SUM": 0,
    "TSR_REDUCE_MAX": 1,
    "TSR_REDUCE_MIN": 2,
    "TSR_NO_TEAM": -1,
    "TSR_PRODUCT_GEMM_ALL_SCATTER": 1,
    "TSR_PRODUCT_ALL_GATHER_GEMM": 2,
    "TSR_PRODUCT_GEMM_REDUCE_SCATTER": 3,
    "TSR_PRODUCT_GEMM_ALL_REDUCE": 4,
    "TSR_PRODUCT_A": 1,
    "TSR_PRODUCT_B": 2,
    "TSR_PRODUCT_C": 4,
    "TSR_GATHER_A_BY_ROWS": 0,
    "TSR_GATHER_A_BY_COLUMNS": 1,
    "TSR_GATHER_B_BY_ROWS": 2,
}

# As `gcc -aux-info` writes them. A line that begins with blanks goes on.
FUNCTIONS = """
int tsr_version (void)
const char *tsr_version_text (void)
const char *tsr_status_name (tsr_status_t)
const char *tsr_last_error (void)
void tsr_site_begin (const char *, const char *, int)
tsr_status_t tsr_site_end (tsr_status_t)
int tsr_launch_program (const tsr_launcher_t *, char **)

tsr_status_t tsr_init (tsr_world_t **)
tsr_status_t tsr_unique_id_get (tsr_unique_id_t *)
tsr_status_t tsr_world_create_by_id (const tsr_unique_id_t *, int, int, tsr_world_t **)
tsr_status_t tsr_finalize (tsr_world_t *)
int tsr_world_rank (const tsr_world_t *)
int tsr_world_size (const tsr_world_t *)
int tsr_world_nodes (const tsr_world_t *)
int tsr_world_node (const tsr_world_t *, int)
const char *tsr_world_backend (const tsr_world_t *)
uint64_t tsr_world_deadline_ns (const tsr_world_t *)
tsr_status_t tsr_world_device (const tsr_world_t *, tsr_device_props_t *)
tsr_status_t tsr_barrier (tsr_world_t *)
void tsr_abort (tsr_world_t *, const char *)

tsr_team_t *tsr_world_team (tsr_world_t *)
tsr_status_t tsr_team_split (tsr_team_t *, int, int, const char *, tsr_team_t **)
tsr_status_t tsr_team_split_node (tsr_team_t *, tsr_team_t **, tsr_team_t **)
tsr_status_t tsr_team_create (tsr_team_t *, const int *, int, const char *, tsr_team_t **)
tsr_status_t tsr_team_destroy (tsr_team_t *)
int tsr_team_rank (const tsr_team_t *)
int tsr_team_size (const tsr_team_t *)
int tsr_team_world_rank (const tsr_team_t *, int)
const char *tsr_team_name (const tsr_team_t *)
tsr_status_t tsr_team_barrier (tsr_team_t *)
tsr_status_t tsr_team_broadcast (tsr_team_t *, void *, size_t, int)
tsr_status_t tsr_team_gather_all (tsr_team_t *, const void *, void *, size_t)
size_t tsr_collective_state_bytes (int)

tsr_status_t tsr_heap_alloc (tsr_world_t *, size_t, size_t, const char *, void **)
tsr_status_t tsr_heap_free (tsr_world_t *, void *)
void *tsr_native_pointer (const tsr_world_t *, const void *, int)
tsr_status_t tsr_heap_usage (const tsr_world_t *, tsr_heap_usage_t *)
tsr_status_t tsr_heap_find (const tsr_world_t *, const void *, const char **, size_t *)
tsr_status_t tsr_memset_heap (tsr_world_t *, void *, int, size_t)
size_t tsr_window_unit_bytes (const tsr_world_t *)
tsr_status_t tsr_window_register (tsr_world_t *, void *, size_t, const char *, void **)
tsr_status_t tsr_window_release (tsr_world_t *, void *)

size_t tsr_dtype_bytes (tsr_dtype_t)
const char *tsr_dtype_name (tsr_dtype_t)
tsr_status_t tsr_tensor_empty (tsr_world_t *, tsr_dtype_t, int, const int64_t *, tsr_tensor_t *)
tsr_status_t tsr_tensor_zeros (tsr_world_t *, tsr_dtype_t, int, const int64_t *, tsr_tensor_t *)
tsr_status_t tsr_tensor_ones (tsr_world_t *, tsr_dtype_t, int, const int64_t *, tsr_tensor_t *)
tsr_status_t tsr_tensor_full (tsr_world_t *, tsr_dtype_t, int, const int64_t *, double,
    tsr_tensor_t *)
tsr_status_t tsr_tensor_arange (tsr_world_t *, tsr_dtype_t, double, double, double, tsr_tensor_t
    *)
tsr_status_t tsr_tensor_linspace (tsr_world_t *, tsr_dtype_t, double, double, int64_t,
    tsr_tensor_t *)
tsr_status_t tsr_tensor_rand (tsr_world_t *, tsr_dtype_t, int, const int64_t *, uint64_t,
    tsr_tensor_t *)
tsr_status_t tsr_tensor_uniform (tsr_world_t *, tsr_dtype_t, int, const int64_t *, double, double,
    uint64_t, tsr_tensor_t *)
tsr_status_t tsr_tensor_randn (tsr_world_t *, tsr_dtype_t, int, const int64_t *, uint64_t,
    tsr_tensor_t *)
tsr_status_t tsr_tensor_randint (tsr_world_t *, tsr_dtype_t, int, const int64_t *, int64_t,
    int64_t, uint64_t, tsr_tensor_t *)
tsr_status_t tsr_tensor_read (tsr_world_t *, const tsr_tensor_t *, void *)
tsr_status_t tsr_tensor_write (tsr_world_t *, const tsr_tensor_t *, const void *)
tsr_status_t tsr_tensor_name (tsr_world_t *, const tsr_tensor_t *, const char *)
tsr_status_t tsr_tensor_view (const tsr_tensor_t *, tsr_view_t *)

const tsr_kernel_t *tsr_kernel_find (const char *, const char *)
tsr_status_t tsr_stream_create (tsr_team_t *, tsr_stream_t **)
tsr_status_t tsr_stream_from_native (tsr_team_t *, void *, tsr_stream_t **)
tsr_status_t tsr_stream_native (const tsr_stream_t *, void **)
tsr_status_t tsr_stream_destroy (tsr_stream_t *)
tsr_status_t tsr_stream_sync (tsr_stream_t *)
tsr_status_t tsr_launch_sized (tsr_stream_t *, const tsr_kernel_t *, int, const void *, size_t)
tsr_status_t tsr_event_create (tsr_world_t *, tsr_event_t **)
tsr_status_t tsr_event_destroy (tsr_event_t *)
tsr_status_t tsr_event_record (tsr_event_t *, tsr_stream_t *)
tsr_status_t tsr_stream_wait_event (tsr_stream_t *, tsr_event_t *)
tsr_status_t tsr_event_sync (tsr_event_t *)
tsr_status_t tsr_event_elapsed_ns (const tsr_event_t *, const tsr_event_t *, uint64_t *)

tsr_status_t tsr_stream_all_reduce (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *,
    tsr_reduce_t, tsr_collective_state_t *)
tsr_status_t tsr_stream_reduce (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *,
    tsr_reduce_t, int, tsr_collective_state_t *)
tsr_status_t tsr_stream_reduce_scatter (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t
    *, int, tsr_reduce_t, tsr_collective_state_t *)
tsr_status_t tsr_stream_all_gather (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *,
    int, tsr_collective_state_t *)
tsr_status_t tsr_stream_all_to_all (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *,
    int, int, tsr_collective_state_t *)
tsr_status_t tsr_stream_broadcast (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *,
    int, tsr_collective_state_t *)
tsr_status_t tsr_stream_gather (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *, int,
    int, tsr_collective_state_t *)
tsr_status_t tsr_stream_scatter (tsr_stream_t *, const tsr_tensor_t *, const tsr_tensor_t *, int,
    int, tsr_collective_state_t *)
"""

# Those of libtessera-kernels.
PRODUCTS = """
tsr_status_t tsr_product_create (tsr_world_t *, const tsr_product_desc_t *, tsr_product_t **)
tsr_status_t tsr_product_part (const tsr_product_t *, tsr_product_matrix_t, tsr_product_part_t *)
tsr_status_t tsr_product_view (const tsr_product_t *, tsr_product_matrix_t, tsr_view_t *)
const char *tsr_product_pattern (const tsr_product_t *)
tsr_status_t tsr_product_run (tsr_product_t *, tsr_stream_t *, const tsr_view_t *,
    const tsr_view_t *, const tsr_view_t *)
tsr_status_t tsr_product_destroy (tsr_product_t *)
"""

_VALUES = {
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "tsr_status_t": ctypes.c_int,
    "tsr_dtype_t": ctypes.c_int,
    "tsr_reduce_t": ctypes.c_int,
    "tsr_product_matrix_t": ctypes.c_int,
    "void": None,
}


def _type_of(text):
    """The type that ctypes converts to and from, of one in C."""
    if text in _VALUES:
        return _VALUES[text]
    if text == "const char *":
        return ctypes.c_char_p
    if not text.endswith("*"):
        raise TypeError(f"no type of ctypes for '{text}'")
    return ctypes.c_void_p


def functions(text):
    """(name, result, arguments) of each function: types of C, as text."""
    for line in text.replace("\n    ", " ").split("\n"):
        if line:
            before, _, arguments = line[:-1].partition(" (")
            end = max(before.rfind(" "), before.rfind("*")) + 1
            yield before[end:], before[:end].strip(), arguments.split(", ")


def declare(library, text):
    """Gives each of these functions of the library its types."""
    for name, result, arguments in functions(text):
        function = getattr(library, name)
        function.restype = _type_of(result)
        function.argtypes = [_type_of(argument) for argument in arguments if argument != "void"]
