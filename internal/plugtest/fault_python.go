//go:build linux

package plugtest

import "fmt"

// pythonActs lists the acts of the python dialect, as the body of a function that may return an
// answer. A python plugin is a file in an interpreter that it shares with others. Its output goes
// to its log and not to the host.
var pythonActs = map[string]string{
	"crash":        `print("fault: boom", file=sys.stderr); sys.stderr.flush(); os._exit(7)`,
	"crash-always": `os._exit(7)`,
	"killed":       `os.kill(os.getpid(), 9)`,
	"hang":         `time.sleep(3600)`,

	"binary":      `os.write(1, bytes(range(256)) * 256)`,
	"wrong-types": `return object()`,
	"deep": `
    nested = []
    for _ in range(100_000): nested = [nested]
    return nested`,

	"endless-line":   `[os.write(1, b"x" * 65536) for _ in range(1600)]`,
	"huge":           `return "x" * (20 << 20)`,
	"stderr-flood":   `[os.write(2, (b"e" * 99 + b"\n") * 655) for _ in range(1600)]`,
	"stderr-endless": `[os.write(2, b"e" * 65536) for _ in range(1600)]`,

	"fork-bomb": `
    for _ in range(100): subprocess.run(["true"])
    for i in range(100): left(subprocess.Popen(["sleep", "300"], start_new_session=i % 2 == 0).pid)`,
	"stray": `
    read, write = os.pipe()
    subprocess.run(["sh", "-c", "sleep 300 & echo $!"], stdout=write, start_new_session=True, env={"PATH": os.environ["PATH"]}, close_fds=False)
    left(int(os.read(read, 100)))`,
	"stubborn":      `signal.signal(signal.SIGTERM, signal.SIG_IGN)`,
	"stubborn-hang": `signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)`,

	"close-stdin":  `os.close(0)`,
	"close-stdout": `os.closerange(0, 256)`, // the interpreter's pipes to the host are among them

	"disk-full": `open("/dev/full", "w", buffering=1).write("mine\n")`,
	"rewrite":   `open(__file__, "w").write("def f(:\n")`,
}

// pythonPlugin returns the code of a plugin with this fault.
func pythonPlugin(f Fault) string {
	act, ok := pythonActs[f.Act]
	if f.Act == "" {
		act, ok = "pass", true
	}
	if !ok {
		panic("unknown act in python: " + f.Act)
	}
	return fmt.Sprintf(`
import os, pathlib, signal, subprocess, sys, threading, time

moment = %q
home = pathlib.Path(os.environ["HOME"])

def note(line):
    with open(home / %q, "a") as record: record.write(line + "\n")

def left(pid): note(f"pid {pid}")

def once():
    if %q.endswith(%q): return True
    try: open(__file__ + ".did", "x").close()
    except FileExistsError: return False
    return True

def act():
    note("act")
    %s

def wait():
    while not (home / %q).exists(): time.sleep(0.005)
    if once(): act()

left(os.getpid())
if moment == "in-handshake": act()
if moment == "after-handshake" and once(): threading.Timer(0.05, act).start()
if moment == "when-told": threading.Thread(target=wait, daemon=True).start()

@on_final
async def final(ctx, text):
    if moment == "in-hook" and once():
        answer = act()
        if answer is not None: return answer
    if moment == "after-hook" and once(): threading.Timer(0.05, act).start()
    return "touched by " + %q
`, f.Moment, recordFile, f.Act, always, act, toldFile, f.Plugin())
}
