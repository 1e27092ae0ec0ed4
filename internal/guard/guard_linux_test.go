package guard

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// ours returns a mark for the processes of one test, in the form that a host uses.
func ours(t *testing.T) Mark {
	t.Helper()
	return Mark{Value: 1<<61 | uint64(os.Getpid())<<20, Mask: ^uint64(0xfffff)}
}

// shell starts a shell with a mark, in its own process group. With 0 it has no mark.
func shell(t *testing.T, script string, mark uint64) *os.Process {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	// The script waits for a line that says that it is marked.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "read go\n" + script}, &os.ProcAttr{
		Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{read, null, null}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	read.Close()
	defer write.Close()
	if err != nil {
		t.Fatal(err)
	}
	if mark != 0 {
		if err := unix.Prlimit(p.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: mark}, nil); err != nil {
			if machine.CI() {
				t.Fatal("marks cannot be set:", err) // the rest would not be tested
			}
			t.Skip("marks cannot be set:", err)
		}
	}
	if _, err := write.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_, _ = p.Wait()
	})
	return p
}

// marked counts the running processes with a mark.
func marked(m Mark) int {
	n := 0
	for _, pid := range processes() {
		if limit, ok := limitOf(pid); ok && m.On(limit) && !finished(pid) {
			n++
		}
	}
	return n
}

func TestSweep(t *testing.T) {
	m := ours(t)

	t.Run("kills the marked process and its descendants", func(t *testing.T) {
		shell(t, "trap '' TERM; setsid sleep 60 & env -i sleep 60 & wait", m.Value|1)
		eventually.True(t, "three processes are up", func() bool { return marked(m) == 3 })
		if left := new(Sweeper).Sweep(m); left != 0 || marked(m) != 0 {
			t.Errorf("%d left, %d alive", left, marked(m))
		}
	})
	t.Run("kills no other process", func(t *testing.T) {
		p := shell(t, "sleep 60", 0)
		other := shell(t, "sleep 60", m.Value|2)
		new(Sweeper).Sweep(Mark{Value: m.Value | 1, Mask: ^uint64(0)})
		if finished(p.Pid) || finished(other.Pid) {
			t.Error("a process with another mark, or none, was killed")
		}
		new(Sweeper).Sweep(m)
	})
	t.Run("kills processes that keep forking and exiting", func(t *testing.T) {
		// Each subshell starts the next and exits. Without a sweep they would go on for half a
		// second.
		shell(t, "flee() { [ $1 -gt 0 ] && (flee $(($1-1))) & }; flee 900", m.Value|3)
		if left := new(Sweeper).Sweep(m); left != 0 || marked(m) != 0 {
			t.Errorf("%d left, %d alive", left, marked(m))
		}
	})
	t.Run("does not wait for zombies", func(t *testing.T) {
		p := shell(t, "exit 0", m.Value|4)
		eventually.True(t, "the process has ended", func() bool { return finished(p.Pid) })
		if _, ok := limitOf(p.Pid); !ok {
			t.Fatal("it is not a zombie")
		}
		if left := new(Sweeper).Sweep(m); left != 0 {
			t.Errorf("%d left", left)
		}
	})
	t.Run("kills a process whose first thread has ended", func(t *testing.T) {
		p := headless(t)
		if err := unix.Prlimit(p.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: m.Value | 5, Max: m.Value | 5}, nil); err != nil {
			t.Fatal(err)
		}
		if marked(m) != 1 {
			t.Fatal("a running process counts as ended")
		}
		new(Sweeper).Sweep(m)
		eventually.True(t, "it is dead", func() bool { return finished(p.Pid) })
	})
	t.Run("serves several callers at the same time", func(t *testing.T) {
		const callers = 8
		for i := range uint64(callers) {
			shell(t, "trap '' TERM; setsid sleep 60 & wait", m.Value|(16+i))
		}
		spared := shell(t, "exec sleep 60", m.Value|15)
		eventually.True(t, "all processes are up", func() bool { return marked(m) == 2*callers+1 })
		var s Sweeper
		var left [callers]int
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				own := Mark{Value: m.Value | uint64(16+i), Mask: ^uint64(0)}
				left[i] = s.Sweep(own) + marked(own)
			})
		}
		wg.Wait()
		if left != [callers]int{} || finished(spared.Pid) {
			t.Errorf("%d alive; the other process has ended: %t", left, finished(spared.Pid))
		}
		all := make(chan int)
		go func() { all <- s.Sweep(m) }() // both marks are on the process that was spared
		if n := s.Sweep(Mark{Value: m.Value | 15, Mask: ^uint64(0)}) + <-all + marked(m); n != 0 {
			t.Errorf("%d alive", n)
		}
	})
	t.Run("kills no process for the zero mark", func(t *testing.T) {
		p := shell(t, "sleep 60", 0)
		if left := new(Sweeper).Sweep(Mark{}); left != 0 || finished(p.Pid) {
			t.Errorf("%d left", left)
		}
	})
}

// TestMain also runs the fake for headless.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-headless" {
		loseFirstThread()
	}
	os.Exit(m.Run())
}

// loseFirstThread ends the first thread of the process, while another runs for a minute.
func loseFirstThread() {
	runtime.LockOSThread()
	other := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(other)
		_ = syscall.Nanosleep(&syscall.Timespec{Sec: 60}, nil)
		syscall.Exit(0)
	}()
	<-other
	if syscall.Gettid() == os.Getpid() {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
	syscall.Exit(1) // this is not the first thread
}

// headless starts a process and waits until its first thread has ended.
func headless(t *testing.T) *os.Process {
	t.Helper()
	p, err := os.StartProcess("/proc/self/exe", []string{"headless", "-headless"}, &os.ProcAttr{Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_, _ = p.Wait()
	})
	eventually.True(t, "its first thread has ended", func() bool {
		text, _ := readProc(p.Pid, "stat")
		return strings.Contains(string(text), ") Z ")
	})
	if finished(p.Pid) {
		t.Skip("the fake did not run on its first thread")
	}
	return p
}

func TestLimitIsReadFromTheFileToo(t *testing.T) {
	m := ours(t)
	p := shell(t, "sleep 60", m.Value|9)
	if limit, ok := readLimit(p.Pid); !ok || limit != m.Value|9 {
		t.Errorf("%x, %v", limit, ok)
	}
	if limit, ok := readLimit(1 << 30); ok {
		t.Errorf("a process that does not exist has the limit %x", limit)
	}
}

func TestGroupAlive(t *testing.T) {
	p := shell(t, "sleep 60 & exit 0", 0)
	eventually.True(t, "the leader has ended", func() bool { return finished(p.Pid) })
	if !GroupAlive(p.Pid) {
		t.Error("the group has a running member, which is not seen")
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	eventually.True(t, "the group is dead", func() bool { return !GroupAlive(p.Pid) })
}

func TestWatch(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []int
	}{
		{"groups are added", "12\n34\n", []int{12, 34}},
		{"groups are removed again", "12\n34\n-12\n", []int{34}},
		{"nonsense is ignored", "x\n0\n1\n-1\n\n12\n", []int{12}},
		{"an incomplete last line is ignored", "12\n3", []int{12}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(watch(strings.NewReader(test.text))))
			if !slices.Equal(got, test.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestGuardianRefusesNonsense: the test binary imports this package, so it can be its own guardian.
func TestGuardianRefusesNonsense(t *testing.T) {
	p, err := os.StartProcess("/proc/self/exe", []string{Name, "no mark"}, &os.ProcAttr{Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil || state.ExitCode() != 2 {
		t.Errorf("%v, %v", state, err)
	}
}
