package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// Exit codes of a plugin's process.
const (
	exitOK     = 0
	exitFailed = 1 // the plugin reports a failure
	exitUsage  = 2 // the call cannot be understood, or the definition of the plugin is wrong
)

// Main runs the plugin and ends the program. It determines the dialect from the verb among the
// arguments (dotagent), the envelope on stdin (mine), or the handshake (kaged, scaffold, MCP).
// Output of the program to os.Stdout goes to stderr meanwhile, except in commands.
func (p *Plugin) Main() {
	stdout := os.Stdout
	if len(os.Args) < 2 && interactive(os.Stdin) {
		fmt.Fprint(os.Stderr, p.usage(filepath.Base(os.Args[0])))
		os.Exit(exitUsage)
	}
	os.Stdout = os.Stderr
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // before the first handler can run
	go p.obey(signals, cancel)
	os.Exit(p.Run(ctx, Process{Program: os.Args[0], Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Stdout: stdout,
		Stderr: os.Stderr, direct: func() { os.Stdout = stdout }}))
}

func interactive(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeNamedPipe == 0
}

// stopGrace is how long handlers may take to end after a signal. Hosts kill the process a second
// after the signal, or later.
const stopGrace = 500 * time.Millisecond

// obey waits for a signal, ends the handlers' contexts, and then the program.
func (p *Plugin) obey(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	sig := <-signals
	cancel(fmt.Errorf("the plugin got the signal %s", sig))
	code := 128
	if number, ok := sig.(syscall.Signal); ok {
		code += int(number)
	}
	if s := p.current.Load(); s != nil {
		for end := time.Now().Add(stopGrace); s.running.Load() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		s.end(context.Background())
		s.stderr.release()
	}
	os.Exit(code)
}

// Run is like Main, in a given process, and returns the exit code. A plugin can run only once at a
// time.
func (p *Plugin) Run(ctx context.Context, process Process) (exit int) {
	s := newSession(p, process)
	if err := p.Check(); err != nil {
		s.complain("the definition of the plugin has a mistake: %v", err)
		return exitUsage
	}
	if !p.current.CompareAndSwap(nil, s) {
		s.complain("the plugin is running already")
		return exitUsage
	}
	defer p.current.Store(nil)
	return s.detect(ctx)
}

// detect determines the dialect and the call.
func (s *session) detect(ctx context.Context) int {
	args := s.process.Args
	switch {
	case len(args) == 1 && (args[0] == "info" || args[0] == "validate" || args[0] == "invoke"):
		return s.dotagent(ctx, args[0])
	case len(args) > 0 && args[0] == "manifest":
		return s.manifest(args[1:])
	case len(args) == 1 && (args[0] == "help" || args[0] == "--help" || args[0] == "-h"):
		s.print([]byte(s.plugin.usage(s.program())))
		return exitOK
	case len(args) > 0:
		s.complain("unknown argument %q\n%s", args[0], s.plugin.usage(s.program()))
		return exitUsage
	}
	if invocation := s.env(invocationVariable); invocation != "" {
		if in, ok := s.userCommand([]byte(invocation)); ok {
			return s.mine(ctx, in, s.process.Stdin)
		}
	}
	return s.read(ctx)
}

// read determines the dialect from the first line of stdin.
func (s *session) read(ctx context.Context) int {
	in := newLines(s.process.Stdin)
	first, err := in.next()
	for err == nil && len(trim(first)) == 0 {
		first, err = in.next()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.complain("stdin: %v", err)
		return exitUsage
	}
	if m, ok := parseMessage(first); ok {
		return s.serve(ctx, in, m)
	}
	whole, err := in.rest(first) // a person may have written an envelope of several lines
	if invocation, ok := parseInvocation(whole); ok && err == nil {
		return s.mine(ctx, invocation, nil)
	}
	s.complain("cannot tell which protocol the host speaks: stdin has neither JSON-RPC (kaged, scaffold, MCP) nor an envelope of mine: %.100q\n%s",
		whole, s.plugin.usage(s.program()))
	return exitUsage
}

func (s *session) complain(format string, args ...any) {
	fmt.Fprintf(s.stderr, s.plugin.name+": "+format+"\n", args...)
}

// print writes text that is not a message to stdout.
func (s *session) print(text []byte) {
	if _, err := s.process.Stdout.Write(text); err != nil {
		s.complain("stdout: %v", err)
	}
}

func (s *session) program() string {
	if s.process.Program == "" {
		return s.plugin.name
	}
	return filepath.Base(s.process.Program)
}

// places says how hosts of each dialect find a plugin: %[2]s is the program, %[3]s the plugin's
// name.
var places = map[Dialect]string{
	Dotagent: "mkdir -p ~/.config/dotagent/plugins && cp %[2]s ~/.config/dotagent/plugins/dotagent-plugin-%[3]s",
	Mine:     "mkdir -p ~/.local/share/mine/plugins/%[3]s && cp %[2]s ~/.local/share/mine/plugins/%[3]s/, and beside it: %[2]s manifest mine >mine-plugin.toml",
	Kaged:    "mkdir -p ~/.local/share/kaged/plugins/%[3]s && cp %[2]s ~/.local/share/kaged/plugins/%[3]s/, and beside it: %[2]s manifest kaged >manifest.yaml",
	Scaffold: "mkdir -p ~/.local/scaffold/plugins && cp %[2]s ~/.local/scaffold/plugins/",
	MCP:      "%[2]s manifest mcp >>~/.config/patchbay/config.toml, or any MCP client",
}

func (p *Plugin) usage(program string) string {
	text := fmt.Sprintf("%s %s: %s\n\nThis is a plugin: a host starts it and speaks to it on stdin and stdout. It is for\n\n", p.name, p.version, p.description)
	for _, d := range p.Speaks() {
		text += fmt.Sprintf("  %-10[1]s"+places[d]+"\n", d, program, p.name)
	}
	return text
}
