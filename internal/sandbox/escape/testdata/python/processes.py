"""Seeing, reading, stopping and changing processes outside the sandbox."""

import ctypes
import fcntl
import glob
import os
import re
import resource
import signal
import struct
import time

from registry import Held, claim, content, did, escape, libc, read, syscall, tries

SECRET = re.compile(rb"canary-[0-9a-f]+")


@escape
def read_command_line(t):
    return content(read(f"/proc/{t['canary_pid']}/cmdline"))


@escape
def read_environment_of_process(t):
    return content(read(f"/proc/{t['canary_pid']}/environ"))


@escape
def read_environment_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/environ"))


@escape
def read_environment_of_parent(t):
    return content(read(f"/proc/{os.getppid()}/environ"))


@escape
def read_environment_of_init(t):
    return content(read("/proc/1/environ"))


@escape
def search_all_processes(t):
    """Anything that is visible of any process, by its pid."""
    found = []
    for path in glob.glob("/proc/[0-9]*/[ec][nm][vd]*"):
        if path.split("/")[2] == str(os.getpid()):
            continue
        try:
            found += SECRET.findall(read(path))
        except OSError:
            continue
    return content(b" ".join(found))


@escape
def search_all_working_directories(t):
    return content(" ".join(os.readlink(p) for p in glob.glob("/proc/[0-9]*/cwd") if os.access(p, os.R_OK)))


@escape
def read_maps_of_host(t):
    return content(read(f"/proc/{t['host_pid']}/maps"))


@escape
def read_memory_of_host(t):
    with open(f"/proc/{t['host_pid']}/mem", "rb", buffering=0) as memory:
        memory.seek(int(t["memory"]))
        return content(memory.read(64))


@escape
def write_memory_of_host(t):
    with open(f"/proc/{t['host_pid']}/mem", "r+b", buffering=0) as memory:
        memory.seek(int(t["memory"]) + 64)
        memory.write(b"changed")
    return did("written")


def across(name, t, offset, data):
    mine = ctypes.create_string_buffer(data, 64)
    local = (ctypes.c_ulong * 2)(ctypes.addressof(mine), len(data))
    remote = (ctypes.c_ulong * 2)(int(t["memory"]) + offset, len(data))
    syscall(name, int(t["host_pid"]), local, 1, remote, 1, 0)
    return mine.raw


@escape
def read_memory_across(t):
    return content(across("process_vm_readv", t, 0, bytes(48)))


@escape
def write_memory_across(t):
    across("process_vm_writev", t, 64, b"changed")
    return did("written")


def seize(pid):
    syscall("ptrace", 0x4206, pid, 0, 0)
    libc.ptrace(17, pid, 0, 0)
    return claim("traced")


@escape
def trace_process(t):
    return seize(int(t["canary_pid"]))


@escape
def trace_host(t):
    return seize(int(t["host_pid"]))


@escape
def trace_init(t):
    return seize(1)


@escape
def trace_parent(t):
    if os.getppid() == 0:
        raise Held("no parent is to be seen")
    return seize(os.getppid())


@escape
def steal_descriptor_of_host(t):
    pidfd = syscall("pidfd_open", int(t["host_pid"]), 0)
    return content(os.pread(syscall("pidfd_getfd", pidfd, int(t["host_fd"]), 0), 100, 0))


@escape
def steal_descriptors_of_init(t):
    """For example its control socket."""
    pidfd = syscall("pidfd_open", 1, 0)
    return claim(str(tries([lambda n=n: syscall("pidfd_getfd", pidfd, n, 0) for n in range(16)])))


@escape
def look_at_descriptors_of_init(t):
    return claim(" ".join(os.readlink(f"/proc/1/fd/{fd}") for fd in os.listdir("/proc/1/fd")))


@escape
def open_memory_of_init(t):
    os.close(os.open("/proc/1/mem", os.O_RDWR))
    return claim("opened")


@escape
def kill_process(t):
    os.kill(int(t["canary_pid"]), signal.SIGTERM)
    return did("signalled")


@escape
def kill_process_group(t):
    os.killpg(int(t["canary_pid"]), signal.SIGTERM)
    return did("signalled")


@escape
def kill_by_pidfd(t):
    pidfd = syscall("pidfd_open", int(t["canary_pid"]), 0)
    syscall("pidfd_send_signal", pidfd, int(signal.SIGTERM), None, 0)
    return did("signalled")


@escape
def kill_by_thread(t):
    syscall("tgkill", int(t["canary_pid"]), int(t["canary_pid"]), int(signal.SIGTERM))
    return did("signalled")


@escape
def kill_by_queued_signal(t):
    info = ctypes.create_string_buffer(struct.pack("iii", signal.SIGTERM, 0, -1), 128)
    syscall("rt_sigqueueinfo", int(t["canary_pid"]), int(signal.SIGTERM), info)
    return did("signalled")


@escape
def kill_by_descriptor_owner(t):
    """The kernel sends the signal when a pipe becomes readable."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, int(t["canary_pid"]))
    fcntl.fcntl(reader, 10, int(signal.SIGTERM))  # F_SETSIG
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    return did("signalled")


@escape
def signal_host(t):
    """SIGUSR2, which the host counts."""
    os.kill(int(t["host_pid"]), signal.SIGUSR2)
    return did("signalled")


@escape
def signal_parent(t):
    if os.getppid() < 2:
        raise Held("the parent is not to be seen")
    os.kill(os.getppid(), signal.SIGUSR2)
    return did("signalled")


@escape
def change_limits_of_process(t):
    resource.prlimit(int(t["canary_pid"]), resource.RLIMIT_CORE, (0, 0))
    return claim("limits changed")


@escape
def change_priority_of_process(t):
    os.setpriority(os.PRIO_PROCESS, int(t["canary_pid"]), 19)
    return claim("priority changed")


@escape
def change_processors_of_process(t):
    os.sched_setaffinity(int(t["canary_pid"]), os.sched_getaffinity(0))
    return claim("affinity changed")


@escape
def compare_with_host(t):
    result = syscall("kcmp", os.getpid(), int(t["host_pid"]), 1, 0, 0)
    return claim(f"kcmp says {result}")


@escape
def survive(t):
    """Two forks, its own session and ignored signals: is it still running when the plugin has ended?"""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            for fd in (0, 1, 2):
                os.close(fd)
            os.execv("/proc/self/exe", ["python3", "-S", "-E", "-c", "import time; time.sleep(20)", t["stray"]])
        os._exit(0)
    os.wait()
    time.sleep(0.05)
    return did("left behind")
