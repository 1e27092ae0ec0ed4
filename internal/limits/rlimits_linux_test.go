package limits

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRlimits: limits become rlimits, and processes are added to those that the user already has.
func TestRlimits(t *testing.T) {
	all := Limits{Memory: 64 << 20, Processes: 8, Files: 32, CPU: 1200 * time.Millisecond}
	memory := Rlimit{unix.RLIMIT_DATA, 64 << 20, 64 << 20}
	files := Rlimit{unix.RLIMIT_NOFILE, 32, 32}
	cpu := Rlimit{unix.RLIMIT_CPU, 2, 3}
	for name, test := range map[string]struct {
		limits  Limits
		running int
		want    []Rlimit
	}{
		"no limits give no rlimits":                 {Limits{}, 10, nil},
		"processes are added to those that run":     {all, 10, []Rlimit{memory, {unix.RLIMIT_NPROC, 18, 18}, files, cpu}},
		"no limit if processes cannot be counted":   {all, -1, []Rlimit{memory, files, cpu}},
		"CPU time is rounded up to a second":        {Limits{CPU: 1}, 0, []Rlimit{{unix.RLIMIT_CPU, 1, 2}}},
		"whole seconds of CPU time are not rounded": {Limits{CPU: 5 * time.Second}, 0, []Rlimit{{unix.RLIMIT_CPU, 5, 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.limits.Rlimits(test.running); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestAProcessWithoutItsLimitsDoesNotRun: a process whose limit cannot be set is killed before its
// first instruction, and reaped.
func TestAProcessWithoutItsLimitsDoesNotRun(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	const noSuchLimit = 99
	e := &Enforcer{rlimits: []Rlimit{{Resource: noSuchLimit}}}
	p := held(t, "/bin/sh", "-c", "> "+mark)
	if e.Set(p.Pid) {
		t.Error("a limit that does not exist was set")
	}
	if err := e.Check(p); !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
	if exists(mark) {
		t.Error("the process ran")
	}
	if _, err := p.Wait(); err == nil {
		t.Error("the process is not reaped")
	}
}

// held starts a program that is stopped before its first instruction, as package proc does. This
// thread is its debugger, and ends with the test.
func held(t *testing.T, path string, args ...string) *os.Process {
	t.Helper()
	runtime.LockOSThread()
	p, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		t.Skip("processes cannot be held here:", err)
	}
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	return p
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNoLimitsCostNothing(t *testing.T) {
	var s Cgroups
	if e, err := s.Enforcer(Limits{}, false, nil); e != nil || err != nil {
		t.Errorf("%v, %v", e, err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = s.Enforcer(Limits{}, false, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSupport(t *testing.T) {
	reason, countless := errors.New("REASON"), errors.New("COUNTLESS")
	both, half := &cgroupTree{memory: true, pids: true}, &cgroupTree{pids: true}
	for name, test := range map[string]struct {
		support           Support
		memory, processes string   // the mechanisms
		notes             []string // expected in the notes of these two
	}{
		"a cgroup enforces both":                    {support(both, nil, countless), "cgroup", "cgroup", nil},
		"a cgroup with one controller enforces one": {support(half, nil, nil), "rlimit", "cgroup", []string{"lacks the controller"}},
		"without a cgroup rlimits enforce both":     {support(nil, reason, nil), "rlimit", "rlimit", []string{"REASON", "shared memory", "all processes of this user"}},
		"root's processes need a cgroup":            {support(nil, reason, errNoNprocForRoot), "rlimit", "", []string{"REASON", "root"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.support
			if s.Memory.By != test.memory || s.Processes.By != test.processes || s.Files.By != "rlimit" || s.CPU.By != "rlimit" {
				t.Errorf("%+v", s)
			}
			for _, note := range test.notes {
				if !strings.Contains(s.Memory.Note+s.Processes.Note, note) {
					t.Errorf("%q is missing: %+v", note, s)
				}
			}
		})
	}
	t.Run("each limit has a mechanism or a reason on this system", func(t *testing.T) {
		s := Supported()
		for _, e := range []Enforcement{s.Memory, s.Processes, s.Files, s.CPU} {
			if e.By == "" && e.Note == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestNprocObstacle(t *testing.T) {
	for name, test := range map[string]struct {
		pids, users string
		uid         int
		want        error
	}{
		"root is not limited":                            {firstPidNamespace, firstUserNamespace, 0, errNoNprocForRoot},
		"an ordinary user is limited":                    {firstPidNamespace, firstUserNamespace, 1000, nil},
		"in a container other processes are not seen":    {"pid:[1]", firstUserNamespace, 1000, errUnseenProcesses},
		"a container with its own user namespace counts": {"pid:[1]", "user:[2]", 1000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, target := range map[string]string{"pid": test.pids, "user": test.users} {
				link := filepath.Join(root, "proc/self/ns", file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := nprocObstacle(root, test.uid); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestUserTasks(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"1/status":    "Name:\tinit\nUid:\t0\t0\t0\t0\nThreads:\t1\n",
		"20/status":   "Name:\tUid:\t7\nUid:\t1000\t0\t0\t0\nThreads:\t5\n", // its real user counts
		"21/status":   "Name:\tnode\nUid:\t1000\t1000\t1000\t1000\nThreads:\t11\n",
		"22/stat":     "it has ended meanwhile",
		"self/status": "Name:\tself\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\n", // not a pid
	} {
		plant(t, root, "proc/"+file, text)
	}
	if n, err := userTasks(root, 1000); n != 16 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := userTasks("/", os.Getuid()); n < 1 || err != nil {
		t.Errorf("this user runs %d, %v", n, err)
	}
}

// plant writes a file of a fake file system.
func plant(t *testing.T, root, path, text string) {
	t.Helper()
	file := filepath.Join(root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
