package lease

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// childEnv makes the test binary another process: it starts a sleep in a marked group, prints its
// holder, and waits.
const childEnv = "PATCHBAY_TEST_LEASE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	group := proc.NewGroup(nil)
	p, err := group.Start(context.Background(), proc.Spec{Path: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(os.Getpid(), p.Pid(), group.Mark())
	select {}
}

// A child is another holder.
type child struct {
	Holder
	cmd   *exec.Cmd
	sleep int // the process that it has started
}

func startChild(t *testing.T) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.Marks = make([]string, 1)
	if _, err := fmt.Sscan(line, &c.PID, &c.sleep, &c.Marks[0]); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	c.Machine, c.Name = machineID(), "the child"
	c.Start, _ = startTime(c.PID)
	return c
}

func TestState(t *testing.T) {
	c := startChild(t)
	check := func(rule string, h Holder, want State) {
		t.Helper()
		if got := h.State(); got != want {
			t.Errorf("%s: got %d, want %d (%+v)", rule, got, want, h)
		}
	}
	check("this process", Self(), Alive)
	check("another one", c.Holder, Alive)
	other := c.Holder
	other.Machine = strings.Replace(other.Machine, "pid:[", "pid:[9", 1)
	check("a process in another pid namespace", other, Elsewhere)
	other = c.Holder
	other.Machine = "another boot"
	check("a process of another machine, or from before a restart of this one", other, Elsewhere)
	other = c.Holder
	other.Start--
	check("a reused process id", other, Dead)
	check("an unknown holder", Holder{}, Elsewhere)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); c.State() == Alive && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	check("a zombie", c.Holder, Dead)
	_ = c.cmd.Wait()
	check("a process that has ended", c.Holder, Dead)
}

func TestEndLeftovers(t *testing.T) {
	t.Run("waits for the processes that a killed process has started", func(t *testing.T) {
		c := startChild(t)
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		if err := c.EndLeftovers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(c.sleep, 0); err == nil {
			if _, ended := startTime(c.sleep); !ended {
				t.Errorf("process %d still runs", c.sleep)
			}
		}
	})
	t.Run("kills them if the guardian does not", func(t *testing.T) {
		c := startChild(t)
		guardians := children.Bearing(c.Marks[0])
		if len(guardians) != 1 {
			t.Fatalf("guardians: %v, want one", guardians)
		}
		t.Cleanup(func() { _ = syscall.Kill(guardians[0], syscall.SIGKILL) })
		if err := syscall.Kill(guardians[0], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		if err := c.EndLeftovers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, ended := startTime(c.sleep); syscall.Kill(c.sleep, 0) == nil && !ended {
			t.Errorf("process %d still runs", c.sleep)
		}
	})
	t.Run("a process that does not end is named", func(t *testing.T) {
		c := startChild(t) // alive, like the process that it has started
		err := c.EndLeftovers(t.Context())
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", c.sleep)) {
			t.Errorf("got %v, want an error that names process %d", err, c.sleep)
		}
	})
	t.Run("a mark that cannot be read is an error", func(t *testing.T) {
		if err := (Holder{Name: "x", Marks: []string{"zz"}}).EndLeftovers(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

func TestParseStat(t *testing.T) {
	const rest = " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 %d 0 %d 1 1"
	for _, c := range []struct {
		name, text string
		start      uint64
		ended      bool
	}{
		{"alive", fmt.Sprintf("7 (cat) S"+rest, 1, 99), 99, false},
		{"a name with anything in it", fmt.Sprintf("7 (a) Z (b) R"+rest, 1, 99), 99, false},
		{"ended", fmt.Sprintf("7 (cat) Z"+rest, 1, 99), 99, true},
		{"its first thread has ended", fmt.Sprintf("7 (cat) Z"+rest, 3, 99), 99, false},
		{"half a line", "7 (cat) S 1 1", 0, false},
		{"nothing", "", 0, false},
	} {
		if start, ended := parseStat([]byte(c.text)); start != c.start || ended != c.ended {
			t.Errorf("%s: got %d, %v", c.name, start, ended)
		}
	}
}
