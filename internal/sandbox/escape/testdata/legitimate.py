"""The work that a plugin in Python must be able to do in the box: legitimate.py NAME KEY=VALUE…, or list. Prints "ok" or why not."""

import os
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
WORKS = {}


def works(function):
    WORKS[function.__name__.replace("_", "-")] = function
    return function


@works
def read_own_files(t):
    assert "WORKS" in open(__file__).read()


@works
def read_granted_path(t):
    assert open(t["note"]).read() == "to be read"
    assert "note" in os.listdir(t["granted"])


@works
def write_granted_path(t):
    """The host checks the file that is written."""
    os.mkdir(t["scratch"] + "/directory")
    with open(t["scratch"] + "/directory/written", "w") as file:
        file.write("by the plugin")
    os.rename(t["scratch"] + "/directory/written", t["scratch"] + "/written")
    os.rmdir(t["scratch"] + "/directory")


@works
def write_private_tmp(t):
    with open("/tmp/" + t["stray"], "w") as file:
        file.write("private")
    assert open("/tmp/" + t["stray"]).read() == "private"


@works
def write_temporary_files(t):
    with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir=directory) as file:
        file.write(b"x")


@works
def write_home(t):
    with open(os.path.expanduser("~/.cache-of-plugin"), "w") as file:
        file.write("x")


@works
def read_granted_path_in_home(t):
    assert open(os.path.expanduser("~/notes/note")).read() == "to be read"
    assert open(t["notes"] + "/note").read() == "to be read" and os.path.realpath(t["notes"]) == t["notes"]


@works
def work_in_own_directory(t):
    assert os.path.samefile(".", t["own"]) and "legitimate.py" in os.listdir() and "WORKS" in open("legitimate.py").read()
    with open("../scratch/relative", "w") as file:
        file.write("x")
    assert open(t["scratch"] + "/relative").read() == "x" and open("../granted/note").read() == "to be read"


@works
def read_pipe(t):
    """A pipe among files that may be read can be read."""
    os.close(os.open(t["granted"] + "/pipe", os.O_RDONLY | os.O_NONBLOCK))


@works
def use_own_pipe(t):
    for n, place in enumerate((tempfile.gettempdir(), os.path.expanduser("~"), t["scratch"])):
        os.mkfifo(f"{place}/own-pipe-{n}")
        os.write(os.open(f"{place}/own-pipe-{n}", os.O_RDWR), b"x")


@works
def change_own_files(t):
    """By path, as most programs do."""
    path = t["scratch"] + "/own"
    open(path, "w").close()
    os.chmod(path, 0o600)
    os.utime(path, (1, 1))
    assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(path).st_mtime == 1


@works
def change_own_files_by_descriptor(t):
    fd = os.open(t["scratch"] + "/own", os.O_CREAT | os.O_RDWR)
    os.fchmod(fd, 0o600)
    os.fchown(fd, os.getuid(), os.getgid())
    os.utime(fd, (1, 1))
    os.setxattr(fd, "user.tag", b"x")
    assert os.getxattr(fd, "user.tag") == b"x"
    assert os.fstat(fd).st_mode & 0o777 == 0o600 and os.fstat(fd).st_mtime == 1


@works
def copy_content(t):
    import shutil

    shutil.copyfile(t["note"], t["scratch"] + "/copy")
    assert open(t["scratch"] + "/copy").read() == "to be read"


@works
def copy_with_attributes(t):
    import shutil

    shutil.copy2(t["note"], t["scratch"] + "/copy")
    assert os.stat(t["scratch"] + "/copy").st_mtime_ns == os.stat(t["note"]).st_mtime_ns


@works
def use_archives(t):
    import shutil

    os.makedirs(t["scratch"] + "/tree/leaf")
    for kind in ("tar", "zip"):
        archive = shutil.make_archive(t["scratch"] + "/archive", kind, t["scratch"] + "/tree")
        shutil.unpack_archive(archive, t["scratch"] + "/" + kind)
        assert os.path.isdir(t["scratch"] + "/" + kind + "/leaf")


@works
def run_granted_program(t):
    assert subprocess.run([t["tool"]], capture_output=True, check=True).stdout


@works
def run_itself(t):
    said = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, check=True).stdout
    assert said == b"42\n", said


@works
def connect_to_granted_address(t):
    import socket

    with socket.create_connection(("127.0.0.1", int(t["port"])), 5) as s:
        assert s.recv(100) == b"granted\n"


@works
def connect_to_granted_name(t):
    import socket

    with socket.create_connection((t["name"], int(t["port"])), 5) as s:
        assert s.recv(100).startswith(b"canary-")


@works
def connect_many_times(t):
    import concurrent.futures
    import socket

    def one(_):
        with socket.create_connection(("127.0.0.1", int(t["port"])), 10) as s:
            return s.recv(100)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(64))) == [b"granted\n"] * 64


@works
def talk_to_itself(t):
    import socket
    import threading

    a, b = socket.socketpair()
    a.send(b"x")
    assert b.recv(1) == b"x"
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        threading.Thread(target=lambda: server.accept()[0].sendall(b"me")).start()
        with socket.create_connection(server.getsockname(), 5) as s:
            assert s.recv(2) == b"me"


@works
def run_threads(t):
    import threading

    done = []
    threads = [threading.Thread(target=done.append, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 20


@works
def run_event_loop(t):
    import asyncio

    async def main():
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
        return said

    assert asyncio.run(main()) == b"1\n"


def square(n):
    return n * n


@works
def run_processes(t):
    """Their locks are semaphores in /dev/shm."""
    import multiprocessing

    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, [1, 2, 3]) == [1, 4, 9]
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=("hello",))
    child.start()
    assert queue.get(timeout=10) == "hello"
    child.join()


@works
def run_spawned_processes(t):
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    child = context.Process(target=square, args=(2,))
    child.start()
    child.join(20)
    assert child.exitcode == 0, child.exitcode


@works
def share_memory(t):
    from multiprocessing import shared_memory

    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.buf[:2] = b"ok"
    memory.close()
    memory.unlink()


@works
def use_database(t):
    import sqlite3

    with sqlite3.connect(tempfile.gettempdir() + "/database") as db:
        db.execute("create table t (n)")
        db.execute("insert into t values (42)")
        assert db.execute("select n from t").fetchone() == (42,)
    with sqlite3.connect(t["scratch"] + "/database") as db:
        db.execute("pragma journal_mode = wal")
        db.execute("create table t (n)")


@works
def use_certificates(t):
    import ssl

    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    assert context.cert_store_stats()["x509_ca"] > 0 or os.path.isdir(paths.openssl_capath), paths


@works
def use_time_zones(t):
    import datetime
    import zoneinfo

    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    assert datetime.datetime(2026, 1, 1, tzinfo=berlin).utcoffset() == datetime.timedelta(hours=1)
    assert datetime.datetime.now().astimezone().tzinfo


@works
def use_locale(t):
    import locale

    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    assert "ä".encode(locale.getpreferredencoding()) == b"\xc3\xa4"


@works
def use_randomness(t):
    import secrets
    import uuid

    assert len(secrets.token_bytes(16)) == 16 and uuid.uuid4() and os.urandom(4) and open("/dev/urandom", "rb").read(4)


@works
def know_itself(t):
    import getpass
    import pathlib
    import platform
    import pwd
    import socket

    assert pwd.getpwuid(os.getuid()).pw_name and getpass.getuser() and platform.platform() and socket.gethostname()
    assert pathlib.Path.home().is_dir() and pathlib.Path.cwd().is_dir() and os.cpu_count()
    assert open("/proc/self/status").read() and open("/proc/meminfo").read() and open("/dev/null", "w").write("x")


@works
def use_memory_file(t):
    """With the flag that says that it will not be executed."""
    MFD_NOEXEC_SEAL = 8
    fd = os.memfd_create("x", os.MFD_CLOEXEC | MFD_NOEXEC_SEAL)
    os.write(fd, b"x")


@works
def import_much(t):
    names = """csv curses decimal email hashlib html http.client json logging lzma pickle re readline statistics
        unicodedata urllib.request xml.etree.ElementTree zipfile"""
    for name in names.split():
        __import__(name)


def main(args):
    if args[0] == "list":
        print("\n".join(WORKS))
        return
    try:
        WORKS[args[0]](dict(pair.split("=", 1) for pair in args[1:]))
        print("ok")
    except BaseException:
        print(traceback.format_exc()[-600:])


if __name__ == "__main__":
    main(sys.argv[1:])
