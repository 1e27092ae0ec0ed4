"""Memory, queues and keys that processes of one machine share."""

import ctypes
import os

from registry import Held, claim, content, did, escape, libc, read, syscall, write

KEYCTL_GET_KEYRING_ID, KEYCTL_SEARCH, KEYCTL_READ, KEYCTL_JOIN_SESSION_KEYRING = 0, 10, 11, 1
USER_KEYRING, SESSION_KEYRING = -4, -3


@escape
def sysv_memory(t):
    identity = syscall("shmget", int(t["ipc_key"]), 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(ctypes.c_int(identity), None, 0o10000)
    return content(ctypes.string_at(address, 64))


@escape
def sysv_queue(t):
    identity = syscall("msgget", int(t["ipc_key"]), 0)
    message = ctypes.create_string_buffer(256)
    syscall("msgrcv", identity, message, 128, 0, 0o4000)
    return content(message.raw[8:])


@escape
def sysv_semaphore(t):
    """Its value is a number that only the host knows."""
    identity = syscall("semget", int(t["ipc_key"]), 0, 0)
    return content(f"semaphore {syscall('semctl', identity, 0, 12, 0)}")


@escape
def sysv_tables(t):
    return content("\n".join(f"key {line.split()[0]}" for line in read("/proc/sysvipc/shm").decode().splitlines()))


@escape
def posix_memory(t):
    return content(read(f"/dev/shm/{t['shared']}"))


@escape
def posix_memory_changed(t):
    write(f"/dev/shm/{t['shared']}.victim", b"changed")
    return did("written")


@escape
def posix_queue(t):
    queue = syscall("mq_open", t["shared"].encode(), os.O_RDONLY | os.O_NONBLOCK, 0, None)
    message = ctypes.create_string_buffer(8192)
    syscall("mq_timedreceive", queue, message, 8192, None, None)
    return content(message.raw[:100])


@escape
def keyring_of_user(t):
    key = syscall("keyctl", KEYCTL_SEARCH, USER_KEYRING, b"user", t["key"].encode(), 0)
    value = ctypes.create_string_buffer(128)
    syscall("keyctl", KEYCTL_READ, key, value, 128, 0)
    return content(value.raw)


@escape
def keyring_by_number(t):
    """Serial numbers can be tried one by one."""
    value = ctypes.create_string_buffer(128)
    syscall("keyctl", KEYCTL_READ, int(t["key_serial"]), value, 128, 0)
    return content(value.raw)


@escape
def keyring_list(t):
    return content(read("/proc/keys"))


@escape
def keyring_used_at_all(t):
    """Keys outlive the process that created them, and the kernel's code for them has had security holes."""
    return claim(f"key {syscall('add_key', b'user', b'escape', b'x', 1, -1)}")


@escape
def keyring_of_session(t):
    return claim(f"keyring {syscall('keyctl', KEYCTL_JOIN_SESSION_KEYRING, None, 0, 0, 0)}")


@escape
def terminal_written(t):
    """The operator's terminal: text written there looks like output of the host."""
    with open("/dev/tty", "wb", buffering=0) as tty:
        tty.write(t["stray"].encode())
    return did("written")


@escape
def terminal_injected(t):
    """TIOCSTI simulates input at the operator's terminal."""
    import fcntl

    with open("/dev/tty", "rb", buffering=0) as tty:
        fcntl.ioctl(tty, 0x5412, b"x")
    return claim("typed")


@escape
def terminals_of_others(t):
    for name in os.listdir("/dev/pts"):
        if name.isdigit() and os.access(f"/dev/pts/{name}", os.W_OK):
            with open(f"/dev/pts/{name}", "wb", buffering=0) as tty:
                tty.write(t["stray"].encode())
            return did("written")
    raise Held("there is none")
