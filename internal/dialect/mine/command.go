package mine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// commandGrace is how long a command may run on after the user has interrupted it.
const commandGrace = 2 * time.Second

// RunCommand runs one of the plugin's commands. Its output goes to the user unchanged, and it has
// no timeout: docs/protocols/mine.md, row M51.
func (p *plugin) RunCommand(ctx context.Context, c dialect.Command) (code int, err error) {
	if known := p.manifest.commandNames(); !slices.Contains(known, c.Name) {
		return -1, fmt.Errorf("plugin %s has no command %q; %s", p.manifest.name, c.Name, nearest.Suggest(c.Name, known))
	}
	spec, own := p.spec(), p.manifest.readsUser(c.Name)
	if own {
		spec.Env = append(slices.Clip(spec.Env), invocationVar+"="+string(commandCall(c.Name, c.Args)))
	}
	if c.Terminal != nil && !confined(spec) {
		return p.atTerminal(ctx, c, spec, own)
	}
	stderr := &errorStream{out: c.ErrOut, failed: c.Failed}
	spec.Log = stderr.line
	process, err := p.rt.Procs.Start(ctx, spec)
	if err != nil {
		return -1, unstarted(err)
	}
	defer process.Stop(context.Background(), proc.Ladder{}) // closes the pipes
	unwatch := context.AfterFunc(ctx, func() { process.Stop(context.Background(), proc.Ladder{Term: commandGrace}) })
	defer unwatch()
	copied := passOn(process, p.stdin(c, own), c.Out)
	<-process.Done()
	if err := <-copied; err != nil && ctx.Err() == nil {
		return process.Exit().ShellCode(), fmt.Errorf("its output: %w", err)
	}
	return stderr.end(ctx, process.Exit())
}

// invocationVar holds the invocation of a command that reads the user's stdin.
const invocationVar = "MINE_INVOCATION"

// stdin returns what a command reads: its invocation, or the user's stdin.
func (p *plugin) stdin(c dialect.Command, own bool) io.Reader {
	switch {
	case !own:
		return bytes.NewReader(line(commandCall(c.Name, c.Args)))
	case c.In == nil:
		return strings.NewReader("")
	}
	return c.In
}

// passOn copies stdin to the process and the process's output to out. The channel gets the error of
// the output once it has been copied. If out fails, the process is stopped. passOn does not wait
// for stdin: the user may type more than the plugin reads, or type slowly.
func passOn(process *proc.Process, stdin io.Reader, out io.Writer) <-chan error {
	copied := make(chan error, 1)
	go func() {
		_, _ = io.Copy(process.Stdin(), stdin) // if the plugin does not read it, its exit code says whether that matters
		_ = process.Stdin().Close()
	}()
	go func() {
		_, err := io.Copy(out, process.Stdout())
		if err != nil {
			process.Stop(context.Background(), proc.Ladder{Term: commandGrace})
		}
		copied <- err
	}()
	return copied
}

// An errorStream passes on what a command writes to stderr, line by line. Output that starts like
// an error object is held back until the command ends, because an error object is shown as its
// message: docs/protocols/mine.md, row M52. If failed is set, all output is held back: if the
// command fails, this output is its error message.
type errorStream struct {
	mu      sync.Mutex // protects the fields below, and writes to out
	out     io.Writer
	held    []string     // lines that may be an error object
	size    int          // of held, in bytes
	first   string       // the first line that is not blank
	passing bool         // stderr is not an error object: lines are passed on at once
	failed  func(string) // gets the error message; nil: it is printed
}

// mostHeld limits what is held back. An error object has one line or a few.
const mostHeld = 64 << 10

// line takes one line. Only the goroutine that reads stderr calls it.
func (s *errorStream) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.size = append(s.held, text), s.size+len(text)
	s.first = cmp.Or(s.first, strings.TrimSpace(text))
	words := s.failed == nil && s.first != "" && s.first[0] != '{'
	if s.passing || s.size > mostHeld || words {
		s.release()
	}
}

// release passes on what was held back, and all that follows.
func (s *errorStream) release() {
	s.passing = true
	for _, text := range s.held {
		s.print(text)
	}
	s.held = nil
}

// print writes a line. It ignores errors, since there is no other place to report them.
func (s *errorStream) print(text string) { _, _ = io.WriteString(s.out, text+"\n") }

// fail reports an error message.
func (s *errorStream) fail(message string) {
	if s.failed != nil {
		s.failed(message)
		return
	}
	s.print(message)
}

// message returns the error message in what was held back, or "".
func (s *errorStream) message() string {
	text := strings.Join(s.held, "\n")
	if said := saidOn(text); said != nil {
		return said.Error()
	}
	if s.failed != nil {
		return stderrTail(text)
	}
	return ""
}

// end returns the exit code of the command, after it has shown the error object or what was held
// back: docs/protocols/mine.md, row M52.
func (s *errorStream) end(ctx context.Context, exit proc.Exit) (code int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if message := s.message(); message != "" && exit.Code != 0 {
		s.fail(message)
		s.held = nil
	}
	s.release()
	defer func() { s.out = io.Discard }() // a process that was left behind may still write, after the caller has returned
	switch {
	case ctx.Err() != nil:
		return exit.ShellCode(), context.Cause(ctx)
	case exit.Signal != "":
		return exit.ShellCode(), hook.Failure(hook.Crash, unexpected(exit))
	case exit.Code != 0 && (s.first == "" || s.failed != nil && s.size > mostHeld):
		s.fail(unexpected(exit).Error())
	}
	return exit.Code, nil
}
