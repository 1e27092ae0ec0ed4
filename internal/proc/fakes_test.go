//go:build unix

package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
)

// fakes are the processes under test, by the name of their misbehaviour. If a fake has arguments,
// its comment names them. A TOKEN only serves to find the process again in the process list.
var fakes = map[string]func(args []string) int{
	"exit":              fakeExit,
	"echo":              fakeEcho,
	"env":               fakeEnv,
	"argv":              fakeArgv,
	"descriptors":       fakeDescriptors,
	"hang":              fakeHang,
	"speaks-then-hangs": fakeSpeaksThenHangs,
	"ignores-sigterm":   fakeIgnoresSigterm,
	"leaves-group":      fakeLeavesGroup,
	"closes-stdin":      fakeClosesStdin,
	"huge":              fakeHuge,
	"stderr-flood":      fakeStderrFlood,
	"stderr":            fakeStderr,
	"fork-and-exit":     fakeForkAndExit,
	"dies-on-sigterm":   fakeDiesOnSigterm,
	"tidies-up":         fakeTidiesUp,
	"worst":             fakeWorst,
	"middle":            fakeMiddle,
	"stray":             fakeStray,
	"dies-first-time":   fakeDiesFirstTime,
	"host":              fakeHost,
	"spins":             fakeSpins,
	"limited-host":      fakeLimitedHost,
}

// linger bounds the life of a fake that should be killed, so that a failed test leaves nothing
// behind.
func linger() int {
	time.Sleep(2 * time.Minute) // until it is killed
	return 99
}

// exit CODE
func fakeExit(args []string) int {
	code, _ := strconv.Atoi(args[0])
	return code
}

func fakeEcho([]string) int {
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return 1
	}
	return 0
}

func fakeEnv([]string) int {
	for _, entry := range os.Environ() {
		fmt.Println(entry)
	}
	return 0
}

func fakeArgv([]string) int {
	fmt.Println(strings.Join(os.Args, "|"))
	dir, _ := os.Getwd()
	fmt.Println(dir)
	return 0
}

// descriptors prints each open descriptor, except those of Go's runtime (epoll, its cgroup's CPU
// limit).
func fakeDescriptors([]string) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 1
	}
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode") && !strings.HasPrefix(target, "/sys/fs/cgroup") {
			kind, _, _ := strings.Cut(target, ":")
			fmt.Println(entry.Name(), kind)
		}
	}
	return 0
}

// hang reports that it is up and then does nothing, even if stdin ends.
func fakeHang([]string) int {
	fmt.Println("up")
	return linger()
}

func fakeSpeaksThenHangs([]string) int {
	fmt.Print("half a reply")
	fmt.Fprintln(os.Stderr, "said")
	return linger()
}

func fakeIgnoresSigterm([]string) int {
	signal.Ignore(syscall.SIGTERM)
	return fakeHang(nil)
}

// leaves-group tries to leave its process group for that of its parent.
func fakeLeavesGroup([]string) int {
	group, err := syscall.Getpgid(os.Getppid())
	if err != nil || syscall.Setpgid(0, group) == nil {
		return 1
	}
	return fakeHang(nil)
}

// closes-stdin does not read its payload and succeeds.
func fakeClosesStdin([]string) int {
	os.Stdin.Close()
	fmt.Println("done")
	return 0
}

// huge BYTES
func fakeHuge(args []string) int {
	n, _ := strconv.Atoi(args[0])
	chunk := []byte(strings.Repeat("x", 1<<10))
	for ; n > 0; n -= len(chunk) {
		if _, err := os.Stdout.Write(chunk[:min(n, len(chunk))]); err != nil {
			return 1
		}
	}
	return 0
}

// stderr-flood LINES
func fakeStderrFlood(args []string) int {
	n, _ := strconv.Atoi(args[0])
	out := bufio.NewWriter(os.Stderr)
	for i := range n {
		fmt.Fprintf(out, "line %d\n", i)
	}
	out.Flush()
	fmt.Println("done")
	return 0
}

// stderr TEXT
func fakeStderr(args []string) int {
	fmt.Fprint(os.Stderr, args[0])
	return 3
}

// fork-and-exit TOKEN leaves a child in its process group that holds stdout and stderr open.
func fakeForkAndExit(args []string) int {
	fmt.Println("parent")
	child := exec.Command(os.Args[0], "-fake", "hang", args[0])
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return 1
	}
	return 0
}

// dies-on-sigterm DIR behaves as a shell with a running program: it ends at once, and the program
// goes on.
func fakeDiesOnSigterm(args []string) int {
	child := exec.Command(os.Args[0], "-fake", "tidies-up", args[0])
	child.Stdout = os.Stdout
	if err := child.Start(); err != nil {
		return 1
	}
	return linger()
}

// tidies-up DIR takes some time to save its work on SIGTERM.
func fakeTidiesUp(args []string) int {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	fmt.Println("up")
	<-terms
	time.Sleep(200 * time.Millisecond) // its work
	if err := os.WriteFile(filepath.Join(args[0], "saved"), nil, 0o600); err != nil {
		return 1
	}
	return 0
}

// worst TOKEN FILE ignores SIGTERM and leaves a stray process behind: forked twice, in its own
// session, without environment. It prints "up" when the stray is up. FILE gets the stray's pid.
func fakeWorst(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if err := detached("middle", args).Run(); err != nil {
		return 1
	}
	for !exists(args[1]) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("up")
	return linger()
}

// middle TOKEN FILE starts the stray and exits, so that the stray is an orphan.
func fakeMiddle(args []string) int {
	if err := detached("stray", args).Start(); err != nil {
		return 1
	}
	return 0
}

// stray TOKEN FILE
func fakeStray(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	temp := args[1] + ".tmp"
	if err := os.WriteFile(temp, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return 1
	}
	if err := os.Rename(temp, args[1]); err != nil {
		return 1
	}
	return linger()
}

func detached(fake string, args []string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{"-fake", fake}, args...)...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// dies-first-time FILE creates FILE and exits at once if FILE does not exist; otherwise it echoes.
func fakeDiesFirstTime(args []string) int {
	if exists(args[0]) {
		return fakeEcho(nil)
	}
	if err := os.WriteFile(args[0], nil, 0o600); err != nil {
		return 1
	}
	return 7
}

// host KIND TOKEN DIR is a host with a few processes. It prints "up" when they are up, and waits to
// be killed.
//
//	worst     a long-lived process with a stray, a call under way with a stray, a standby
//	early     the same, but it prints "up" as soon as the first process is started
//	together  it prints "up" when several processes that were started together are up
//	quick     its plugin forks twice and leaves its session as the first thing it does
//	unmarked  marks do not work here: a process group only
//	nested    its plugin is itself a host with the worst plugin
func fakeHost(args []string) int {
	kind, token, dir := args[0], args[1], args[2]
	g := NewGroup(nil)
	ctx := context.Background()
	spec := func(name string, args ...string) Spec {
		return Spec{Path: "/proc/self/exe", Args: append([]string{"-fake", name}, args...)}
	}
	switch kind {
	case "quick":
		script := `(setsid sh -c 'trap "" TERM; sleep 60; :' "$0" </dev/null >/dev/null 2>&1 &); echo up; sleep 60`
		return startAndWait(g, Spec{Path: "/bin/sh", Args: []string{"-c", script, token}, Env: []string{"PATH=/usr/bin:/bin"}})
	case "unmarked":
		g.marks.prefix = 0
		return startAndWait(g, spec("ignores-sigterm", token))
	case "nested":
		return startAndWait(g, spec("host", "worst", token, dir))
	}
	if kind == "early" {
		defer linger()
	}
	if kind == "together" {
		return startTogether(g, spec("worst", token, filepath.Join(dir, "stray1")), spec("echo", token))
	}
	p, err := g.Start(ctx, spec("worst", token, filepath.Join(dir, "stray1")))
	if err != nil {
		return 1
	}
	if kind == "early" {
		fmt.Println("up")
		return 0
	}
	go g.Run(ctx, spec("worst", token, filepath.Join(dir, "stray2")), Call{})
	g.Standby(spec("echo", token), 1)
	for !exists(filepath.Join(dir, "stray2")) {
		time.Sleep(time.Millisecond)
	}
	return waitUp(p)
}

func startTogether(g *Group, specs ...Spec) int {
	guarded := g.Together()
	for _, s := range specs {
		if _, err := g.Start(context.Background(), s); err != nil {
			return 1
		}
	}
	guarded()
	fmt.Println("up")
	return linger()
}

func startAndWait(g *Group, s Spec) int {
	p, err := g.Start(context.Background(), s)
	if err != nil {
		return 1
	}
	return waitUp(p)
}

func waitUp(p *Process) int {
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		return 1
	}
	fmt.Print(line)
	return linger()
}

// spins uses processor time. Like every Go program it ignores SIGXCPU.
func fakeSpins([]string) int {
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
	}
	return 99
}

// notLimited begins the output of limited-host if the processes of its user are not limited.
const notLimited = "not limited: "

// limited-host PROCESSES SCRIPT is a host that runs a shell script with a limit of processes, and
// prints how it ended.
func fakeLimitedHost(args []string) int {
	limit, _ := strconv.Atoi(args[0])
	if support := limits.Supported().Processes; support.By == "" {
		fmt.Print(notLimited + support.Note)
		return 0
	}
	g := NewGroup(nil)
	defer g.Close()
	s := Spec{Path: "/bin/sh", Args: []string{"-c", args[1]}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: limits.Limits{Processes: limit}}
	result, err := g.Run(context.Background(), s, Call{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%s%s", result.Stdout, result.Exit)
	return 0
}
