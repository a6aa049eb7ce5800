"""
The one place that says how system calls fail here.

A call that a run makes and that stands in neither table fails the test, which
asks for its line.
"""

# name: (errors that a run must bear, errors that it may bear or refuse with a sentence). "short" is
# half of a read or a write. Of fcntl and futex the command is part of the name: fcntl 1030
# duplicates (F_DUPFD_CLOEXEC), 6 locks (F_SETLK); futex 0 and 9 wait. Of wait4 and waitid "now" are
# those that do not wait (WNOHANG), which no signal ends. Of read and write what they read or write
# is: a file, a pipe, a socket or something else, which the kernel calls anon_inode.
FAILING = {
    "accept4": ("EINTR EAGAIN ECONNABORTED", "EMFILE ENFILE ENOBUFS ENOMEM"),
    "bind": ("", "ENOMEM ENOBUFS EADDRINUSE EACCES"),
    "clock_nanosleep": ("EINTR", ""),
    "clone": ("", "EAGAIN ENOMEM"),
    "clone3": ("", "EAGAIN ENOMEM"),
    "connect": ("EINTR EAGAIN ECONNREFUSED", "ENOBUFS ENOMEM"),
    "dup": ("", "EMFILE"),
    "dup2": ("EINTR", "EMFILE"),
    "dup3": ("EINTR", "EMFILE"),
    "epoll_create1": ("", "EMFILE ENFILE ENOMEM"),
    "epoll_ctl": ("", "ENOMEM ENOSPC"),
    "epoll_pwait": ("EINTR", ""),
    "epoll_wait": ("EINTR", ""),
    "eventfd2": ("", "EMFILE ENFILE ENOMEM"),
    "execve": ("", "EACCES ENOMEM EMFILE"),
    "fallocate": ("EINTR", "ENOSPC ENOMEM"),
    "fcntl 0": ("", "EMFILE"),
    "fcntl 6": ("", "EINTR ENOLCK"),
    "fcntl 7": ("EINTR", "ENOLCK"),
    "fcntl 1030": ("", "EMFILE"),
    "fdatasync": ("", "EINTR EIO ENOSPC"),
    "flock": ("EINTR", "ENOLCK"),
    "fork": ("", "EAGAIN ENOMEM"),
    "fsync": ("", "EINTR EIO ENOSPC"),
    "ftruncate": ("EINTR", "ENOSPC ENOMEM"),
    "futex 0": ("EINTR EAGAIN", ""),
    "futex 9": ("EINTR EAGAIN", ""),
    "getrandom": ("EINTR short", ""),
    "getsockopt": ("", "ENOBUFS"),
    "listen": ("", "EADDRINUSE"),
    "lseek": ("", "EIO"),
    "madvise": ("EAGAIN", ""),
    "mbind": ("ENOMEM EPERM ENOSYS", ""),
    "memfd_create": ("", "EMFILE ENFILE ENOMEM"),
    "mkdir": ("", "ENOSPC EACCES"),
    "mkdirat": ("", "ENOSPC EACCES"),
    "mmap": ("", "ENOMEM EAGAIN"),
    "mount": ("", "EPERM ENOMEM"),
    "mprotect": ("", "ENOMEM"),
    "mremap": ("", "ENOMEM"),
    "nanosleep": ("EINTR", ""),
    "open": ("", "EINTR EMFILE ENFILE ENOMEM EACCES ENOSPC"),
    "openat": ("", "EINTR EMFILE ENFILE ENOMEM EACCES ENOSPC"),
    "pidfd_open": ("", "EMFILE ENFILE ENOMEM ENOSYS"),
    "pipe": ("", "EMFILE ENFILE"),
    "pipe2": ("", "EMFILE ENFILE"),
    "poll": ("EINTR", "ENOMEM"),
    "ppoll": ("EINTR", "ENOMEM"),
    "pread64": ("EINTR short", "EIO"),
    "pwrite64": ("short", "EINTR ENOSPC EIO"),
    "read file": ("short", "EINTR EIO"),
    "read pipe": ("EINTR", ""),
    "read socket": ("EINTR EAGAIN short", "ECONNRESET"),
    "read anon_inode": ("EINTR EAGAIN", ""),
    "recvfrom": ("EINTR EAGAIN", "ECONNRESET ENOMEM ENOBUFS"),
    "recvmsg": ("EINTR EAGAIN", "ECONNRESET ENOMEM"),
    "rename": ("", "ENOSPC EACCES"),
    "renameat2": ("", "ENOSPC EACCES"),
    "rt_sigtimedwait": ("EINTR EAGAIN", ""),
    "select": ("EINTR", ""),
    "sendmsg": ("EINTR EAGAIN", "ENOBUFS ENOMEM ETOOMANYREFS ECONNRESET EPIPE"),
    "sendto": ("EINTR EAGAIN", "ENOBUFS ENOMEM ECONNRESET EPIPE"),
    "setns": ("", "EPERM ENOMEM"),
    "setsockopt": ("", "ENOMEM"),
    "signalfd4": ("", "EMFILE ENFILE ENOMEM"),
    "socket": ("", "EMFILE ENFILE ENOBUFS ENOMEM"),
    "socketpair": ("", "EMFILE ENFILE ENOBUFS ENOMEM"),
    "timer_create": ("", "EAGAIN ENOMEM"),
    "timerfd_create": ("", "EMFILE ENFILE ENOMEM"),
    "unshare": ("", "EPERM ENOMEM ENOSPC"),
    "vfork": ("", "EAGAIN ENOMEM"),
    "wait4": ("EINTR", ""),
    "waitid": ("EINTR", ""),
    "write file": ("short", "EINTR ENOSPC EIO"),
    "write pipe": ("EINTR", ""),
    "write socket": ("short", "EINTR EPIPE ECONNRESET"),
    "write anon_inode": ("EINTR", ""),
    "writev": ("", "EINTR ENOSPC EIO"),
}

# What does not fail for lack of anything, or whose failure means another thing than the fault: that
# a file is not there, say. Nor brk: the C library's malloc crashes where it fails once (glibc 2.36,
# any program that goes on allocating).
PASSED = set("""
    access arch_prctl brk chdir clock_getres clock_gettime close close_range exit exit_group
    faccessat faccessat2 fchdir fchmod fstat getcwd getdents64 getegid geteuid getgid getpeername
    getpgid getpgrp getpid getppid getrlimit getrusage getsid getsockname gettid gettimeofday getuid
    ioctl kill lstat munmap newfstatat pause pidfd_send_signal poll_wait prctl prlimit64
    process_vm_readv process_vm_writev readlink readlinkat restart_syscall rmdir rseq rt_sigaction
    rt_sigprocmask rt_sigreturn rt_sigsuspend sched_getaffinity sched_getparam sched_getscheduler
    sched_setaffinity sched_yield set_robust_list set_tid_address setitimer setpgid setsid shutdown
    sigaltstack stat statfs statx sysinfo tgkill timer_delete timer_settime umask uname unlink
    unlinkat
    """.split())
PASSED |= {f"fcntl {command}" for command in (1, 2, 3, 4, 5)}  # flags, and who holds a lock
PASSED |= {"wait4 now", "waitid now"}
# to wake never fails
PASSED |= {f"futex {command}" for command in (1, 3, 4, 5, 6, 7, 8, 10, 11, 12)}

# Calls that are not even counted: a run makes thousands.
TOO_MANY = {
    "sched_yield", "clock_gettime", "gettimeofday", "rt_sigreturn", "restart_syscall", "exit",
    "exit_group", "rseq"
}

# What a sentence may say in place of the C library's words for an error.
CAUSES = {
    # pthread_create says EAGAIN for all that it lacks
    # the C library's streams forget why they failed
    **dict.fromkeys(("EINTR", "EIO", "ENOSPC"), "what was printed is lost"),
    "ENFILE": "no room for more open files",
    "ECONNRESET": r"rank \d+ of \d+ is lost",
    "EPIPE": r"rank \d+ of \d+ is lost",
    "ENOMEM": "no memory|out of memory|Resource temporarily unavailable|cannot start a thread",
    "EMFILE": "ulimit -n|limit (of|on) open files",
    "EAGAIN": "no memory|cannot start a thread|cannot start",
    "EADDRINUSE": "another process is rank 0",
}
