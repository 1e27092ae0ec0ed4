package escape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// runTime bounds one attempt. Most take a few hundredths of a second.
const runTime = 8 * time.Second

// patience bounds every wait for something that must happen.
const patience = time.Minute

// eventually polls until a condition holds.
func eventually(holds func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := holds()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// freeSpec is a process without a sandbox.
type freeSpec struct {
	argv  []string
	extra *os.File // inherited as descriptor 3; may be nil
}

// runFree runs a program without a sandbox, by fork and exec. It inherits directory and
// environment. It returns the output and the exit code.
func runFree(s freeSpec) (string, int, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer read.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", 0, err
	}
	defer null.Close()
	files := []*os.File{null, write, write}
	if s.extra != nil {
		files = append(files, s.extra)
	}
	p, err := os.StartProcess(s.argv[0], s.argv, &os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}})
	write.Close()
	if err != nil {
		return "", 0, err
	}
	timer := time.AfterFunc(runTime, func() { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	return collect(p, read)
}

// collect reads the output of a process until it ends. Processes that it leaves behind may hold the
// pipe open.
func collect(p *os.Process, read *os.File) (string, int, error) {
	said := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(read)                    // ends at the deadline at the latest
		said <- string(append(all, waiting(read)...)) // a busy machine may read nothing until then
	}()
	state, err := p.Wait()
	if err != nil {
		return "", 0, err
	}
	_ = read.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	return <-said, state.ExitCode(), nil
}

// waiting reads what is in a pipe now, regardless of its deadline.
func waiting(pipe *os.File) (all []byte) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	_ = conn.Control(func(fd uintptr) {
		buf := make([]byte, 64<<10) // as much as a pipe holds
		for {
			n, err := unix.Read(int(fd), buf) // this never blocks
			if err != nil || n <= 0 {
				return
			}
			all = append(all, buf[:n]...)
		}
	})
	return all
}

// boxes runs attempts in the sandbox, as the host would.
type boxes struct {
	group  *proc.Group
	box    *sandbox.Box
	system *sandbox.System // what the level can enforce
	barred string          // see canaries
}

// The levels of docs/security.md at which the sandbox is attacked.
const (
	full     = "full"
	landlock = "landlock" // only Landlock and the filter of system calls
	reading  = "reading"  // the same, for a plugin that may write nothing
)

func newBoxes(level string) (*boxes, error) {
	b := &boxes{group: proc.NewGroup(nil), barred: "yes"}
	system := sandbox.Probe(context.Background(), b.group)
	if system.Namespaces != nil {
		return nil, system.Namespaces
	}
	if level != full {
		system = withoutNamespaces(system)
	}
	if system.Loader != nil || level != full {
		b.barred = ""
	}
	texts := granted(level)
	if os.Getenv("WHAT") == "legitimate" {
		texts = append(texts, tools()...)
	}
	grants, err := parse(texts)
	if err != nil {
		return nil, err
	}
	b.system = system
	b.box = sandbox.New(sandbox.Options{Grants: grants, Own: []string{ownDir}, System: system})
	return b, nil
}

// withoutNamespaces returns a system with Landlock alone.
func withoutNamespaces(s *sandbox.System) *sandbox.System {
	return &sandbox.System{Namespaces: errors.New("switched off by the test"), Landlock: s.Landlock, Scoped: s.Scoped, Filter: s.Filter}
}

// granted returns the capabilities of a plugin in the arena. Hosts cannot be granted without
// namespaces.
func granted(level string) []string {
	all := []string{"read:fs:" + grantDir, "read:fs:" + notesDir, "exec:tool:" + toolDir + "/tool"}
	if level != reading {
		all = append(all, "write:fs:"+writeDir)
	}
	if level == full {
		all = append(all, "net:127.0.0.1:"+portGranted, "net:"+nameGranted+":"+portGranted, "net:"+nameRebinding+":"+portGranted)
	}
	return all
}

// tools returns the capabilities for programs that honest plugins start.
func tools() []string {
	var all []string
	for _, name := range []string{"cp", "git", "mkdir", "tar", "touch"} {
		all = append(all, "exec:"+name+":/usr/bin/"+name)
	}
	return all
}

func parse(texts []string) ([]capability.Capability, error) {
	var grants []capability.Capability
	for _, text := range texts {
		c, err := capability.Parse(text)
		if err != nil {
			return nil, err
		}
		grants = append(grants, c)
	}
	return grants, nil
}

// spec returns a plugin as the host starts it: with an environment of a few variables, in its own
// directory.
func (b *boxes) spec(argv []string) proc.Spec {
	return proc.Spec{
		Path: argv[0], Args: argv[1:], Dir: ownDir, Box: b.box,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + homeDir, "LANG=C.UTF-8"},
	}
}

func (b *boxes) run(argv []string) (string, int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	r, err := b.group.Run(ctx, b.spec(argv), proc.Call{})
	if r == nil {
		return "", 0, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // an attempt that hangs has not escaped
	}
	return string(r.Stdout) + r.Stderr, r.Exit.Code, err
}

// A verdict is the result of an attempt.
type verdict struct {
	Escaped bool
	Why     string // the proof, or what stopped it
}

// judge decides by visible effects, and waits for them. It believes the attempt's own output only
// if there can be no other proof (claim).
func (c *canaries) judge(said string, wait time.Duration) verdict {
	first, _, _ := strings.Cut(said, "\n")
	word, rest, _ := strings.Cut(strings.TrimSpace(first), " ")
	proofs := c.proofs(said)
	if len(proofs) == 0 && word == "did" {
		// A signal or a packet takes some time.
		for end := time.Now().Add(wait); len(proofs) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			proofs = c.proofs(said)
		}
	}
	switch {
	case len(proofs) > 0:
		return verdict{true, strings.Join(proofs, "; ")}
	case word == "claim":
		return verdict{true, rest}
	case word == "content":
		return verdict{false, "it printed no secret: " + cut(rest)}
	case word == "did":
		return verdict{false, "no effect outside: " + cut(rest)}
	case word == "held", word == "n/a":
		return verdict{false, cut(rest)}
	}
	return verdict{false, fmt.Sprintf("said %q", cut(said))}
}

// How long an effect outside is awaited. Without the sandbox there must be one, also on a busy
// machine.
const (
	effectTime     = 250 * time.Millisecond
	freeEffectTime = 10 * time.Second
)

func (c *canaries) proofs(said string) []string {
	proofs := c.changes()
	for _, secret := range []string{
		c.secret, fmt.Sprintf("mtime %d", c.mtime.UnixNano()), fmt.Sprintf("semaphore %d", c.shared.semaphore), fmt.Sprintf("key %d", ipcKey),
	} {
		if strings.Contains(said, secret) {
			proofs = append(proofs, "it printed the secret")
		}
	}
	for _, pid := range c.survivors() {
		proofs = append(proofs, fmt.Sprintf("process %d still runs", pid))
		_ = syscall.Kill(pid, syscall.SIGKILL) // one of ours, by its name
	}
	return proofs
}

func cut(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 90 {
		return text[:90] + "…"
	}
	return text
}
