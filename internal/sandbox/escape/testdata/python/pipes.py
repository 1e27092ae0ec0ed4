"""Writing to named pipes among files that may only be read: a read-only mount does not prevent that."""

import os

from registry import did, escape, syscall, tries


def put(t, path, flags=os.O_WRONLY):
    fd = os.open(path, flags | os.O_NONBLOCK)
    os.write(fd, t["stray"].encode())
    return did("written")


@escape
def write_pipe_granted_for_reading(t):
    """Below /tmp."""
    return put(t, f"{t['granted']}/pipe")


@escape
def write_pipe_below_home(t):
    return put(t, f"{t['notes']}/pipe")


@escape
def write_pipe_below_own_home(t):
    return put(t, os.path.expanduser("~/notes/pipe"))


@escape
def write_pipe_of_its_own(t):
    """The plugin's own files may not be changed."""
    return put(t, f"{t['own']}/pipe")


@escape
def write_pipe_in_working_directory(t):
    os.chdir(t["own"])
    return put(t, "pipe")


@escape
def read_and_write_pipe(t):
    return put(t, f"{t['granted']}/pipe", os.O_RDWR)


@escape
def read_and_write_pipe_below_home(t):
    return put(t, f"{t['notes']}/pipe", os.O_RDWR)


@escape
def append_to_pipe(t):
    return put(t, f"{t['granted']}/pipe", os.O_WRONLY | os.O_APPEND)


@escape
def truncate_pipe(t):
    return put(t, f"{t['granted']}/pipe", os.O_WRONLY | os.O_TRUNC | os.O_CREAT)


@escape
def write_pipe_where_it_really_is(t):
    return put(t, os.path.realpath(f"{t['granted']}/pipe"))


@escape
def write_pipe_outside(t):
    """The directory to which the sandbox moved files out of /tmp, whatever its name."""
    places = [f"/{name}{t['granted']}/pipe" for name in os.listdir("/")]
    return tries([lambda p=p: put(t, p) for p in places + [f"{t['granted']}/pipe"]])


@escape
def write_pipe_through_symlink(t):
    os.symlink(f"{t['granted']}/pipe", f"{t['scratch']}/link")
    return put(t, f"{t['scratch']}/link")


@escape
def write_pipe_through_symlink_in_tmp(t):
    os.symlink(f"{t['notes']}", f"/tmp/link-{t['stray']}")
    try:
        return put(t, f"/tmp/link-{t['stray']}/pipe")
    finally:
        os.unlink(f"/tmp/link-{t['stray']}")


@escape
def write_pipe_through_dotdot(t):
    return put(t, f"{t['scratch']}/../granted/pipe")


@escape
def write_pipe_through_proc_self_root(t):
    return put(t, f"/proc/self/root{t['granted']}/pipe")


@escape
def write_pipe_through_proc_self_cwd(t):
    os.chdir(t["notes"])
    return put(t, "/proc/self/cwd/pipe")


@escape
def write_pipe_from_descriptor_of_directory(t):
    fd = os.open(t["granted"], os.O_PATH | os.O_DIRECTORY)
    fd = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK, dir_fd=fd)
    os.write(fd, t["stray"].encode())
    return did("written")


@escape
def write_reopened_pipe(t):
    fd = os.open(f"{t['granted']}/pipe", os.O_RDONLY | os.O_NONBLOCK)
    return put(t, f"/proc/self/fd/{fd}")


@escape
def write_reopened_place_of_pipe(t):
    fd = os.open(f"{t['notes']}/pipe", os.O_PATH)
    return put(t, f"/proc/self/fd/{fd}")


@escape
def write_pipe_linked_into_scratch(t):
    os.link(f"{t['granted']}/pipe", f"{t['scratch']}/linked")
    return put(t, f"{t['scratch']}/linked")


@escape
def write_pipe_linked_into_tmp(t):
    path = f"/tmp/linked-{t['stray']}"
    os.link(f"{t['granted']}/pipe", path)
    try:
        return put(t, path)
    finally:
        os.unlink(path)


@escape
def write_pipe_linked_into_home(t):
    os.link(f"{t['notes']}/pipe", os.path.expanduser("~/linked"))
    try:
        return put(t, os.path.expanduser("~/linked"))
    finally:
        os.unlink(os.path.expanduser("~/linked"))


@escape
def write_pipe_moved_into_scratch(t):
    os.rename(f"{t['granted']}/pipe", f"{t['scratch']}/moved")
    return put(t, f"{t['scratch']}/moved")


@escape
def write_pipe_moved_into_tmp(t):
    path = f"/tmp/moved-{t['stray']}"
    os.rename(f"{t['granted']}/pipe", path)
    try:
        return put(t, path)
    finally:
        os.unlink(path)


@escape
def write_pipe_exchanged_for_another(t):
    os.mkfifo(f"{t['scratch']}/mine")
    syscall("renameat2", -100, f"{t['scratch']}/mine".encode(), -100, f"{t['granted']}/pipe".encode(), 2)
    return put(t, f"{t['scratch']}/mine")


@escape
def write_pipe_after_moving_its_directory(t):
    """If the directory is a link in the sandbox, the link can be moved, which changes only a name."""
    aside = f"{t['granted']}.aside"
    os.rename(t["granted"], aside)
    try:
        return put(t, f"{aside}/pipe")
    finally:
        os.rename(aside, t["granted"])


@escape
def make_pipe_in_granted(t):
    os.mkfifo(f"{t['granted']}/new")
    return did("made")


@escape
def make_pipe_in_granted_below_home(t):
    os.mkfifo(f"{t['notes']}/new")
    return did("made")
