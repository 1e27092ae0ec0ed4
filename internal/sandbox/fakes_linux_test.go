package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// fakes are programs that do what their names say.
var fakes = map[string]func(args []string) int{
	"quiet":  func([]string) int { return 0 },
	"hang":   hang,
	"tell":   tell,
	"open":   open,
	"reads":  reads,
	"probes": probes,
	"worst":  worst,
	"stray":  stray,
	"leaves": leaves,
	"forks":  forks,
	"sleeps": func([]string) int { time.Sleep(time.Second); return 0 }, // sleeping is its purpose

	"tries":    tries,
	"connects": connects,
	"host":     fakeHost,
	"shares":   shares,
}

// tell prints its arguments, its directory and its environment, each followed by a zero byte.
func tell([]string) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, text := range append(append(os.Args, dir), os.Environ()...) {
		fmt.Print(text + "\x00")
	}
	return 0
}

// open prints its descriptors beside the standard ones, and their content.
func open([]string) int {
	for fd := 3; fd < 1024; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		text := make([]byte, 100)
		n, err := unix.Read(fd, text)
		fmt.Printf("%d %q %v\n", fd, text[:max(n, 0)], err)
	}
	return 0
}

// reads prints the content of files. Variables in their names are expanded.
func reads(names []string) int {
	for _, name := range names {
		text, err := os.ReadFile(os.ExpandEnv(name))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("%s\n", text)
	}
	return 0
}

// tooDeep is the exit code of probes if it can create no namespace at all.
const tooDeep = 99

// probes runs Probe where exactly one more user namespace can be nested, and then runs a program in
// a sandbox that uses the features that Probe found. The kernel limits the nesting, so probes goes
// as deep as it can, and then one level back.
func probes([]string) int {
	me := []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	deeper, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: me, GidMappings: me}})
	if err != nil {
		return tooDeep
	}
	if state, err := deeper.Wait(); err != nil || state.ExitCode() != tooDeep {
		return state.ExitCode()
	}
	g := proc.NewGroup(nil)
	defer g.Close()
	system := Probe(context.Background(), g)
	exec := capability.Capability{Kind: capability.Exec, Binary: "x", Path: "/x"}
	fmt.Println(system.Namespaces, system.Landlock, system.Judge([]capability.Capability{exec})[0].Status, system.Loader)
	r, err := g.Run(context.Background(), sh(Options{System: system}, "echo ran"), proc.Call{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(string(r.Stdout))
	return 0
}

// hang waits without end.
func hang([]string) int {
	fmt.Println("up")
	for {
		time.Sleep(time.Hour)
	}
}

// worst ignores the signals that would end it, and has a child in its own session that does the
// same. Its argument marks them.
func worst(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := again(append([]string{"stray"}, args...)...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return hang(nil)
}

// stray starts itself again in a new session and ends, so that the other process is an orphan.
func stray(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if len(args) > 1 {
		return hang(nil)
	}
	if err := again("stray", args[0], "again"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// leaves ends at once and leaves a stray behind.
func leaves(args []string) int {
	if err := again(append([]string{"stray"}, args...)...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// again starts this program as another fake, in its own session, and does not wait for it.
func again(args ...string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", append([]string{os.Args[0], "-fake"}, args...),
		&os.ProcAttr{Files: []*os.File{null, null, null}, Env: os.Environ(), Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return err
	}
	return p.Release()
}

// forks starts children without end, a few at a time. Each runs for a second, in its own session.
func forks(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGCHLD)
	for i := 0; ; i++ {
		if err := again(append([]string{"sleeps"}, args...)...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if i == 1 {
			fmt.Println("up")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// connects keeps connections through its host open.
func connects([]string) int {
	for range 5 {
		conn, err := net.Dial("tcp", "api.example.test:7777")
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return hang(nil)
}
