package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sh is the Spec of a shell script.
func sh(script string, l Limits) Spec {
	return Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: l}
}

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
		"no limit is none":                          {Limits{}, 10, nil},
		"processes are added to those that run":     {all, 10, []Rlimit{memory, {unix.RLIMIT_NPROC, 18, 18}, files, cpu}},
		"of processes not to be counted, no limit":  {all, -1, []Rlimit{memory, files, cpu}},
		"a moment of CPU time is a second":          {Limits{CPU: 1}, 0, []Rlimit{{unix.RLIMIT_CPU, 1, 2}}},
		"whole seconds of CPU time are not rounded": {Limits{CPU: 5 * time.Second}, 0, []Rlimit{{unix.RLIMIT_CPU, 5, 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.limits.Rlimits(test.running); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	g := newGroup(t)
	t.Run("they are set before the program runs, soft and hard", func(t *testing.T) {
		s := sh("ulimit -S -n; ulimit -H -n; ulimit -S -t; ulimit -H -t; ulimit -H -d", Limits{Memory: 64 << 20, Files: 32, CPU: time.Minute})
		if got := output(t, g, s); got != "32\n32\n60\n61\n65536\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("they are set on a process that waits for its call", func(t *testing.T) {
		standby := g.Standby(sh("read go; ulimit -n", Limits{Files: 32}), 1)
		defer standby.Close()
		result, err := standby.Run(t.Context(), Call{Stdin: []byte("go\n")})
		if err != nil || string(result.Stdout) != "32\n" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a limit does not loosen that of the host", func(t *testing.T) {
		const script = "ulimit -S -n; ulimit -H -n"
		if want, got := output(t, g, sh(script, Limits{})), output(t, g, sh(script, Limits{Files: 1 << 30})); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("one file too many is refused", func(t *testing.T) {
		for limit, want := range map[int]bool{5: true, 4: false} {
			result, err := g.Run(t.Context(), sh("exec 3</dev/null 4</dev/null", Limits{Files: limit}), Call{})
			if err != nil || (result.Exit.Code == 0) != want || result.Exit.Over != "" {
				t.Errorf("%d: %+v, %v", limit, result, err)
			}
		}
	})
	t.Run("memory over the limit is refused, below it is not", func(t *testing.T) {
		for block, want := range map[string]bool{"16M": true, "1G": false} { // dd allocates its block, with or without the race detector
			result, err := g.Run(t.Context(), sh("dd if=/dev/zero of=/dev/null count=1 bs="+block, Limits{Memory: 256 << 20}), Call{})
			if err != nil || (result.Exit == Exit{}) != want || result.Exit.Over != "" {
				t.Errorf("%s: %+v, %v", block, result, err)
			}
		}
	})
}

func TestCPULimit(t *testing.T) {
	g := newGroup(t)
	limits := Limits{CPU: time.Second}
	const want = "over its CPU time of 1s"
	t.Run("SIGXCPU is explained", func(t *testing.T) {
		result, err := g.Run(t.Context(), sh("while :; do :; done", limits), Call{})
		if err != nil || result.Exit.Signal != "SIGXCPU" || result.Exit.Over != want {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("who does not mind SIGXCPU is killed, and that is explained", func(t *testing.T) {
		s := fake(t, "spins")
		s.Limits = limits
		p, err := g.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop(t.Context(), Ladder{})
		select {
		case <-p.Done():
		case <-time.After(3 * patience): // two seconds of a processor that others want too
			t.Fatal("it still runs")
		}
		if p.Exit().Signal != "SIGKILL" || p.Exit().Over != want {
			t.Errorf("%v, %q", p.Exit(), p.Exit().Over)
		}
	})
	t.Run("nothing is exceeded while it runs, nor when the host ends it", func(t *testing.T) {
		s := fake(t, "hang")
		s.Limits = limits
		p := started(t, g, s)
		before := p.Exit().Over
		p.Stop(t.Context(), Ladder{})
		if before != "" || p.Exit().Over != "" {
			t.Errorf("%q, then %q", before, p.Exit().Over)
		}
	})
}

// The limit counts what a user runs on the whole machine: the test has one to itself.
func TestProcessLimitOfAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	uid := uint32(40_000 + os.Getpid()%20_000)
	if err := nprocObstacle("/", int(uid)); err != nil {
		t.Skip(err)
	}
	const script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 60 </dev/null >/dev/null 2>&1 & done; echo all"
	for limit, want := range map[string]string{"8": "exit code 2", "64": "all\nexit code 0"} {
		cmd := exec.Command("/proc/self/exe", "-fake", "limited-host", limit, script)
		cmd.Dir, cmd.Env = "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("limit %s: %q, want %q, %v", limit, out, want, err)
		}
	}
}

func TestProcessThatCannotBeLimitedDoesNotRun(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	const noSuchLimit = 99
	l := &leash{rlimits: []Rlimit{{Resource: noSuchLimit}}}
	c := command{path: "/bin/sh", argv: []string{"sh", "-c", "> " + mark}}
	p, err := new(hold).start(nil, c, &os.ProcAttr{Sys: childAttr()}, func(pid int) { l.set(pid) })
	if err != nil {
		t.Fatal(err)
	}
	err = l.holds(p, "plug")
	if start, ok := errors.AsType[*StartError](err); !ok || !errors.Is(start, unix.EINVAL) || start.Path != "plug" {
		t.Errorf("%v", err)
	}
	if exists(mark) {
		t.Error("it ran")
	}
	if !gone(p.Pid) {
		t.Error("it is not reaped")
	}
}

func TestNoLimitsCostNothing(t *testing.T) {
	g := newGroup(t)
	spec := Spec{Path: "/bin/true"}
	if l, err := g.leashFor(spec); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = g.leashFor(spec) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSupport(t *testing.T) {
	reason, countless := errors.New("REASON"), errors.New("COUNTLESS")
	both, half := &cgroupTree{memory: true, pids: true}, &cgroupTree{pids: true}
	for name, test := range map[string]struct {
		support           Support
		memory, processes string   // by what
		notes             []string // in those two
	}{
		"a cgroup keeps both":                            {support(both, nil, countless), "cgroup", "cgroup", nil},
		"half a cgroup keeps one":                        {support(half, nil, nil), "rlimit", "cgroup", []string{"has not the controller"}},
		"without one it is rlimits, and the reason said": {support(nil, reason, nil), "rlimit", "rlimit", []string{"REASON", "shared memory", "all that this user runs"}},
		"root's processes are not limited without one":   {support(nil, reason, errNoNprocForRoot), "rlimit", "", []string{"REASON", "root"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.support
			if s.Memory.By != test.memory || s.Processes.By != test.processes || s.Files.By != "rlimit" || s.CPU.By != "rlimit" {
				t.Errorf("%+v", s)
			}
			for _, note := range test.notes {
				if !strings.Contains(s.Memory.Note+s.Processes.Note, note) {
					t.Errorf("%q is not said: %+v", note, s)
				}
			}
		})
	}
	t.Run("each limit is accounted for on this system", func(t *testing.T) {
		s := LimitSupport()
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
		"an ordinary user is":                            {firstPidNamespace, firstUserNamespace, 1000, nil},
		"in a container the others are not seen":         {"pid:[1]", firstUserNamespace, 1000, errUnseenProcesses},
		"in one with its own users there are none to be": {"pid:[1]", "user:[2]", 1000, nil},
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
		"self/status": "Name:\tself\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\n", // one of the others
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
