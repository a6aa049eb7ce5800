"""
The GPUs of this machine and their driver, by the first program that names any:
a vendor's own, or `tessera info`.
"""
import json
import re
import subprocess

NONE = {"gpus": [], "driver": None, "links": None}


def answer(command, **how):
    """What a command prints, or nothing where it is not there or fails."""
    try:
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
            timeout=60, **how
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def of_nvidia_smi():
    rows = [
        line.split(", ")
        for line in answer(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        ).splitlines()
    ]
    if not rows or any(len(row) != 2 for row in rows):
        return NONE
    return {
        "gpus": [row[0] for row in rows], "driver": rows[0][1],
        "links": answer(["nvidia-smi", "topo", "-m"]) or None
    }


def of_amd_smi():
    """Up to ROCm 6 a list, one element a GPU; later that list is below "gpu_data", and boards may
    have the better name."""
    try:
        text = answer(["amd-smi", "static", "--asic", "--board", "--driver", "--json"])
        rows = json.loads(text[min(text.find(first) for first in "[{" if first in text) :])
        rows = rows.get("gpu_data", []) if isinstance(rows, dict) else rows
        rows = [{part: row.get(part) or {} for part in ("asic", "board", "driver")} for row in rows]
        names = [
            known(row["board"].get("product_name"))
            or known(row["asic"].get("market_name"))
            or "AMD GPU"
            for row in rows
        ]
        versions = [
            known(row["driver"].get("version") or row["driver"].get("driver_version"))
            for row in rows
        ]
    except (ValueError, AttributeError, TypeError):
        return NONE
    return (
        {
            "gpus": names, "driver": next(iter(versions), None),
            "links": answer(["amd-smi", "topology"]) or None
        }
        if names
        else NONE
    )


def of_rocm_smi():
    text = answer(["rocm-smi", "--showproductname", "--showdriverversion"])
    series = dict(
        re.findall(r"^GPU\[(\d+)\]\s*:\s*Card [Ss]eries:[ \t]*(.*?)\s*$", text, re.MULTILINE)
    )
    models = dict(
        re.findall(r"^GPU\[(\d+)\]\s*:\s*Card [Mm]odel:[ \t]*(.*?)\s*$", text, re.MULTILINE)
    )
    names = [
        known(series.get(gpu)) or known(models.get(gpu)) or "AMD GPU"
        for gpu in sorted({*series, *models}, key=int)
    ]
    version = re.search(r"^Driver version:\s*(\S+)", text, re.MULTILINE)
    return (
        {
            "gpus": names, "driver": version and version.group(1),
            "links": answer(["rocm-smi", "--showtopo"]) or None
        }
        if names
        else NONE
    )


def of_tessera(backend, tessera, environment):
    """A backend's devices; it does not know the version of the driver. The emulator has none that
    is a GPU."""
    text = (
        answer(["tessera", "info", "backends"], executable=tessera, env=environment)
        if backend != "cpuemu"
        else ""
    )
    section = re.search(
        rf"^  {re.escape(backend)} +\d+ devices?.*\n((?:    .*\n?)*)", text, re.MULTILINE
    )
    names = (
        re.findall(r"^    (.+): \d+ resident blocks", section.group(1), re.MULTILINE)
        if section
        else []
    )
    count = (
        int(re.search(rf"^  {re.escape(backend)} +(\d+)", text, re.MULTILINE).group(1))
        if names
        else 0
    )
    return {**NONE, "gpus": names + names[-1:] * (count - len(names))}


def known(value):
    """Text that says something: these programs print N/A where they do not know."""
    return None if value in (None, "", "N/A", "unknown") else str(value)


def found(backend, tessera, environment):
    """{"gpus": [names], "driver": version, "links": what the vendor's program prints of them}. On
    hip AMD's programs are asked first."""
    ways = (
        [of_amd_smi, of_rocm_smi, of_nvidia_smi]
        if backend == "hip"
        else [of_nvidia_smi, of_amd_smi, of_rocm_smi]
    )
    for way in [*ways, lambda: of_tessera(backend, tessera, environment)]:
        place = way()
        if place["gpus"]:
            return place
    return NONE
