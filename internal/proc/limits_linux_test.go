package proc

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func sh(script string, l limits.Limits) Spec {
	return Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: l}
}

func TestLimits(t *testing.T) {
	g := newGroup(t)
	t.Run("they are set before the program runs, soft and hard", func(t *testing.T) {
		s := sh("ulimit -S -n; ulimit -H -n; ulimit -S -t; ulimit -H -t; ulimit -H -d", limits.Limits{Memory: 64 << 20, Files: 32, CPU: time.Minute})
		if got := output(t, g, s); got != "32\n32\n60\n61\n65536\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("they are set on a process that waits for its call", func(t *testing.T) {
		standby := g.Standby(sh("read go; ulimit -n", limits.Limits{Files: 32}), 1)
		defer standby.Close()
		result, err := standby.Run(t.Context(), Call{Stdin: []byte("go\n")})
		if err != nil || string(result.Stdout) != "32\n" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a limit does not loosen that of the host", func(t *testing.T) {
		const script = "ulimit -S -n; ulimit -H -n"
		if want, got := output(t, g, sh(script, limits.Limits{})), output(t, g, sh(script, limits.Limits{Files: 1 << 30})); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("one file too many is refused", func(t *testing.T) {
		for limit, want := range map[int]bool{5: true, 4: false} {
			result, err := g.Run(t.Context(), sh("exec 3</dev/null 4</dev/null", limits.Limits{Files: limit}), Call{})
			if err != nil || (result.Exit.Code == 0) != want || result.Exit.Over != "" {
				t.Errorf("%d: %+v, %v", limit, result, err)
			}
		}
	})
	t.Run("memory over the limit is refused, below it is not", func(t *testing.T) {
		for block, want := range map[string]bool{"16M": true, "1G": false} { // dd allocates its block, with or without the race detector
			result, err := g.Run(t.Context(), sh("dd if=/dev/zero of=/dev/null count=1 bs="+block, limits.Limits{Memory: 256 << 20}), Call{})
			if err != nil || (result.Exit == Exit{}) != want || result.Exit.Over != "" {
				t.Errorf("%s: %+v, %v", block, result, err)
			}
		}
	})
}

func TestCPULimit(t *testing.T) {
	g := newGroup(t)
	second := limits.Limits{CPU: time.Second}
	const want = "over its CPU time of 1s"
	t.Run("SIGXCPU is explained", func(t *testing.T) {
		result, err := g.Run(t.Context(), sh("while :; do :; done", second), Call{})
		if err != nil || result.Exit.Signal != "SIGXCPU" || result.Exit.Over != want {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a process that ignores SIGXCPU is killed, and the exit says why", func(t *testing.T) {
		s := fake(t, "spins")
		s.Limits = second
		p, err := g.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop(t.Context(), Ladder{})
		select {
		case <-p.Done():
		case <-time.After(3 * patience): // two seconds of a busy processor
			t.Fatal("a process over its CPU time still runs")
		}
		if p.Exit().Signal != "SIGKILL" || p.Exit().Over != want {
			t.Errorf("%v, %q", p.Exit(), p.Exit().Over)
		}
	})
	t.Run("Over is empty while it runs, and when the host ends it", func(t *testing.T) {
		s := fake(t, "hang")
		s.Limits = second
		p := started(t, g, s)
		before := p.Exit().Over
		p.Stop(t.Context(), Ladder{})
		if before != "" || p.Exit().Over != "" {
			t.Errorf("%q, then %q", before, p.Exit().Over)
		}
	})
}

func TestProcessLimitOfAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	uid := uint32(40_000 + os.Getpid()%20_000)
	const script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 60 </dev/null >/dev/null 2>&1 & done; echo all"
	for limit, want := range map[string]string{"8": "exit code 2", "64": "all\nexit code 0"} {
		cmd := exec.Command("/proc/self/exe", "-fake", "limited-host", limit, script)
		cmd.Dir, cmd.Env = "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if strings.HasPrefix(string(out), notLimited) {
			t.Skip(string(out))
		}
		if err != nil || string(out) != want {
			t.Errorf("limit %s: %q, want %q, %v", limit, out, want, err)
		}
	}
}

func TestLimitsThatCannotBeSetAreExplained(t *testing.T) {
	c := program.Command{File: "plug"}
	if err := limitError(c, nil); err != nil {
		t.Errorf("%v, want an error", err)
	}
	err := limitError(c, syscall.EINVAL)
	if start, ok := errors.AsType[*program.StartError](err); !ok || !errors.Is(err, syscall.EINVAL) || start.Path != "plug" || start.Why != "its limits cannot be set: invalid argument" {
		t.Errorf("%v", err)
	}
}
