"""Reading files that were not granted, and data about them."""

import ctypes
import os
import struct
import sys

from registry import Held, claim, content, escape, libc, output, read, syscall, tries


@escape
def read_file(t):
    return content(read(t["canary"]))


@escape
def read_home(t):
    return content(read(t["home_canary"]))


@escape
def read_through_dotdot(t):
    return content(read(f"{t['granted']}/../secret/canary"))


@escape
def read_through_symlink(t):
    os.symlink(t["canary"], f"{t['scratch']}/link")
    return content(read(f"{t['scratch']}/link"))


@escape
def read_through_symlinked_directory(t):
    os.symlink("../secret", f"{t['scratch']}/link")
    return content(read(f"{t['scratch']}/link/canary"))


@escape
def read_relative_to_a_descriptor(t):
    fd = os.open(t["scratch"], os.O_RDONLY)
    return content(os.read(os.open("../secret/canary", os.O_RDONLY, dir_fd=fd), 100))


@escape
def read_with_openat2(t):
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)
    return content(os.read(syscall("openat2", -100, t["canary"].encode(), how, ctypes.sizeof(how)), 100))


@escape
def read_a_reopened_o_path(t):
    fd = os.open(t["canary"], os.O_PATH)
    return content(read(f"/proc/self/fd/{fd}"))


@escape
def read_proc_self_root(t):
    return content(read(f"/proc/self/root{t['canary']}"))


@escape
def read_proc_self_cwd(t):
    return content(read(f"/proc/self/cwd/{'../' * 20}{t['canary']}"))


@escape
def read_root_of_init(t):
    return content(read(f"/proc/1/root{t['canary']}"))


@escape
def read_root_of_parent(t):
    return content(read(f"/proc/{os.getppid()}/root{t['canary']}"))


@escape
def read_root_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/root{t['canary']}"))


@escape
def read_cwd_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/cwd/secret/canary"))


@escape
def read_descriptor_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/fd/{t['host_fd']}"))


@escape
def read_descriptor_of_init(t):
    """The first process of the sandbox may hold the host's files."""
    paths = [f"/proc/1/fd/{fd}" for fd in os.listdir("/proc/1/fd")]
    return content(b" ".join(read(path, 200) for path in paths if os.path.isfile(path)))


@escape
def read_by_file_handle(t):
    """Handles can be guessed: on ext4 they consist of the inode number and, if not zero, its generation."""
    kind, _, value = t["handle"].partition(":")
    value = bytes.fromhex(value)
    handle = ctypes.create_string_buffer(struct.pack("Ii", len(value), int(kind)) + value)

    def below(directory):
        mount = os.open(directory, os.O_RDONLY)
        return content(os.read(syscall("open_by_handle_at", mount, handle, os.O_RDONLY), 100))

    return tries([lambda d=d: below(d) for d in (t["scratch"], t["granted"], t["own"], "/usr", "/")])


@escape
def read_by_another_program(t):
    return content(output(["/bin/cat", t["canary"]]))


@escape
def read_as_a_script(t):
    """An interpreter quotes the line that it cannot parse."""
    return content(output([sys.executable, "-S", "-E", t["canary"]]))


@escape
def list_directory(t):
    return content(" ".join(os.listdir(t["secret"])))


@escape
def list_tmp(t):
    return content(" ".join(os.listdir("/tmp")))


@escape
def list_parents(t):
    """Directories on the way to a grant must not show their other entries."""
    names, path = [], t["granted"]
    while path != "/":
        path = os.path.dirname(path)
        try:
            names += os.listdir(path)
        except OSError:
            pass
    return content(" ".join(names))


@escape
def stat_file(t):
    return content(f"mtime {os.stat(t['canary']).st_mtime_ns}")


@escape
def stat_file_with_statx(t):
    """Through libc's wrapper, because a filter may know only one of the two calls."""
    out = ctypes.create_string_buffer(256)
    if libc.statx(-100, t["canary"].encode(), 0, 0xFFF, out) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    seconds, nanoseconds = struct.unpack_from("qI", out, 0x70)
    return content(f"mtime {seconds * 10**9 + nanoseconds}")


@escape
def read_attribute(t):
    return content(os.getxattr(t["canary"], "user.canary"))


@escape
def read_symlink(t):
    return content(os.readlink(f"{t['secret']}/pointer"))


@escape
def watch_directory(t):
    """inotify reports every name that is opened, without a right to read it."""
    fd = libc.inotify_init()
    if libc.inotify_add_watch(fd, t["secret"].encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return claim("the directory can be watched")


@escape
def tell_existing_from_missing(t):
    """If existing files are refused with another error, that is an answer."""
    def refusal(attempt, path):
        try:
            attempt(path)
        except OSError as error:
            return error.errno
        return 0

    attempts = {
        "stat": os.stat,
        "open": lambda p: os.close(os.open(p, os.O_RDONLY)),
        "open a path": lambda p: os.close(os.open(p, os.O_PATH)),
        "list": os.listdir,
        "access": lambda p: os.access(p, os.F_OK) or os.stat("/nowhere"),
        "readlink": os.readlink,
        "chdir": os.chdir,
        "statvfs": os.statvfs,
        "mkdir": os.mkdir,
        "link": lambda p: os.link(p, f"{t['scratch']}/linked"),
        "rename": lambda p: os.rename(f"{t['scratch']}/none", p),
        "getxattr": lambda p: os.getxattr(p, "user.none"),
        "execute": lambda p: os.execv(p + "/", ["x"]),
        "truncate": lambda p: os.truncate(p + "/", 0),
    }
    for name, attempt in attempts.items():
        if refusal(attempt, t["canary"]) != refusal(attempt, t["missing"]):
            return claim(f"{name} tells")
    raise Held("no difference")


@escape
def read_mounts(t):
    return content(read("/proc/self/mountinfo"))


@escape
def read_mounts_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/mountinfo"))


@escape
def read_inherited_directory(t):
    return content(" ".join(os.listdir(".")))


@escape
def read_inherited_descriptors(t):
    found = b""
    for fd in range(3, 1024):
        try:
            found += os.pread(fd, 200, 0)
        except OSError:
            continue
    if not found:
        raise Held("nothing inherited can be read")
    return content(found)


@escape
def read_own_environment(t):
    return content(" ".join(os.environ.values()))
