package sandbox

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// python returns a Python script in a box.
func python(t *testing.T, o Options, script string) proc.Spec {
	t.Helper()
	s := sh(o, "")
	s.Path, s.Args = tool(t, "python3"), []string{"-S", "-E", "-c", script}
	return s
}

func TestLimits(t *testing.T) {
	needNamespaces(t)
	t.Run("memory: an allocation over the limit is refused, one below it is not", func(t *testing.T) {
		s := python(t, Options{}, `
def take(size):
    try: return len(bytearray(size)) == size
    except MemoryError: return False
print(take(64 << 20), take(1 << 30))`)
		s.Limits.Memory = 256 << 20
		expect(t, s, "True False")
	})
	t.Run("memory: a small limit applies to the program, and does not end its jail", func(t *testing.T) {
		for range 20 { // a jail over its limit may succeed by chance
			s := sh(Options{}, "i=0; while [ $i -lt 20 ]; do ( ( : & ) & ); i=$((i+1)); done; echo ran")
			s.Limits.Memory = 8 << 20
			expect(t, s, "ran")
		}
	})
	t.Run("processes: a loop of forks stops near the limit", func(t *testing.T) {
		// At most 200, so that a limit that is not enforced does no harm.
		s := python(t, Options{}, `
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError: pass
print(n)`)
		s.Limits.Processes = 20
		n, err := strconv.Atoi(strings.TrimSpace(output(t, s)))
		if err != nil || n < 10 || n > 20+ownThreads {
			t.Errorf("%d processes beside the first, %v", n, err)
		}
	})
	t.Run("processes: two boxes of one plugin do not count against each other", func(t *testing.T) {
		s := sh(Options{}, "echo up; read line")
		s.Limits.Processes = 2
		g := newGroup(t)
		for range 4 * ownThreads / 2 {
			defer started(t, g, s).Stop(t.Context(), proc.Ladder{Stdin: patience})
		}
	})
	t.Run("open files: one too many is refused", func(t *testing.T) {
		s := sh(Options{}, "ulimit -n; ulimit -H -n; exec 3</dev/null 4</dev/null && echo two more; exec 30</dev/null && echo many more")
		s.Limits.Files = 16
		r := run(t, s)
		if got := string(r.Stdout); got != "16\n16\ntwo more\n" {
			t.Errorf("%q, %s", got, r.Stderr)
		}
	})
	t.Run("CPU time: a process over the limit is killed, and the exit says why", func(t *testing.T) {
		s := sh(Options{}, "while :; do :; done")
		s.Limits.CPU = time.Second
		r := run(t, s)
		if r.Exit.Signal != "SIGXCPU" || r.Exit.Over != "over its CPU time of 1s" {
			t.Errorf("%v, %q", r.Exit, r.Exit.Over)
		}
	})
	t.Run("CPU time: a process that ignores the signal is killed too", func(t *testing.T) {
		s := sh(Options{}, "trap '' XCPU; while :; do :; done")
		s.Limits.CPU = time.Second
		r := run(t, s)
		if r.Exit.Signal != "SIGKILL" || r.Exit.Over != "over its CPU time of 1s" {
			t.Errorf("%v, %q", r.Exit, r.Exit.Over)
		}
	})
	t.Run("output: bytes over the limit are dropped, and do not block", func(t *testing.T) {
		g := newGroup(t)
		r, err := g.Run(t.Context(), sh(Options{}, "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done"), proc.Call{MaxStdout: 1000})
		if err != nil || len(r.Stdout) != 1000 || !r.Truncated || r.Exit != (proc.Exit{}) {
			t.Errorf("%d bytes, %v, %v, %v", len(r.Stdout), r.Truncated, r.Exit, err)
		}
	})
	t.Run("memory in files: /tmp is bounded too", func(t *testing.T) {
		s := python(t, Options{}, `
import os
fd = os.open("/tmp/big", os.O_CREAT | os.O_WRONLY)
try:
    os.posix_fallocate(fd, 0, 1 << 30)
    print("a gigabyte")
except OSError as e: print(os.strerror(e.errno))`)
		expect(t, s, "No space left on device")
	})
	t.Run("files in memory: at most 65,536 can be created", func(t *testing.T) {
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			s := python(t, Options{}, `
import os
n = 0
try:
    while n < 70000:
        os.mknod("`+dir+`/" + str(n))
        n += 1
except OSError as e: print(os.strerror(e.errno))
print(n > 65000, n <= 65536)`)
			expect(t, s, "No space left on device\nTrue True")
		}
	})
	t.Run("files in memory: also limited if everything may be read", func(t *testing.T) {
		expect(t, python(t, Options{ReadAll: true}, `
import os
print(*(os.statvfs(d).f_files for d in ("/tmp", "/var/tmp", "/dev/shm", "/run")))`), "65536 65536 65536 65536")
	})
	t.Run("a limit too low for the jail itself is an error", func(t *testing.T) {
		s := sh(Options{}, "echo ran")
		s.Limits.Files = 1
		if got := startError(t, s); !strings.Contains(got.Why, "too many open files") {
			t.Errorf("%q", got.Why)
		}
	})
}

// TestNoCores: neither a file nor a program of the machine gets the memory of a plugin that
// crashes. The shell prints 1 byte as 0 blocks.
func TestNoCores(t *testing.T) {
	const script = "ulimit -S -c; ulimit -H -c; ulimit -c 1 2>/dev/null && echo raised; ulimit -S -c 0 && echo lowered"
	t.Run("with namespaces", func(t *testing.T) {
		needNamespaces(t)
		expect(t, sh(Options{}, script), "0\n0\nlowered")
	})
	t.Run("without", func(t *testing.T) {
		expect(t, sh(Options{System: needSimple(t)}, script), "0\n0\nlowered")
	})
}

func TestLimitsWithoutNamespaces(t *testing.T) {
	o := Options{System: needSimple(t)}
	s := sh(o, "ulimit -n; ulimit -t; ulimit -d")
	s.Limits = limits.Limits{Memory: 64 << 20, Files: 32, CPU: time.Minute}
	expect(t, s, "32\n60\n65536")
}
