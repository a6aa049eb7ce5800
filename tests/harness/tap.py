"""
For tests that are scripts in Python, what tests/cli/tap is for those of the
shell: each check prints one TAP line.
"""

failed = []  # the names of the checks that did


def verdict(good, name, why=""):
    """`why` is shown where the check failed: lines of text."""
    print(("ok - " if good else "not ok - ") + name)
    if not good:
        failed.append(name)
        print("".join(f"# {line}\n" for line in str(why).splitlines()), end="")


def exit_code():
    """The exit code of the script."""
    return int(bool(failed))
