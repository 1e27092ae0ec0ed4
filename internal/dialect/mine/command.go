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

// commandGrace is the time a command has to tidy up when the user interrupts it.
const commandGrace = 2 * time.Second

// RunCommand runs one of the plugin's own commands. Seed 001: "The plugin writes raw output to
// stdout (not JSON). This output is displayed directly to the user." It has all the time it wants:
// "Command: None".
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
	defer process.Stop(context.Background(), proc.Ladder{}) // lets go of the pipes
	unwatch := context.AfterFunc(ctx, func() { process.Stop(context.Background(), proc.Ladder{Term: commandGrace}) })
	defer unwatch()
	copied := passOn(process, p.stdin(c, own), c.Out)
	<-process.Done()
	if err := <-copied; err != nil && ctx.Err() == nil {
		return process.Exit().ShellCode(), fmt.Errorf("its output: %w", err)
	}
	return stderr.end(ctx, process.Exit())
}

// invocationVar has the invocation of a command whose stdin is the user's.
const invocationVar = "MINE_INVOCATION"

// stdin is what a command reads: its invocation, or what the user has for it.
func (p *plugin) stdin(c dialect.Command, own bool) io.Reader {
	switch {
	case !own:
		return bytes.NewReader(line(commandCall(c.Name, c.Args)))
	case c.In == nil:
		return strings.NewReader("")
	}
	return c.In
}

// passOn gives the process its stdin, and its output to whoever wants it. The channel has how the
// output went once that is done with the process's pipes. A plugin whose output nobody takes any
// more is stopped. Nobody waits for stdin: the user may have more of it than the plugin wants, or
// be slow to type it.
func passOn(process *proc.Process, stdin io.Reader, out io.Writer) <-chan error {
	copied := make(chan error, 1)
	go func() {
		_, _ = io.Copy(process.Stdin(), stdin) // a plugin that does not read it says so by its exit
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

// An errorStream passes on what a command writes to stderr, as it comes. What starts like an error
// object is held back: seed 001 has it shown as its message.
type errorStream struct {
	mu      sync.Mutex // protects the fields below, and writes to out
	out     io.Writer
	held    []string // lines of what may be an error object
	size    int      // their bytes
	first   string   // the first line that is not blank
	passing bool     // it is no error object: lines go straight on
	failed  func(string)
}

// mostHeld bounds what is held back: an error object is a line or a few.
const mostHeld = 64 << 10

// line takes one line. It is called by the one goroutine that reads stderr.
func (s *errorStream) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.size = append(s.held, text), s.size+len(text)
	s.first = cmp.Or(s.first, strings.TrimSpace(text))
	if s.passing || s.size > mostHeld || s.first != "" && s.first[0] != '{' {
		s.release()
	}
}

// release passes on what was held back, and from then on everything.
func (s *errorStream) release() {
	s.passing = true
	for _, text := range s.held {
		s.print(text)
	}
	s.held = nil
}

// print writes a line; where it cannot be written nobody is left to be told.
func (s *errorStream) print(text string) { _, _ = io.WriteString(s.out, text+"\n") }

// fail tells what went wrong, in the words of the plugin where it has any.
func (s *errorStream) fail(message string) {
	if s.failed != nil {
		s.failed(message)
		return
	}
	s.print(message)
}

// end says how the command came out. Seed 001: "On error, plugins should exit with a non-zero
// status code and write a JSON error object to stderr. … If stderr is not valid JSON, mine displays
// the raw stderr text".
func (s *errorStream) end(ctx context.Context, exit proc.Exit) (code int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said := saidOn(strings.Join(s.held, "\n")); said != nil && exit.Code != 0 {
		s.fail(said.Error())
		s.held = nil
	}
	s.release()
	defer func() { s.out = io.Discard }() // who still writes was left behind, and the caller is gone
	switch {
	case ctx.Err() != nil:
		return exit.ShellCode(), context.Cause(ctx)
	case exit.Signal != "":
		return exit.ShellCode(), hook.Failure(hook.Crash, unexpected(exit))
	case exit.Code != 0 && s.first == "":
		s.fail(unexpected(exit).Error())
	}
	return exit.Code, nil
}
