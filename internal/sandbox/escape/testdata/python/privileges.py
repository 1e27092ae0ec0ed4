"""Powers over the machine: devices, clocks, limits, capabilities, the kernel itself.

A successful attempt leaves no trace: it writes and sets only the values that were there before.
"""

import ctypes
import fcntl
import os
import resource
import stat
import struct

from registry import Held, NotApplicable, call, claim, did, escape, in_child, libc, read, syscall, tries, write


@escape
def hold_capabilities(t):
    status = dict(line.split(":\t", 1) for line in read("/proc/self/status").decode().splitlines() if ":\t" in line)
    held = [name for name in ("CapEff", "CapPrm", "CapAmb") if int(status[name], 16)]
    if not held:
        raise Held("none")
    return claim(" ".join(f"{name} {status[name]}" for name in held))


@escape
def gain_by_exec(t):
    """Capabilities that come back with the next program, as they do for root."""
    import sys
    from registry import output

    said = output([sys.executable, "-S", "-E", "-c", "print([l for l in open('/proc/self/status') if 'CapEff' in l])"])
    if b"CapEff" not in said:
        raise Held(said[-100:].decode("latin-1"))
    if b"0000000000000000" in said:
        raise Held("none came")
    return claim(said.decode())


@escape
def become_another_user(t):
    return in_child(lambda: tries([lambda n=n: claim(f"uid {n}, {os.setresuid(n, n, n)}") for n in (0, 1, 65533) if n != os.getuid()]))


@escape
def become_another_group(t):
    return in_child(lambda: tries([lambda n=n: claim(f"gid {n}, {os.setresgid(n, n, n)}") for n in (0, 1, 65533) if n != os.getgid()]))


@escape
def drop_groups(t):
    """Leaving a group gives access to files that are closed to that group."""
    return in_child(lambda: claim(f"setgroups {os.setgroups([1])}"))


@escape
def raise_limits(t):
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]

    def higher(name):
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        if hard == resource.RLIM_INFINITY:
            raise Held("no limit is finite")
        resource.setrlimit(number, (hard, hard + 1))
        return claim(f"{name} is above {hard}")

    def attempt():
        refusal = Held("no limit is finite")
        for name in names:
            try:
                return higher(name)
            except (OSError, ValueError) as error:
                refusal = Held(error)
            except Held:
                continue
        raise refusal

    return in_child(attempt)


@escape
def allow_core(t):
    """A program of root writes the core where the machine's setting says, and it may be large."""
    def attempt():
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        if 0 <= hard < 4096:
            raise Held(f"{hard} bytes are no core")
        return claim(f"a core of {hard} bytes")

    return in_child(attempt)


@escape
def raise_priority(t):
    return in_child(lambda: claim(f"nice {os.nice(-1)}"))


@escape
def set_clock(t):
    """ADJ_TICK, with its current value."""
    state = ctypes.create_string_buffer(208)
    syscall("adjtimex", state)
    struct.pack_into("I", state, 0, 0x4000)
    return claim(f"adjtimex says {syscall('adjtimex', state)}")


@escape
def make_device(t):
    path = f"{t['scratch']}/device"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return claim(f"{len(read(path, 8))} bytes of a device")


@escape
def make_whiteout(t):
    """A device that any user may create: in a directory of an overlay file system it hides a file."""
    os.mknod(f"{t['scratch']}/whiteout", stat.S_IFCHR, os.makedev(0, 0))
    return did("a whiteout")


@escape
def leave_whiteout(t):
    write(f"{t['scratch']}/moved", b"x")
    syscall("renameat2", -100, f"{t['scratch']}/moved".encode(), -100, f"{t['scratch']}/away".encode(), 4)
    return did("a whiteout")


@escape
def lease_file(t):
    """A process outside that opens the file waits, for up to 45 seconds."""
    fd = os.open(write(f"{t['scratch']}/leased", b"x"), os.O_RDONLY)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return claim("leased")


@escape
def read_kernel_command_line(t):
    said = read("/proc/cmdline").strip()
    if not said:
        raise Held("it is empty")
    return claim(f"{len(said)} bytes")


@escape
def read_own_cgroup(t):
    """Names of services and containers of the machine."""
    paths = {line.split(b":", 2)[2] for line in read("/proc/self/cgroup").splitlines()} - {b"/"}
    if not paths:
        raise Held("it is the root of all it sees")
    return claim(b" ".join(paths).decode())


@escape
def read_disk(t):
    for name in os.listdir("/sys/class/block"):
        try:
            return claim(f"{len(read('/dev/' + name, 512))} bytes of {name}")
        except OSError as error:
            refusal = error
    raise refusal


@escape
def read_memory_of_machine(t):
    return tries([lambda p=p: claim(f"{len(read(p, 64))} bytes of {p}") for p in ("/dev/mem", "/proc/kcore", "/dev/kmem", "/dev/port")])


@escape
def read_kernel_log(t):
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    return claim(f"{len(os.read(fd, 8192))} bytes")


@escape
def read_kernel_log_by_call(t):
    return claim(f"{syscall('syslog', 10, None, 0)} bytes")


@escape
def write_kernel_log(t):
    os.close(os.open("/dev/kmsg", os.O_WRONLY))
    return claim("opened for writing")


@escape
def read_kernel_addresses(t):
    addresses = {line.split()[0] for line in read("/proc/kallsyms").splitlines()[:20]}
    if addresses <= {b"0000000000000000"}:
        raise Held("all are zero")
    return claim("addresses are shown")


@escape
def open_device_of_virtual_machines(t):
    os.close(os.open("/dev/kvm", os.O_RDWR))
    return claim("opened")


def rewritten(path):
    """Writes the current value."""
    value = read(path)
    with open(path, "wb", buffering=0) as file:
        file.write(value.strip() or b"\n")
    return claim(f"{path} can be written")


@escape
def write_core_pattern(t):
    """The kernel runs a program named there as root, outside of any sandbox."""
    return rewritten("/proc/sys/kernel/core_pattern")


@escape
def write_module_loader(t):
    return rewritten("/proc/sys/kernel/modprobe")


@escape
def write_kernel_settings(t):
    names = ("kernel/panic", "vm/swappiness", "fs/file-max", "net/ipv4/ip_forward", "user/max_user_namespaces")
    return tries([lambda n=n: rewritten(f"/proc/sys/{n}") for n in names])


@escape
def write_sysfs(t):
    return tries([lambda p=p: rewritten(p) for p in
                  ("/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/sys/class/net/lo/tx_queue_len")])


@escape
def open_magic_keys(t):
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return claim("opened for writing")


@escape
def change_own_score(t):
    """With a lower score, another process is killed instead when memory runs out."""
    with open("/proc/self/oom_score_adj", "r+") as file:
        file.write("-1000")
    return claim("never killed for memory")


def cgroup_directories():
    root = "/sys/fs/cgroup"
    return [root] + [f"{root}/{name}" for name in os.listdir(root) if os.path.isdir(f"{root}/{name}")]


@escape
def make_cgroup(t):
    def attempt(directory):
        os.mkdir(f"{directory}/{t['stray']}")
        os.rmdir(f"{directory}/{t['stray']}")
        return claim(directory)

    return tries([lambda d=d: attempt(d) for d in cgroup_directories()])


@escape
def leave_cgroup(t):
    """A process that leaves the group has no limits of the group any more."""
    def attempt(directory):
        os.close(os.open(f"{directory}/cgroup.procs", os.O_WRONLY))
        return claim(f"{directory}/cgroup.procs can be written")

    return tries([lambda d=d: attempt(d) for d in cgroup_directories()])


@escape
def write_release_agent(t):
    """A program that the kernel runs as root when a group becomes empty."""
    def attempt(directory):
        os.close(os.open(f"{directory}/release_agent", os.O_WRONLY))
        return claim(f"{directory}/release_agent can be written")

    return tries([lambda d=d: attempt(d) for d in cgroup_directories()])


@escape
def load_kernel_program(t):
    """bpf(2) with the smallest program: r0 = 0; exit."""
    code = ctypes.create_string_buffer(struct.pack("BBhi", 0xB7, 0, 0, 0) + struct.pack("BBhi", 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("IIQQIIQI", 1, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0)
    return claim(f"program {syscall('bpf', 5, attributes.ljust(128, bytes(1)), 128)}")


@escape
def make_kernel_map(t):
    return claim(f"map {syscall('bpf', 0, struct.pack('IIIII', 2, 4, 4, 1, 0).ljust(128, bytes(1)), 128)}")


@escape
def count_events(t):
    """perf_event_open on this process, in user space, as any user may by default."""
    attributes = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 128, 1, 0, 0, 0, 0x1 | 0x20 | 0x40), 128)
    return claim(f"events {syscall('perf_event_open', attributes, 0, -1, -1, 0)}")


@escape
def handle_page_faults(t):
    """userfaultfd: the kernel waits for the plugin in the middle of its work, which exploits use."""
    return tries([lambda flags=flags: claim(f"faults {syscall('userfaultfd', flags)}") for flags in (0, 1)])


@escape
def watch_whole_disk(t):
    return claim(f"fanotify {syscall('fanotify_init', 0, 0)}")


@escape
def load_next_kernel(t):
    """Without segments kexec_load unloads, and nothing is loaded."""
    return claim(f"kexec_load says {syscall('kexec_load', 0, 0, None, 0)}")


@escape
def use_ports(t):
    if os.uname().machine != "x86_64":
        raise NotApplicable("x86 only")
    return claim(f"ioperm says {syscall('ioperm', 0x80, 1, 1)}")


@escape
def change_personality(t):
    """READ_IMPLIES_EXEC and no randomised addresses, for all child processes."""
    return in_child(lambda: claim(f"personality {syscall('personality', 0x0440000)}"))


@escape
def undo_no_new_privileges(t):
    def attempt():
        if libc.prctl(38, 0, 0, 0, 0) == 0 or libc.prctl(39, 0, 0, 0, 0) == 0:
            return claim("it is not set")
        raise Held("it is set and cannot be unset")

    return in_child(attempt)


@escape
def undo_filter(t):
    """Succeeds if there is no filter."""
    if libc.prctl(21, 0, 0, 0, 0) == 0:
        return claim("no filter")
    raise Held("a filter is in place")


@escape
def lock_all_memory(t):
    def attempt():
        call("mlockall", 3)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
        return claim("locked without limit")

    return in_child(attempt)


@escape
def run_in_real_time(t):
    """A real-time process takes its processor from all others."""
    return in_child(lambda: claim(f"{os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))}"))


@escape
def give_file_capabilities(t):
    """A program in a granted directory, with capabilities for any user that runs it."""
    path = write(f"{t['scratch']}/capable", b"x", 0o755)
    os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0, 0))
    return claim("set")


@escape
def leave_trusted_attribute(t):
    path = write(f"{t['scratch']}/trusted", b"x")
    os.setxattr(path, "trusted.escape", b"x")
    return did("set") if not os.getxattr(path, "trusted.escape") else claim("set")
