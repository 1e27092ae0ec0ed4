package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

const shellDescription = `Run a command with ` + shellName + ` in the working directory. ` +
	`Its output comes back, stdout and stderr together; what is longer than 256 KiB is cut in the middle. ` +
	`There is no input and no terminal: do not start anything that asks. ` +
	`When the command has ended, everything that it started in the background is ended too.`

const shellParameters = `{
	"type": "object",
	"properties": {
		"cmd": {"type": "string", "description": "The command line."},
		"timeout": {"type": "number", "minimum": 0, "maximum": 600,
			"description": "Seconds after which it is ended. Default: 120; at most 600."}
	},
	"required": ["cmd"],
	"additionalProperties": false
}`

type shellArgs struct {
	Cmd     string `json:"cmd"`
	Timeout number `json:"timeout"`
}

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second

	// grace is the time between SIGTERM and SIGKILL. It is enough to remove a lock file, and short
	// for a user who waits after Ctrl-C.
	grace = 2 * time.Second

	// drainDelay limits the reading of the pipe after a command has ended: a process that escaped
	// may hold the pipe open.
	drainDelay = 200 * time.Millisecond
)

// shell is the tool that runs commands.
type shell struct {
	procs   *proc.Group
	environ []string // the environment of commands
	log     *slog.Logger
}

// errTimedOut is the cause of a command's own timeout. It distinguishes that from the end of the
// call.
var errTimedOut = errors.New("timed out")

func (s *shell) run(ctx context.Context, call chat.Call, args shellArgs) (string, error) {
	dir, err := workingDir(call)
	if err != nil {
		return "", err
	}
	if err := checkCommand(args.Cmd); err != nil {
		return "", err
	}
	limit, err := args.limit()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimedOut)
	defer cancel()
	c, err := newCommand(args.Cmd, s.environ)
	if err != nil {
		return "", &hostError{err}
	}
	defer c.release()
	c.Dir, c.Env = dir, s.environ
	out := newCapture(call.Progress)
	began := time.Now()
	exit, err := s.runCommand(ctx, c, out)
	out.close()
	s.log.Debug("command ended", "session", call.Session.ID, "exit", exit.String(), "dur", time.Since(began), "err", err)
	return shellResult(out.text(), exit, limit, err)
}

// limit returns how long the command may take.
func (a shellArgs) limit() (time.Duration, error) {
	switch {
	case a.Timeout < 0:
		return 0, fmt.Errorf(`the argument "timeout" is %v: it is a number of seconds, at most %v`,
			float64(a.Timeout), maxTimeout.Seconds())
	case a.Timeout == 0:
		return defaultTimeout, nil
	case float64(a.Timeout) >= maxTimeout.Seconds():
		return maxTimeout, nil
	}
	return time.Duration(float64(a.Timeout) * float64(time.Second)), nil
}

// checkCommand returns an error if cmd cannot be run as a command line.
func checkCommand(cmd string) error {
	switch {
	case strings.TrimSpace(cmd) == "":
		return errors.New(`the argument "cmd" is empty: there is nothing to run`)
	case strings.ContainsRune(cmd, 0):
		return errors.New("the command contains a NUL")
	case len(cmd) > maxCommand:
		return fmt.Errorf("the command has %s, and the limit is %s: write it to a file first (write_file) and run that",
			size(int64(len(cmd))), size(maxCommand))
	}
	return nil
}

// A command says how the system's shell is started for a command line.
type command struct {
	proc.Spec
	output  *os.File // the pipe with its output; nil: its stdout
	release func()   // frees its resources
}

// runCommand runs a command until it ends or ctx ends. If ctx ends, the error is the cause of ctx.
// No process of the command is alive afterwards.
func (s *shell) runCommand(ctx context.Context, c *command, out *capture) (proc.Exit, error) {
	p, err := s.procs.Start(ctx, c.Spec)
	for _, f := range c.Files {
		_ = f.Close() // the process has its own copy
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return proc.Exit{}, cause
		}
		return proc.Exit{}, &hostError{err}
	}
	defer p.Stop(context.WithoutCancel(ctx), proc.Ladder{}) // closes its pipes
	if c.output == nil {
		c.output = p.Stdout()
	}
	read := pump(out, c.output)
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
		p.Stop(context.WithoutCancel(ctx), proc.Ladder{Term: grace})
	}
	drain(c.output, read)
	return p.Exit(), err
}

// pump reads an output to its end on a goroutine that only reads the pipe, and closes the channel
// afterwards. Reading ends when the last process closes the pipe, at the deadline, or when the pipe
// is closed. On Windows it is possible that none of these happens. Then the goroutine outlives the
// call, and the closed capture drops what it writes.
func pump(out *capture, src *os.File) <-chan struct{} {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, src)
	}()
	return read
}

// drain waits until the rest of an ended command's output is read.
func drain(src *os.File, read <-chan struct{}) {
	_ = src.SetReadDeadline(time.Now().Add(drainDelay)) // on a closed pipe, or one without deadlines, the timer ends the wait
	select {
	case <-read:
	case <-time.After(2 * drainDelay):
	}
}

// shellResult returns the text for the model: the output, the exit status if it is not 0, and why
// the command was ended.
func shellResult(text string, exit proc.Exit, limit time.Duration, err error) (string, error) {
	if host, ok := errors.AsType[*hostError](err); ok {
		return text, host
	}
	switch {
	case errors.Is(err, errTimedOut):
		err = fmt.Errorf("timed out after %v: the command and all that it started were ended", limit)
	case errors.Is(err, context.Canceled): // by the user; the words of the error add nothing
		err = errors.New("interrupted: the command and all that it started were ended")
	case err != nil:
		err = fmt.Errorf("interrupted (%w): the command and all that it started were ended", err)
	case exit != proc.Exit{}:
		err = errors.New(exit.String())
	case text == "":
		return note("", "no output"), nil
	default:
		return text, nil
	}
	return note(text, "%v", err), err
}
