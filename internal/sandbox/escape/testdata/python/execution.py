"""Running programs that were not granted.

t["elf"] is a program of a few hundred bytes that prints a secret. The attempt knows its bytes, so having them proves
nothing. Only the running program prints the secret, which counts.
"""

import ctypes
import os
import subprocess
import sys

from registry import Held, NotApplicable, call, claim, content, copy, escape, in_child, libc, output, read, syscall, tries, write

PROGRAMS = ("/bin/true", "/usr/bin/true", "/usr/bin/id", "/bin/ls", "/usr/bin/env")


def dropped(t, directory):
    return write(f"{directory}/dropped-{os.getpid()}", bytes.fromhex(t["elf"]), 0o755)


def run_dropped(t, directory):
    path = dropped(t, directory)
    try:
        return content(output([path]))
    finally:
        os.unlink(path)


@escape
def run_forbidden_program(t):
    return content(output([t["prog"]]))


@escape
def run_system_program(t):
    for program in PROGRAMS:
        try:
            subprocess.run([program], stdout=subprocess.DEVNULL, check=True, timeout=5)
            return claim(program)
        except (OSError, subprocess.SubprocessError) as error:
            refusal = error
    raise Held(refusal)


@escape
def run_shell(t):
    if b"in a shell" not in output("echo in a shell", shell=True):
        raise Held("it said nothing")
    return claim("sh ran")


@escape
def run_dropped_program(t):
    return run_dropped(t, t["scratch"])


@escape
def run_dropped_in_tmp(t):
    return run_dropped(t, "/tmp")


@escape
def run_dropped_in_dev_shm(t):
    return run_dropped(t, "/dev/shm")


@escape
def run_dropped_script(t):
    """The kernel starts the interpreter, but the script was not granted."""
    path = write(f"{t['scratch']}/script", f"#!{sys.executable}\nprint('in a ' + 'script')\n".encode(), 0o755)
    if b"in a script" not in output([path]):
        raise Held("it said nothing")
    return claim("a script with a shebang ran")


@escape
def run_copy_of_granted_tool(t):
    path = copy(t["tool"], f"{t['scratch']}/copy", 0o755)
    return content(output([path])) if b"canary" in output([path]) else claim("the copy ran")


def memory_file(t):
    """With MFD_EXEC if the kernel knows it, otherwise without."""
    try:
        fd = syscall("memfd_create", b"x", 0x10)
    except OSError:
        fd = syscall("memfd_create", b"x", 0)
    os.write(fd, bytes.fromhex(t["elf"]))
    return fd


@escape
def run_memory_file(t):
    fd = memory_file(t)
    os.set_inheritable(fd, True)
    return content(output([f"/proc/self/fd/{fd}"], close_fds=False))


@escape
def run_memory_file_with_execveat(t):
    fd = memory_file(t)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 1)
        argv = (ctypes.c_char_p * 2)(b"x", None)
        libc.syscall(ctypes.c_long(322 if os.uname().machine == "x86_64" else 281), fd, b"", argv, None, 0x1000)
        os._exit(ctypes.get_errno())
    os.close(writer)
    _, status = os.waitpid(pid, 0)
    said = os.read(reader, 1000)
    if not said:
        raise OSError(os.waitstatus_to_exitcode(status), os.strerror(max(os.waitstatus_to_exitcode(status), 0)))
    return content(said)


@escape
def run_sealed_memory_file(t):
    """MFD_NOEXEC_SEAL is set at creation; fchmod must not make the file executable again."""
    fd = syscall("memfd_create", b"x", 0x8)
    os.write(fd, bytes.fromhex(t["elf"]))
    os.fchmod(fd, 0o755)
    os.set_inheritable(fd, True)
    return content(output([f"/proc/self/fd/{fd}"], close_fds=False))


@escape
def run_by_loader(t):
    """The dynamic loader maps a readable program even if it may not be executed."""
    for program in PROGRAMS:
        if subprocess.run([t["loader"], program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=5).returncode == 0:
            return claim(f"loader ran {program}")
    raise Held("none of them ran")


@escape
def run_dropped_by_loader(t):
    path = copy(sys.executable, f"{t['scratch']}/copied")
    said = output([t["loader"], path, "-S", "-E", "-c", "print('in a ' + 'copy')"])
    if b"in a copy" not in said:
        raise Held(said[-200:].decode("latin-1"))
    return claim("loader ran a copy")


def some_library():
    """A library in this process."""
    for line in read("/proc/self/maps").decode().splitlines():
        path = line.split()[-1]
        if ".so" in path and "ld-" not in path and "libc." not in path:
            return path
    raise NotApplicable("the interpreter has no library")


@escape
def load_dropped_library(t):
    path = copy(some_library(), f"{t['scratch']}/dropped.so")
    ctypes.CDLL(path)
    return claim("code of a written file is mapped")


@escape
def preload_dropped_library(t):
    path = copy(some_library(), f"{t['scratch']}/dropped.so")
    said = output([sys.executable, "-S", "-E", "-c", "print(open('/proc/self/maps').read())"], env={"LD_PRELOAD": path})
    if not any(b" r-xp " in line and line.endswith(b"dropped.so") for line in said.splitlines()):
        raise Held(said.splitlines()[0].decode())
    return claim("code of a written file is mapped")


@escape
def map_written_file_executable(t):
    import mmap

    path = write(f"{t['scratch']}/code", b"\xc3" * 4096)
    mmap.mmap(os.open(path, os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    return claim("code of a written file is mapped")


@escape
def make_written_file_executable(t):
    """The same in two steps."""
    import mmap

    path = write(f"{t['scratch']}/code", b"\xc3" * 4096)
    page = mmap.mmap(os.open(path, os.O_RDWR), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    call("mprotect", ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page))), ctypes.c_size_t(4096), 5)
    return claim("code of a written file is mapped")


def c_library():
    for line in read("/proc/self/maps").decode().splitlines():
        if "libc.so" in line or "libc-" in line:
            return line.split()[-1]
    raise NotApplicable("no C library")


@escape
def run_library(t):
    """The C library is also a program, which prints its version."""
    said = output([c_library()])
    if b"GNU C Library" not in said:
        raise Held(said[:100].decode("latin-1"))
    return claim("libc ran")


AMONG_LIBRARIES = ("/usr/lib/git-core/git", "/usr/lib/systemd/systemd")


def says_version(argv):
    said = output(argv)
    if not any(word in said for word in (b"git version", b"systemd ")):
        raise Held(said[:100].decode("latin-1"))
    return claim(" ".join(argv))


@escape
def run_program_among_libraries(t):
    """Directories of libraries also contain programs."""
    return tries([lambda p=p: says_version([p, "--version"]) for p in AMONG_LIBRARIES])


@escape
def run_program_among_libraries_by_loader(t):
    """A program that can be read and mapped there can be run through the loader, unless the loader cannot be started."""
    barred(t)
    return tries([lambda p=p: says_version([t["loader"], p, "--version"]) for p in AMONG_LIBRARIES])


def starts(t, path, **options):
    """Started directly, the loader prints its version, or runs the program that is its argument."""
    barred(t)
    said = output([path, "--version"], **options)
    if not any(word in said for word in (b"ld.so", b"musl", b"error while loading")):
        raise Held(said[:100].decode("latin-1"))
    return claim(f"{path} was started")


def barred(t):
    if not t["barred"]:
        raise NotApplicable("this kernel cannot keep the loader from being started")


@escape
def start_loader(t):
    return starts(t, t["loader"])


@escape
def start_loader_by_its_true_path(t):
    return starts(t, os.path.realpath(t["loader"]))


@escape
def start_loader_by_every_path(t):
    """The loader has several names on some systems."""
    barred(t)
    name = os.path.basename(t["loader"])
    paths = [f"{d}/{name}" for d in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", os.path.dirname(c_library()), "/proc/self/root/lib64")]
    return tries([lambda p=p: starts(t, p) for p in paths] + [lambda: starts(t, "/usr/bin/ld.so")])


@escape
def start_loader_through_symlink(t):
    os.symlink(t["loader"], f"{t['scratch']}/loader")
    return starts(t, f"{t['scratch']}/loader")


@escape
def start_loader_through_symlink_in_tmp(t):
    path = f"/tmp/loader-{t['stray']}"
    os.symlink(t["loader"], path)
    try:
        return starts(t, path)
    finally:
        os.unlink(path)


@escape
def start_loader_by_hard_link(t):
    path = f"/tmp/loader-{t['stray']}"
    os.link(os.path.realpath(t["loader"]), path)
    try:
        return starts(t, path)
    finally:
        os.unlink(path)


@escape
def start_copy_of_loader(t):
    return starts(t, copy(t["loader"], f"{t['scratch']}/loader", 0o755))


@escape
def start_copy_of_loader_in_tmp(t):
    path = copy(t["loader"], f"/tmp/loader-{t['stray']}", 0o755)
    try:
        return starts(t, path)
    finally:
        os.unlink(path)


@escape
def start_copy_of_loader_in_memory(t):
    fd = memory_file({"elf": read(t["loader"], -1).hex()})
    os.set_inheritable(fd, True)
    return starts(t, f"/proc/self/fd/{fd}", close_fds=False)


@escape
def start_loader_by_descriptor(t):
    fd = os.open(t["loader"], os.O_RDONLY)
    os.set_inheritable(fd, True)
    return starts(t, f"/proc/self/fd/{fd}", close_fds=False)


def execveat(t, fd, path, flags):
    barred(t)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 1)
        argv = (ctypes.c_char_p * 3)(b"ld.so", b"--version", None)
        try:
            syscall("execveat", fd, path, argv, None, flags)
        except OSError as error:
            os._exit(error.errno)
    os.close(writer)
    said = os.read(reader, 1000)
    _, status = os.waitpid(pid, 0)
    if not said:
        code = max(os.waitstatus_to_exitcode(status), 0)
        raise OSError(code, os.strerror(code))
    return claim(said[:40].decode("latin-1"))


@escape
def start_loader_with_execveat(t):
    return execveat(t, os.open(t["loader"], os.O_RDONLY | os.O_CLOEXEC), b"", 0x1000)


@escape
def start_loader_with_execveat_of_kept_descriptor(t):
    fd = os.open(t["loader"], os.O_RDONLY)
    os.set_inheritable(fd, True)
    return execveat(t, fd, b"", 0x1000)


@escape
def start_loader_with_execveat_of_place(t):
    """O_PATH is enough for it."""
    fd = os.open(t["loader"], os.O_PATH)
    os.set_inheritable(fd, True)
    return execveat(t, fd, b"", 0x1000)


@escape
def start_loader_with_execveat_from_directory(t):
    real = os.path.realpath(t["loader"])
    return execveat(t, os.open(os.path.dirname(real), os.O_PATH), os.path.basename(real).encode(), 0)


@escape
def start_loader_as_interpreter_of_script(t):
    """A script of the plugin's own, whose first line names it."""
    return starts(t, f"{t['own']}/by-loader")


@escape
def start_loader_as_interpreter_of_dropped_script(t):
    path = write(f"{t['scratch']}/script", f"#!{t['loader']} --version\n".encode(), 0o755)
    return starts(t, path)


@escape
def start_loader_as_interpreter_of_interpreter(t):
    inner = write(f"{t['scratch']}/inner", f"#!{t['loader']}\n".encode(), 0o755)
    return starts(t, write(f"{t['scratch']}/script", f"#!{inner}\n".encode(), 0o755))


@escape
def start_loader_from_own_mapping(t):
    """The loader is mapped into this process, and /proc has names for mappings."""
    name = os.path.basename(os.path.realpath(t["loader"]))
    for line in read("/proc/self/maps").decode().splitlines():
        if line.endswith(name):
            start, end = line.split()[0].split("-")
            return starts(t, f"/proc/self/map_files/{int(start, 16):x}-{int(end, 16):x}")
    raise NotApplicable("it is not mapped")


@escape
def start_loader_under_list_of_its_own(t):
    """The list of barred files belongs to the namespace; a new namespace may have another list."""
    barred(t)

    def attempt():
        syscall("unshare", 0x10000000 | 0x20000)  # a user and a mount namespace
        syscall("fsconfig", syscall("fsopen", b"binfmt_misc", 0), 6, None, None, 0)
        return starts(t, t["loader"])

    return in_child(attempt)


@escape
def clear_list_of_barred(t):
    """The file that clears the list, if it is mounted; it is enough that it can be opened."""
    for path in ("/proc/sys/fs/binfmt_misc/status", "/proc/sys/fs/binfmt_misc/loader0"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            return claim(f"opened {path}")
        except OSError as error:
            refusal = error
    raise refusal


@escape
def clear_list_through_descriptors_of_init(t):
    """Pid 1 holds the list open."""
    import glob

    for path in glob.glob("/proc/1/fd/*"):
        try:
            os.close(os.open(f"{path}/status", os.O_WRONLY))
            return claim(f"opened {path}/status")
        except OSError:
            pass
    raise Held("nothing of pid 1's is in sight")


@escape
def gain_by_setuid_program(t):
    """The granted tool belongs to root and has the setuid bit; it prints a secret only as root."""
    if os.getuid() == 0 or not t["setuid"]:
        raise NotApplicable("there is no other user to become")
    return content(output([t["tool"]]))


@escape
def run_through_binfmt(t):
    """A magic number that the plugin registers would start its interpreter for other programs."""
    with open("/proc/sys/fs/binfmt_misc/register", "w") as file:
        return claim(f"opened {file.name}")


@escape
def run_through_call_of_32_bits(t):
    """The kernel has a second interface with other numbers (execve is 11, unshare 310), which a filter may not check."""
    if os.uname().machine != "x86_64":
        raise NotApplicable("x86 only")
    import mmap

    code = b"\x53\x89\xf8\x89\xf3\xcd\x80\x5b\xc3"  # push rbx; eax = edi; ebx = esi; int 0x80; pop rbx; ret

    def attempt():
        page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)(310, 0x10000000)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return claim("unshare by int 0x80")

    return in_child(attempt)
