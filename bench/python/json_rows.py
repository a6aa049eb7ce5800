"""
JSON files that people read too: a row of measurements is a line. The command
writes the same form (tools/json_rows.c).
"""
import json

ROW_LEVELS = 2


def text(root):
    """
    An object that nests at most two levels deep, such as a trial or a pattern with its samples, is
    one line. A deeper one has a line for each member, and so has an array of objects.
    """
    return _value(root, 0) + "\n"


def _fits(value, levels):
    """Whether the value is one line: arrays and objects nest at most `levels` deep, and no array
    has objects."""
    if isinstance(value, dict):
        return levels > 0 and all(_fits(member, levels - 1) for member in value.values())
    if isinstance(value, list):
        return levels > 0 and all(
            not isinstance(member, dict) and _fits(member, levels - 1) for member in value
        )
    return True


def _value(value, indent):
    if _fits(value, ROW_LEVELS):
        return json.dumps(value)
    if isinstance(value, dict):
        begin, end = "{}"
        lines = [
            f"{json.dumps(key)}: {_value(member, indent + 1)}" for key, member in value.items()
        ]
    else:
        begin, end = "[]"
        lines = [_value(member, indent + 1) for member in value]
    margin = "\n" + " " * indent
    return begin + ",".join(f"{margin} {line}" for line in lines) + margin + end
