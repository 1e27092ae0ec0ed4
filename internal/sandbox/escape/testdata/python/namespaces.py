"""Creating or entering namespaces, and mounting: most recent security holes began with a user namespace."""

import ctypes
import os
import struct

from registry import call, claim, content, did, escape, in_child, read, syscall, tries, write

NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_REMOUNT, MS_BIND, MNT_DETACH = 32, 4096, 2


def unshared(flag):
    return in_child(lambda: claim(f"unshare says {syscall('unshare', flag)}"))


@escape
def unshare_user(t):
    return unshared(NEWUSER)


@escape
def unshare_user_and_network(t):
    return unshared(NEWUSER | NEWNET)


@escape
def unshare_mounts(t):
    return unshared(NEWNS)


@escape
def unshare_network(t):
    return unshared(NEWNET)


@escape
def unshare_processes(t):
    return unshared(NEWPID)


def cloned(number_of):
    pid = number_of()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return claim("cloned into a new user namespace")


@escape
def clone_user(t):
    return cloned(lambda: syscall("clone", NEWUSER | 17, None, None, None, None))


@escape
def clone3_user(t):
    """The flags are in memory, which a filter cannot read."""
    arguments = (ctypes.c_uint64 * 8)(NEWUSER, 0, 0, 0, 17, 0, 0, 0)
    return cloned(lambda: syscall("clone3", arguments, ctypes.sizeof(arguments)))


def entered(t, pid, kind):
    def attempt():
        syscall("setns", os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0)
        return content(read(t["canary"])) if kind == "mnt" else claim(f"entered {kind}")

    return in_child(attempt)


@escape
def enter_mounts_of_host(t):
    return entered(t, t["host_pid"], "mnt")


@escape
def enter_processes_of_host(t):
    return entered(t, t["host_pid"], "pid")


@escape
def enter_names_of_host(t):
    return entered(t, t["host_pid"], "uts")


@escape
def enter_user_of_parent(t):
    """The namespace that owns this one, by NS_GET_PARENT and NS_GET_USERNS."""
    import fcntl

    def attempt():
        own = os.open("/proc/self/ns/user", os.O_RDONLY)
        for request in (0xB702, 0xB701):
            try:
                syscall("setns", fcntl.ioctl(own, request), 0)
                return claim("entered")
            except OSError as error:
                refusal = error
        raise refusal

    return in_child(attempt)


@escape
def enter_by_pidfd(t):
    def attempt():
        syscall("setns", syscall("pidfd_open", int(t["host_pid"]), 0), NEWNET)
        return claim("entered")

    return in_child(attempt)


def mounted(t, source, kind, flags=0):
    call("mount", source, t["scratch"].encode(), kind, ctypes.c_ulong(flags), None)
    call("umount2", t["scratch"].encode(), MNT_DETACH)
    return claim("mounted")


@escape
def mount_memory(t):
    return mounted(t, b"tmpfs", b"tmpfs")


@escape
def mount_proc(t):
    return mounted(t, b"proc", b"proc")


@escape
def mount_sysfs(t):
    return mounted(t, b"sysfs", b"sysfs")


@escape
def mount_bind(t):
    """Mounts the secret directory over the granted one."""
    call("mount", t["secret"].encode(), t["scratch"].encode(), None, ctypes.c_ulong(MS_BIND), None)
    try:
        return content(read(f"{t['scratch']}/canary"))
    finally:
        call("umount2", t["scratch"].encode(), MNT_DETACH)


@escape
def mount_remounted_writable(t):
    """Only its mount makes the directory that is granted for reading read-only."""
    try:
        call("mount", None, t["granted"].encode(), None, ctypes.c_ulong(MS_REMOUNT | MS_BIND), None)
    except OSError:
        call("mount", t["granted"].encode(), t["granted"].encode(), None, ctypes.c_ulong(MS_BIND), None)
        call("umount2", t["granted"].encode(), MNT_DETACH)
    write(t["note"], b"changed")
    return did("written")


@escape
def mount_setattr_writable(t):
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    tries([lambda p=p: syscall("mount_setattr", -100, p.encode(), 0, attributes, 32) for p in (t["granted"], t["own"], "/")])
    write(t["note"], b"changed")
    return did("written")


@escape
def mount_by_new_calls(t):
    context = syscall("fsopen", b"tmpfs", 0)
    syscall("fsconfig", context, 6, None, None, 0)
    return claim(f"mount {syscall('fsmount', context, 0, 0)}")


@escape
def mount_tree_copied(t):
    return claim(f"tree {syscall('open_tree', -100, b'/', 1)}")


@escape
def mount_tree_copied_and_opened_up(t):
    """open_tree_attr copies a tree and changes its attributes in one call; here it removes read-only."""
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0))
    return claim(f"tree {syscall('open_tree_attr', -100, t['granted'].encode(), 1, attributes, 32)}")


@escape
def mount_overlay(t):
    for name in ("upper", "work"):
        os.mkdir(f"{t['scratch']}/{name}")
    options = f"lowerdir={t['secret']},upperdir={t['scratch']}/upper,workdir={t['scratch']}/work"
    os.mkdir(f"{t['scratch']}/merged")
    call("mount", b"overlay", f"{t['scratch']}/merged".encode(), b"overlay", ctypes.c_ulong(0), options.encode())
    try:
        return content(read(f"{t['scratch']}/merged/canary"))
    finally:
        call("umount2", f"{t['scratch']}/merged".encode(), MNT_DETACH)


@escape
def unmount(t):
    """Files under a mount are visible again without it."""
    places = (t["mount"], t["scratch"], t["granted"], t["own"])
    tries([lambda p=p: call("umount2", p.encode(), MNT_DETACH) for p in places])
    return claim("unmounted")


@escape
def pivot(t):
    def attempt():
        syscall("unshare", NEWNS)
        call("mount", None, b"/", None, ctypes.c_ulong(0x44000), None)
        call("mount", b"tmpfs", t["scratch"].encode(), b"tmpfs", ctypes.c_ulong(0), None)
        os.mkdir(f"{t['scratch']}/old")
        syscall("pivot_root", t["scratch"].encode(), f"{t['scratch']}/old".encode())
        return claim("a new root")

    return in_child(attempt)


@escape
def break_out_of_root(t):
    """The oldest escape: a second chroot ends the first."""
    def attempt():
        here = os.open("/", os.O_RDONLY)
        os.chroot(t["scratch"])
        os.fchdir(here)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        return content(read(t["canary"]))

    return in_child(attempt)


@escape
def change_host_name(t):
    name = t["stray"].encode()
    call("sethostname", name, len(name))
    return did("renamed")


@escape
def change_host_name_in_proc(t):
    with open("/proc/sys/kernel/hostname", "w") as file:
        file.write(t["stray"])
    return did("renamed")


@escape
def change_domain_name(t):
    name = t["stray"].encode()
    call("setdomainname", name, len(name))
    return did("renamed")


@escape
def change_id_maps(t):
    """In a user namespace whose maps can be written again, the plugin could become root."""
    def attempt():
        with open("/proc/self/uid_map") as file:
            before = file.read()
        syscall("unshare", NEWUSER)
        with open("/proc/self/uid_map", "w") as file:
            file.write(f"0 {os.getuid() if before.split()[2] == '1' else 0} 1")
        return claim("root of a namespace")

    return in_child(attempt)


@escape
def filesystem_in_memory(t):
    """A file system image made by an attacker can exploit bugs of the kernel."""
    def attempt():
        write(f"{t['scratch']}/image", bytes(1 << 16))
        call("mount", f"{t['scratch']}/image".encode(), t["granted"].encode(), b"ext4", ctypes.c_ulong(0), b"loop")
        return claim("mounted")

    return in_child(attempt)


@escape
def fuse_device(t):
    os.close(os.open("/dev/fuse", os.O_RDWR))
    return claim("opened")
