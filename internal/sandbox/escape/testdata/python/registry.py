"""The list of attempts, and their common functions: results, raw system calls, child processes."""

import ctypes
import os

ESCAPES = {}


class Held(Exception):
    """The attempt achieved nothing."""


class NotApplicable(Exception):
    """The attempt does not apply to this user or machine."""


def escape(function):
    """Registers an attempt by the names of its file and its function, with hyphens."""
    ESCAPES[f"{function.__module__}/{function.__name__.replace('_', '-')}"] = function
    return function


def content(value):
    """Reports what was read. The harness looks for a secret in it, so that an empty copy does not count."""
    if isinstance(value, bytes):
        value = value.replace(b"\0", b" ").decode("latin-1")
    return f"content {value}"


def did(what):
    """Reports what was changed. The harness checks it from outside, so that a change to a private copy does not count."""
    return f"did {what}"


def claim(what):
    return f"claim {what}"


libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# Numbers that differ between the two kinds of machines; those from 424 on are the same everywhere.
NUMBERS = {
    "x86_64": {
        "ptrace": 101, "syslog": 103, "personality": 135, "pivot_root": 155, "adjtimex": 159, "ioperm": 173,
        "mq_open": 240, "mq_timedreceive": 243, "kexec_load": 246, "add_key": 248, "keyctl": 250, "unshare": 272,
        "rt_sigqueueinfo": 129, "tgkill": 234, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
        "renameat2": 316, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323, "clone": 56,
        "capget": 125, "semget": 64, "semctl": 66, "shmget": 29, "shmat": 30, "msgget": 68, "msgrcv": 70, "kill": 62,
        "utime": 132, "utimes": 235, "futimesat": 261, "fchmodat": 268, "fchownat": 260, "utimensat": 280, "lsetxattr": 189, "removexattr": 197,
        "lremovexattr": 198,
    },
    "aarch64": {
        "ptrace": 117, "syslog": 116, "personality": 92, "pivot_root": 41, "adjtimex": 171,
        "mq_open": 180, "mq_timedreceive": 183, "kexec_load": 104, "add_key": 217, "keyctl": 219, "unshare": 97,
        "rt_sigqueueinfo": 138, "tgkill": 131, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "renameat2": 276, "memfd_create": 279, "bpf": 280, "execveat": 281, "userfaultfd": 282, "clone": 220,
        "capget": 90, "semget": 190, "semctl": 191, "shmget": 194, "shmat": 196, "msgget": 186, "msgrcv": 188, "kill": 129,
        "fchmodat": 53, "fchownat": 54, "utimensat": 88, "lsetxattr": 6, "removexattr": 14, "lremovexattr": 15,
    },
}
EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "mount_setattr": 442,
    "quotactl_fd": 443, "memfd_secret": 447, "process_madvise": 440, "landlock_restrict_self": 446,
    "fchmodat2": 452, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466, "open_tree_attr": 467, "file_getattr": 468,
    "file_setattr": 469,
}


def syscall(name, *args):
    """One raw system call; OSError on failure. Arguments are int, bytes, ctypes objects or None."""
    number = EVERYWHERE.get(name) or NUMBERS.get(os.uname().machine, {}).get(name)
    if number is None:
        raise NotApplicable(f"the number of {name} on {os.uname().machine} is not known here")
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def call(function, *args):
    """Calls one libc function, which returns -1 on failure."""
    result = getattr(libc, function)(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")
    return result


def read(path, size=1 << 20):
    with open(path, "rb") as file:
        return file.read(size)


def write(path, data, mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return path


def copy(source, target, mode=0o644):
    return write(target, read(source, -1), mode)


def output(argv, **options):
    """Returns the output of a program, including its error messages."""
    import subprocess  # slow to import, and few attempts need it

    run = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5, **options)
    return run.stdout


def in_child(attempt):
    """Runs attempt in a forked child and raises its refusal, because some attempts cannot be undone."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = attempt()
        except (OSError, Held, NotApplicable) as error:
            said = "!" + (getattr(error, "strerror", None) or str(error))
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(pid, 0)
    if not said or said.startswith("!"):
        raise Held(said[1:] or "the child was killed")
    return said



def tries(attempts):
    """Returns the result of the first way that works; otherwise raises the last refusal."""
    refusal = Held("nothing to try")
    for attempt in attempts:
        try:
            return attempt()
        except (OSError, Held) as error:
            refusal = error
    raise refusal
