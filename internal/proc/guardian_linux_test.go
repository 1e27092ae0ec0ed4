package proc

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/guard"
	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// host starts a fake host and waits until it is up.
func host(t *testing.T, kind, token, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-fake", "host", kind, token, dir)
	cmd.Env = []string{}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	children.AwaitUp(t, read)
	return cmd
}

// guardians returns the guardians that a process has started.
func guardians(t *testing.T, parent int) []int {
	t.Helper()
	var pids []int
	for _, child := range childrenOfAll(t, parent) {
		cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(child) + "/cmdline")
		if strings.HasPrefix(string(cmdline), guard.Name+"\x00") {
			pids = append(pids, child)
		}
	}
	return pids
}

// childrenOfAll returns the children of all threads of a process.
func childrenOfAll(t *testing.T, parent int) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestNothingSurvivesTheHost(t *testing.T) {
	onlyWithMarks(t)
	for _, test := range []struct {
		kind   string
		rounds int
		least  int // processes besides the host
	}{
		{"worst", soak.Times(3, 10), 5}, // two leaders, two strays, a standby
		{"early", soak.Times(3, 10), 0}, // the host is killed as soon as its first process exists
		{"together", soak.Times(3, 10), 0},
		{"quick", soak.Times(3, 10), 1},
		{"unmarked", soak.Times(1, 3), 1},
		{"nested", soak.Times(1, 3), 6},
	} {
		t.Run(test.kind, func(t *testing.T) {
			for range test.rounds {
				tok := children.Token(t)
				cmd := host(t, test.kind, tok, t.TempDir())
				watch := theOnlyGuardian(t, cmd.Process.Pid)
				eventually.True(t, "there are processes to kill", func() bool { return len(children.Bearing(tok))-1 >= test.least })
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				eventually.True(t, "everything the host started is gone", func() bool { return len(children.Bearing(tok)) == 0 })
				eventually.True(t, "its guardian is gone", func() bool { return gone(watch) })
			}
		})
	}
}

func TestGuardian(t *testing.T) {
	onlyWithMarks(t)
	var log lines
	g := NewGroup(log.logger())
	defer g.Close()
	if own := guardians(t, os.Getpid()); len(own) != 0 {
		t.Fatalf("guardians before the first process: %v", own)
	}
	first := theGuardian(t, g)

	t.Run("there is one for any number of processes", func(t *testing.T) {
		for range 3 {
			output(t, g, fake(t, "exit", "0"))
		}
		if again := theGuardian(t, g); again != first {
			t.Errorf("%d after %d", again, first)
		}
	})
	t.Run("has only its pipe, almost no environment, and the root as its directory", func(t *testing.T) {
		proc := "/proc/" + strconv.Itoa(first)
		eventually.True(t, "it is in the root directory", func() bool {
			name, _ := os.ReadFile(proc + "/comm")
			return string(name) == guard.Name[:15]+"\n"
		})
		for fd := range 3 {
			target, err := os.Readlink(proc + "/fd/" + strconv.Itoa(fd))
			if want := []string{"pipe:", os.DevNull, os.DevNull}[fd]; err != nil || !strings.HasPrefix(target, want) {
				t.Errorf("descriptor %d: %s, %v", fd, target, err)
			}
		}
		if dir, err := os.Readlink(proc + "/cwd"); err != nil || dir != "/" {
			t.Error(dir, err)
		}
		if env, err := os.ReadFile(proc + "/environ"); err != nil || strings.Contains(string(env), "PATH=") {
			t.Errorf("%q, %v", env, err)
		}
		if sid, err := syscall.Getpgid(first); err != nil || sid != first {
			t.Error(sid, err)
		}
	})
	t.Run("ignores the signals that end its host", func(t *testing.T) {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
			if err := syscall.Kill(first, s); err != nil {
				t.Fatal(err)
			}
		}
		output(t, g, fake(t, "exit", "0"))
		if gone(first) {
			t.Error("a signal ended the guardian")
		}
	})
	t.Run("its death is logged, and the next process starts another", func(t *testing.T) {
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "its death is logged", func() bool { return log.contain("guardian ended") })
		if second := theGuardian(t, g); second == first {
			t.Error("the dead guardian was not replaced")
		}
	})
	t.Run("ends with the group", func(t *testing.T) {
		last := theGuardian(t, g)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if !gone(last) {
			t.Error("the guardian did not end with the group")
		}
	})
}

// theGuardian runs a process and returns the guardian that is running afterwards.
func theGuardian(t *testing.T, g *Group) int {
	t.Helper()
	output(t, g, fake(t, "exit", "0"))
	return theOnlyGuardian(t, os.Getpid())
}

// theOnlyGuardian returns the guardian of a process. The kernel's lists of children may lack some
// while threads or processes end.
func theOnlyGuardian(t *testing.T, parent int) int {
	t.Helper()
	var all []int
	eventually.True(t, "there is one guardian", func() bool {
		all = guardians(t, parent)
		return len(all) == 1
	})
	return all[0]
}

// TestGuard: a guardian that was started ahead is the one of the first process.
func TestGuard(t *testing.T) {
	onlyWithMarks(t)
	g := newGroup(t)
	g.Guard()
	g.guardian.current().awaitUp()
	own := theOnlyGuardian(t, os.Getpid())
	if first := theGuardian(t, g); first != own {
		t.Errorf("%d after %d", first, own)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if !gone(own) {
		t.Error("the guardian did not end with the group")
	}
}

func TestGuardianThatKeepsEnding(t *testing.T) {
	var log lines
	var g guardian
	for range maxStartFailures + 2 {
		p := g.ensure(log.logger(), guard.Mark{Value: 1 << 40, Mask: 1 << 40}, func() []int { return nil })
		if p == nil {
			break
		}
		<-p.up
		if p.proc == nil {
			t.Fatal("no guardian was started")
		}
		_ = p.proc.Kill()
		<-p.down
	}
	if n := len(log.list()); n != maxStartFailures {
		t.Errorf("%d tries, want %d", n, maxStartFailures)
	}
}

func TestMarkRefused(t *testing.T) {
	var log lines
	g := NewGroup(log.logger())
	defer g.Close()
	for range 2 {
		if value := g.mark(1 << 30); value != 0 { // there is no such process
			t.Errorf("%x", value)
		}
	}
	if n := len(log.list()); n != 1 || len(g.marks.live) != 0 {
		t.Errorf("logged %d times, %d values lost", n, len(g.marks.live))
	}
}

// Write lets a logger write to lines.
func (l *lines) Write(p []byte) (int, error) {
	l.add(string(p))
	return len(p), nil
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) contain(text string) bool {
	return strings.Contains(strings.Join(l.list(), "\n"), text)
}
