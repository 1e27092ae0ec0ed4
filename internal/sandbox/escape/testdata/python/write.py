"""Changing files that were not granted, or that were granted for reading."""

import array
import ctypes
import fcntl
import mmap
import os
import struct

from registry import call, claim, did, escape, read, syscall, write


@escape
def write_file(t):
    write(t["victim"], b"changed")
    return did("written")


@escape
def append_to_file(t):
    with open(t["victim"], "ab") as file:
        file.write(b"changed")
    return did("appended")


@escape
def truncate_file(t):
    os.truncate(t["victim"], 0)
    return did("truncated")


@escape
def delete_file(t):
    os.unlink(t["victim"])
    return did("deleted")


@escape
def create_file(t):
    write(f"{t['secret']}/new", b"new")
    return did("created")


@escape
def create_directory(t):
    os.mkdir(f"{t['secret']}/new")
    return did("created")


@escape
def create_fifo(t):
    os.mkfifo(f"{t['secret']}/new")
    return did("created")


@escape
def create_symlink(t):
    os.symlink("/", f"{t['secret']}/new")
    return did("created")


@escape
def change_mode(t):
    os.chmod(t["victim"], 0o777)
    return did("chmod")


@escape
def change_times(t):
    os.utime(t["victim"], (1, 1))
    return did("utime")


@escape
def change_attribute(t):
    os.setxattr(t["victim"], "user.changed", b"1")
    return did("setxattr")


@escape
def change_owner(t):
    os.chown(t["victim"], 12345, 12345)
    return did("chown")


@escape
def move_file_out(t):
    os.rename(t["victim"], f"{t['scratch']}/taken")
    return did("renamed")


@escape
def move_file_over(t):
    write(f"{t['scratch']}/mine", b"changed")
    os.rename(f"{t['scratch']}/mine", t["victim"])
    return did("replaced")


@escape
def exchange_files(t):
    write(f"{t['scratch']}/mine", b"changed")
    syscall("renameat2", -100, f"{t['scratch']}/mine".encode(), -100, t["victim"].encode(), 2)
    return did("exchanged")


@escape
def link_file_in_and_write(t):
    os.link(t["victim"], f"{t['scratch']}/linked")
    write(f"{t['scratch']}/linked", b"changed")
    return did("written through a hard link")


@escape
def link_file_out(t):
    write(f"{t['scratch']}/mine", b"mine")
    os.link(f"{t['scratch']}/mine", f"{t['secret']}/new")
    return did("linked")


@escape
def link_nameless_file_out(t):
    fd = os.open(t["scratch"], os.O_TMPFILE | os.O_RDWR, 0o644)
    call("linkat", -100, f"/proc/self/fd/{fd}".encode(), -100, f"{t['secret']}/new".encode(), 0x400)
    return did("linked")


@escape
def write_through_symlink(t):
    os.symlink(t["victim"], f"{t['scratch']}/link")
    write(f"{t['scratch']}/link", b"changed")
    return did("written")


@escape
def write_through_dotdot(t):
    write(f"{t['scratch']}/../secret/victim", b"changed")
    return did("written")


@escape
def write_proc_self_root(t):
    write(f"/proc/self/root{t['victim']}", b"changed")
    return did("written")


@escape
def write_root_of_init(t):
    write(f"/proc/1/root{t['victim']}", b"changed")
    return did("written")


@escape
def write_a_name_everywhere(t):
    """Directories that are usually writable."""
    done = []
    for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/dev/mqueue", os.path.dirname(t["scratch"])):
        try:
            write(f"{place}/{t['stray']}", b"stray")
            done.append(place)
        except OSError as error:
            refusal = error
    if not done:
        raise refusal
    return did(" ".join(done))


@escape
def write_granted_for_reading(t):
    write(t["note"], b"changed")
    return did("written")


@escape
def write_reopened_descriptor(t):
    fd = os.open(t["note"], os.O_PATH)
    write(f"/proc/self/fd/{fd}", b"changed")
    return did("written")


@escape
def write_shared_mapping(t):
    fd = os.open(t["note"], os.O_RDWR)
    mmap.mmap(fd, 4, mmap.MAP_SHARED, mmap.PROT_WRITE)[0:4] = b"gone"
    return did("written")


@escape
def write_hard_link_to_granted(t):
    os.link(t["note"], f"{t['scratch']}/linked")
    write(f"{t['scratch']}/linked", b"changed")
    return did("written")


@escape
def change_mode_by_descriptor(t):
    """fchmod needs the owner, but not a writable descriptor."""
    os.fchmod(os.open(t["note"], os.O_RDONLY), 0o777)
    return did("fchmod")


@escape
def change_times_by_descriptor(t):
    os.utime(os.open(t["note"], os.O_RDONLY), (1, 1))
    return did("futimens")


@escape
def change_attribute_by_descriptor(t):
    os.setxattr(os.open(t["note"], os.O_RDONLY), "user.changed", b"1")
    return did("fsetxattr")


@escape
def change_flags_by_descriptor(t):
    """FS_NODUMP_FL, which has no effect; immutable is set in the same way."""
    fd = os.open(t["note"], os.O_RDONLY)
    flags = array.array("l", [0])
    fcntl.ioctl(fd, 0x80086601, flags, True)
    fcntl.ioctl(fd, 0x40086602, struct.pack("l", flags[0] ^ 0x40))
    fcntl.ioctl(fd, 0x40086602, struct.pack("l", flags[0]))
    return claim("changed, and back")


@escape
def delete_granted_for_reading(t):
    os.unlink(t["note"])
    return did("deleted")


@escape
def move_granted_for_reading(t):
    os.rename(t["note"], f"{t['scratch']}/taken")
    return did("renamed")


@escape
def replace_granted_directory(t):
    os.rename(t["granted"], f"{t['scratch']}/taken")
    os.rename(f"{t['scratch']}/taken", t["granted"])
    return claim("moved, and back")


@escape
def replace_scratch_by_symlink(t):
    """The next program that opens the granted directory would be led elsewhere."""
    aside = t["scratch"] + ".aside"
    os.rename(t["scratch"], aside)
    os.rename(aside, t["scratch"])
    return claim("moved, and back")


@escape
def write_own_code(t):
    with open(f"{t['own']}/registry.py", "ab") as file:
        file.write(b"\n# changed\n")
    return did("written")


@escape
def add_to_own_code(t):
    """The next start would import it."""
    write(f"{t['own']}/ctypes.py", b"")
    return did("created")


@escape
def write_interpreter(t):
    """Neither truncated nor written: it is enough that it can be opened."""
    os.close(os.open("/proc/self/exe", os.O_WRONLY))
    return claim("opened for writing")


@escape
def write_program_of_init(t):
    """How runc was once overwritten from inside its container."""
    os.close(os.open("/proc/1/exe", os.O_WRONLY))
    return claim("opened for writing")


@escape
def write_granted_program(t):
    write(t["tool"], read(t["tool"]) + b" ", 0o755)
    return did("written")


@escape
def copy_over_with_fallocate(t):
    fd = os.open(t["victim"], os.O_WRONLY)
    call("fallocate", fd, 0, ctypes.c_long(0), ctypes.c_long(8192))
    return did("grown")


@escape
def make_setuid_file(t):
    """Left in a granted directory, where any user could run it as the host's user."""
    os.chmod(write(f"{t['scratch']}/suid", b"x"), 0o4755)
    return did("a setuid file")


@escape
def make_setuid_file_at_once(t):
    os.umask(0)
    os.close(os.open(f"{t['scratch']}/suid", os.O_WRONLY | os.O_CREAT, 0o6755))
    return did("a setuid file")


@escape
def remove_tree_above_scratch(t):
    os.unlink(f"{t['scratch']}/../secret/tree/leaf")
    os.rmdir(f"{t['scratch']}/../secret/tree")
    return did("removed")
