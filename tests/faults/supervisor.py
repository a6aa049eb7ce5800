"""
Runs a command and answers its system calls: each is counted, and one of them,
the n-th of its kind, is made to fail.

The kernel asks (seccomp's user notification), so every call is seen: those that
the C library makes for itself, those made by syscall(2), and those of every
process that the command starts. It needs no privilege, no list of functions,
and no change of the program. A preloaded library would see only the functions
that somebody has listed; strace counts the calls of each thread apart, cannot
shorten a read or a write, and needs the permission to trace.

Calls of the dynamic loader, of constructors, and of programs that are not ours
are let pass: begin.c, preloaded, says where a program of ours begins.
"""
import collections
import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import tempfile
import time

BEGIN = 0x74737262  # begin.c: a program of ours begins

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
SECCOMP_SET_MODE_FILTER = 1
NEW_LISTENER, WAIT_KILLABLE = 1 << 3, 1 << 5
RET_ALLOW, RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
CONTINUE = 1
NOTIFICATION, ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=Qqii")
RECEIVE = 3 << 30 | NOTIFICATION.size << 16 | ord("!") << 8
SEND = 3 << 30 | ANSWER.size << 16 | ord("!") << 8 | 1
LD_ABSOLUTE, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06

libc = ctypes.CDLL(None, use_errno=True)

# What fails: the process and the call as Outcome.counts names them, the how-many-eth of them, and
# the name of an error, or "short".
Fault = collections.namedtuple("Fault", "process call number error")

# counts[process, call]; met: whether the fault was reached; left: names of processes that outlived
# the command.
Outcome = collections.namedtuple("Outcome", "code out err counts met seconds hung left")


def system_calls():
    """The numbers of this machine's system calls, by name."""
    text = subprocess.run(
        ["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", os.devnull], capture_output=True,
        text=True, check=True
    )
    return {
        name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)\b", text.stdout)
    }


def why_not():
    """Why this machine cannot do it, in a line, or nothing."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        got = _install([], {"seccomp": 317, **NUMBERS})
        os.write(writer, str(ctypes.get_errno() if got < 0 else 0).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as answer:
        error = int(answer.read() or errno.ENOSYS)
    return (
        "the kernel does not hand over system calls here (seccomp's user notification:"
        f" {os.strerror(error)})"
        if error
        else ""
    )


def _install(names, numbers):
    """In the child: from the next call on, calls of these names wait for the supervisor. Returns
    the descriptor to listen at."""
    program = [struct.pack("=HBBI", LD_ABSOLUTE, 0, 0, 0)]
    for number in sorted({numbers[name] for name in names if name in numbers}):
        program += [
            struct.pack("=HBBI", JUMP_EQUAL, 0, 1, number),
            struct.pack("=HBBI", RETURN, 0, 0, RET_USER_NOTIF)
        ]
    program.append(struct.pack("=HBBI", RETURN, 0, 0, RET_ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    filter_ = ctypes.create_string_buffer(
        struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code))
    )
    return libc.syscall(
        numbers["seccomp"], SECCOMP_SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE, filter_
    )


NUMBERS = system_calls()
NAMES = {number: name for name, number in NUMBERS.items()}


class Supervisor:
    """One run of one command. `own`: folder of the programs that count; `calls`: names of the calls
    to look at."""

    def __init__(self, command, environment, folder, own, calls, fault=None, limit_s=20):
        self.command, self.environment, self.folder = command, environment, folder
        self.own, self.fault, self.limit_s = own, fault, limit_s
        self.looked_at = sorted(set(calls) | {"execve", "prctl"})
        self.counts = collections.Counter()
        self.met = False
        # of a process's id: its name in reports, or None before its program begins
        self.processes = {}
        self.leaders = {}  # of a thread's id: its process's
        self.loaders = {}  # of a process's id: where its loader's code lies

    def run(self):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            pid = os.fork()
            if pid == 0:
                self._become(out.fileno(), err.fileno())
            code, hung = self._attend(pid, began)
            seconds = time.monotonic() - began
            left = _end_children()
            out.seek(0)
            err.seek(0)
            texts = [file.read().decode("utf-8", "replace") for file in (out, err)]
        return Outcome(code, *texts, self.counts, self.met, seconds, hung, left)

    def _become(self, out, err):
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.chdir(self.folder)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            if _install(self.looked_at, NUMBERS) >= 0:
                os.execvpe(self.command[0], self.command, self.environment)
        finally:
            os._exit(125)

    def _attend(self, pid, began):
        """Answers until the command has ended. Returns its exit code, and whether it had to be
        ended."""
        watch = os.pidfd_open(pid)
        listener = _take_listener(pid, watch)
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        if listener is not None:
            poll.register(listener, select.POLLIN)
        hung = False
        while True:
            ready = dict(poll.poll(200))
            if ready.get(listener, 0) & select.POLLIN:
                self._answer_next(listener, pid)
            elif watch in ready:
                break
            if not hung and time.monotonic() - began > self.limit_s:
                hung = True
                _kill_tree(pid)
        self._serve_the_rest(listener)
        for fd in (listener, watch):
            if fd is not None:
                os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), hung

    def _serve_the_rest(self, listener):
        """What the command has left may still be on its way out, and waits for answers."""
        end = time.monotonic() + 2
        poll = select.poll()
        if listener is not None:
            poll.register(listener, select.POLLIN)
        while listener is not None and len(_children()) > 1 and time.monotonic() < end:
            for _, event in poll.poll(20):
                if event & select.POLLIN:
                    self._answer_next(listener, 0)
                else:
                    return

    def _answer_next(self, listener, root):
        asked = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, RECEIVE, asked)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return  # who asked has ended
            raise
        id_, thread, _, number, _, pointer, *arguments = NOTIFICATION.unpack(asked)
        value, error, flags = self._judge(thread, NAMES[number], pointer, arguments, root)
        try:
            fcntl.ioctl(listener, SEND, bytearray(ANSWER.pack(id_, value, -error, flags)))
        except OSError as failed:
            if failed.errno != errno.ENOENT:
                raise

    def _judge(self, thread, call, pointer, arguments, root):
        """The answer to one call: its value, its error, and whether the kernel carries it out."""
        go_on = (0, 0, CONTINUE)
        pid = self._process_of(thread, root)
        if call == "prctl" and arguments[0] & 0xFFFFFFFF == BEGIN:
            self._begin(pid, root)
            return go_on
        name = self.processes.get(pid)
        if name is None or self._in_loader(pid, pointer):
            return go_on
        call = _kind_of(call, pid, arguments)
        self.counts[name, call] += 1
        fault = self.fault
        if (
            fault
            and not self.met
            and (name, call) == fault[:2]
            and self.counts[name, call] == fault.number
        ):
            if fault.error != "short":
                self.met = True
                return 0, getattr(errno, fault.error), 0
            done = _shorten(pid, call.split()[0], arguments)
            self.met = done is not None
            return (done, 0, 0) if self.met else go_on
        if call == "execve":
            self.processes[pid] = None  # what runs next says so when it begins
            self.loaders.pop(pid, None)
        return go_on

    def _process_of(self, thread, root):
        """A new process is called after the one that it was forked from."""
        if thread not in self.leaders:
            status = _read(f"/proc/{thread}/status")
            found = re.search(r"^Tgid:\s*(\d+)\n(?:.*\n)*?PPid:\s*(\d+)", status, re.MULTILINE)
            pid, parent = map(int, found.groups()) if found else (thread, 0)
            self.leaders[thread] = pid
            if pid not in self.processes:
                above = self.processes.get(parent)
                self.processes[pid] = (
                    above if above is None or above.endswith("child") else above + "'s child"
                )
                self.loaders[pid] = self.loaders.get(parent)
        return self.leaders[thread]

    def _begin(self, pid, root):
        try:
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return
        if not program.startswith(self.own):
            return
        rank = re.search(rb"(?:^|\0)TESSERA_RANK=(\d+)", _read_bytes(f"/proc/{pid}/environ"))
        self.processes[pid] = (
            "launcher" if pid == root else f"rank {rank.group(1).decode()}" if rank else "ranks"
        )

    def _in_loader(self, pid, pointer):
        if self.loaders.get(pid) is None:
            code = re.search(
                r"^(\w+)-(\w+) r-xp .*/ld-[^/]*$", _read(f"/proc/{pid}/maps"), re.MULTILINE
            )
            self.loaders[pid] = (int(code.group(1), 16), int(code.group(2), 16)) if code else (0, 0)
        begin, end = self.loaders[pid]
        return begin <= pointer < end


def _kind_of(call, pid, arguments):
    """The call's name, with what else decides how it may fail."""
    if call == "futex":
        return f"futex {arguments[1] & 0x7F}"
    if call == "fcntl":
        return f"fcntl {arguments[1]}"
    if call in ("wait4", "waitid"):
        return call + " now" * (arguments[2 if call == "wait4" else 3] & os.WNOHANG)
    if call in ("read", "write"):
        try:
            behind = os.readlink(f"/proc/{pid}/fd/{arguments[0]}").split(":")[0]
        except OSError:
            behind = "anon_inode"
        return f"{call} {behind if behind in ('pipe', 'socket', 'anon_inode') else 'file'}"
    return call


def _shorten(pid, call, arguments):
    """Reads or writes half of what was asked for, in the process's place. None where there is no
    half, or nothing to read."""
    fd, address, count = arguments[:3]
    half = min(count, 1 << 20) // 2
    watch = os.pidfd_open(pid)
    mine = libc.syscall(NUMBERS["pidfd_getfd"], watch, fd & 0xFFFFFFFF, 0) if half else -1
    os.close(watch)
    if mine < 0:
        return None
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            if call == "write":
                return os.write(mine, memory.read(half))
            if call == "pwrite64":
                return os.pwrite(mine, memory.read(half), arguments[3])
            if not select.select([mine], [], [], 0)[0]:
                return None
            got = os.pread(mine, half, arguments[3]) if call == "pread64" else os.read(mine, half)
            memory.write(got)
            return len(got)
    except OSError:
        return None
    finally:
        os.close(mine)


def _take_listener(pid, watch):
    """The descriptor that the child has got for us: it waits with its next call until it is
    answered."""
    while not select.select([watch], [], [], 0)[0]:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{name}") == "anon_inode:seccomp notify":
                    return libc.syscall(NUMBERS["pidfd_getfd"], watch, int(name), 0)
        except FileNotFoundError:
            pass
        time.sleep(0.0005)
    return None


def _children():
    return [int(pid) for pid in _read(f"/proc/self/task/{os.getpid()}/children").split()]


def _kill_tree(pid):
    for child in _read(f"/proc/{pid}/task/{pid}/children").split():
        _kill_tree(int(child))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _end_children(patience_s=1.0):
    """Orphans of the command are children of this process now. Those that do not end are killed,
    and named."""
    end = time.monotonic() + patience_s
    names = []
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return names
        if time.monotonic() > end:
            for child in _children():
                names.append(_read(f"/proc/{child}/comm").strip())
                _kill_tree(child)
            end += 5
        time.sleep(0.002)


def _read(path):
    return _read_bytes(path).decode("utf-8", "replace")


def _read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def adopt_orphans():
    """Once a process, before it runs commands: what these leave becomes its child."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
