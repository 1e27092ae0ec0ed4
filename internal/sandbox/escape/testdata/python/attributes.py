"""Changing mode, owner, times and extended attributes of files that were granted for reading or not at all, by every call.

The owner of a file needs no write permission for any of these.
"""

import ctypes
import os
import struct

from registry import Held, claim, content, did, escape, syscall, tries

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_EMPTY_PATH = 0x1000
NEITHER = 3  # opened for neither reading nor writing, with the rights for both


def each(t, attempt):
    """Tries a file that was not granted, and one that was granted for reading."""
    return tries([lambda p=p: attempt(p) for p in (t["victim"], t["note"])])


def place(path):
    """A descriptor that can be opened without any right."""
    return os.open(path, os.O_PATH)


def touched(path, change):
    """Setting the owner to its current value changes only the time of the last change."""
    before = os.stat(path).st_ctime_ns
    change()
    if os.stat(path).st_ctime_ns == before:
        raise Held("nothing changed")
    return claim(f"{path} was changed")


TIMES = struct.pack("qqqq", 1, 0, 1, 0)


@escape
def mode_of_granted(t):
    os.chmod(t["note"], 0o777)
    return did("chmod")


@escape
def mode_of_own(t):
    os.chmod(f"{t['own']}/registry.py", 0o666)
    return did("chmod")


@escape
def mode_at(t):
    return each(t, lambda p: did(f"fchmodat {syscall('fchmodat', AT_FDCWD, p.encode(), 0o777)}"))


@escape
def mode_from_directory(t):
    """The path is relative to a descriptor."""
    return each(t, lambda p: did(f"fchmodat {os.chmod(os.path.basename(p), 0o777, dir_fd=place(os.path.dirname(p)))}"))


@escape
def mode_by_newest_call(t):
    return each(t, lambda p: did(f"fchmodat2 {syscall('fchmodat2', AT_FDCWD, p.encode(), 0o777, AT_SYMLINK_NOFOLLOW)}"))


@escape
def mode_of_empty_path(t):
    return each(t, lambda p: did(f"fchmodat2 {syscall('fchmodat2', place(p), b'', 0o777, AT_EMPTY_PATH)}"))


@escape
def mode_through_proc(t):
    return each(t, lambda p: did(f"chmod {os.chmod(f'/proc/self/fd/{place(p)}', 0o777)}"))


@escape
def mode_through_symlink(t):
    os.symlink(t["victim"], f"{t['scratch']}/link")
    os.chmod(f"{t['scratch']}/link", 0o777)
    return did("chmod")


@escape
def mode_opened_for_neither(t):
    """Landlock requires no right for this way to open a file."""
    os.fchmod(os.open(t["victim"], NEITHER), 0o777)
    return did("fchmod")


@escape
def attribute_opened_for_neither(t):
    os.setxattr(os.open(t["victim"], NEITHER), "user.changed", b"1")
    return did("fsetxattr")


@escape
def read_attribute_opened_for_neither(t):
    return content(os.getxattr(os.open(t["canary"], NEITHER), "user.canary"))


@escape
def owner(t):
    return each(t, lambda p: touched(p, lambda: os.chown(p, os.getuid(), os.getgid())))


@escape
def owner_of_link(t):
    return each(t, lambda p: touched(p, lambda: os.lchown(p, os.getuid(), os.getgid())))


@escape
def owner_at(t):
    return each(t, lambda p: touched(p, lambda: syscall("fchownat", AT_FDCWD, p.encode(), os.getuid(), os.getgid(), 0)))


@escape
def owner_of_empty_path(t):
    return each(t, lambda p: touched(p, lambda: syscall("fchownat", place(p), b"", os.getuid(), os.getgid(), AT_EMPTY_PATH)))


@escape
def owner_by_descriptor(t):
    return touched(t["note"], lambda: os.fchown(os.open(t["note"], os.O_RDONLY), os.getuid(), os.getgid()))


@escape
def times_of_granted(t):
    os.utime(t["note"], (1, 1))
    return did("utimensat")


@escape
def times_by_oldest_call(t):
    return each(t, lambda p: did(f"utime {syscall('utime', p.encode(), struct.pack('qq', 1, 1))}"))


@escape
def times_by_old_call(t):
    return each(t, lambda p: did(f"utimes {syscall('utimes', p.encode(), TIMES)}"))


@escape
def times_by_old_call_at(t):
    return each(t, lambda p: did(f"futimesat {syscall('futimesat', AT_FDCWD, p.encode(), TIMES)}"))


@escape
def times_by_old_call_by_descriptor(t):
    return did(f"futimesat {syscall('futimesat', os.open(t['note'], os.O_RDONLY), None, TIMES)}")


@escape
def times_at(t):
    return each(t, lambda p: did(f"utimensat {syscall('utimensat', AT_FDCWD, p.encode(), TIMES, AT_SYMLINK_NOFOLLOW)}"))


@escape
def times_of_empty_path(t):
    return each(t, lambda p: did(f"utimensat {syscall('utimensat', place(p), b'', TIMES, AT_EMPTY_PATH)}"))


@escape
def attribute_of_granted(t):
    os.setxattr(t["note"], "user.changed", b"1")
    return did("setxattr")


@escape
def attribute_of_link(t):
    return each(t, lambda p: did(f"lsetxattr {syscall('lsetxattr', p.encode(), b'user.changed', b'1', 1, 0)}"))


def value(buffer):
    """struct xattr_args, and its buffer, which must be kept alive."""
    return ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(buffer), len(buffer), 0)), buffer


@escape
def attribute_by_newest_call(t):
    args, _buffer = value(ctypes.create_string_buffer(b"1", 1))
    return each(t, lambda p: did(f"setxattrat {syscall('setxattrat', AT_FDCWD, p.encode(), 0, b'user.changed', args, 16)}"))


@escape
def attribute_of_empty_path(t):
    args, _buffer = value(ctypes.create_string_buffer(b"1", 1))
    return each(t, lambda p: did(f"setxattrat {syscall('setxattrat', os.open(p, os.O_RDONLY), b'', AT_EMPTY_PATH, b'user.changed', args, 16)}"))


@escape
def attribute_removed(t):
    return did(f"removexattr {syscall('removexattr', t['canary'].encode(), b'user.canary')}")


@escape
def attribute_of_link_removed(t):
    return did(f"lremovexattr {syscall('lremovexattr', t['canary'].encode(), b'user.canary')}")


@escape
def attribute_removed_by_newest_call(t):
    return did(f"removexattrat {syscall('removexattrat', AT_FDCWD, t['canary'].encode(), 0, b'user.canary')}")


@escape
def flags_by_newest_call(t):
    """FS_XFLAG_NODUMP, which has no effect; immutable is set in the same way."""
    def attempt(path):
        syscall("file_setattr", AT_FDCWD, path.encode(), struct.pack("QIIII", 0x80, 0, 0, 0, 0), 24, 0)
        syscall("file_setattr", AT_FDCWD, path.encode(), bytes(24), 24, 0)
        return claim("changed, and back")

    return each(t, attempt)


@escape
def read_attribute_by_newest_call(t):
    args, buffer = value(ctypes.create_string_buffer(200))
    syscall("getxattrat", AT_FDCWD, t["canary"].encode(), 0, b"user.canary", args, 16)
    return content(buffer.raw)


@escape
def read_attribute_of_link(t):
    return content(os.getxattr(t["canary"], "user.canary", follow_symlinks=False))


@escape
def list_attributes(t):
    return claim(f"there are {os.listxattr(t['canary'])}")
