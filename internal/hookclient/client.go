package hookclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/homedirs"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/version"
)

// Switch is the environment variable that turns Patchbay's hooks off: with the value "off", no
// plugin is called.
const Switch = "PATCHBAY_HOOK"

// Options describe the hook process.
type Options struct {
	Agent   codehook.Agent
	Event   string // the event's name, if it is on the command line
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Dir     string // the working directory

	Program   string                                          // the patchbay program; "": beside this program, or in PATH
	InProcess func(context.Context, Request) (*Answer, error) // answers if no daemon does; nil: Program is run
	NoDaemon  error                                           // why no daemon may be asked; nil: one may
	Version   string                                          // of this program, for tests; "": version.Number
}

// A client answers the events of one process.
type client struct {
	Options
	off    bool // Switch is "off"
	dirs   homedirs.Dirs
	fault  error // why there are no directories; nil: dirs has them
	socket string
	remote error // why no daemon can be reached at all
}

func newClient(o Options) *client {
	o.Version = cmp.Or(o.Version, version.Number)
	getenv := lookup(o.Environ)
	c := &client{Options: o, off: getenv(Switch) == "off"}
	if c.dirs, c.fault = homedirs.Locate(getenv, runtime.GOOS); c.fault == nil {
		c.socket, c.remote = localsock.Path(c.dirs.State, SocketName)
	}
	if o.NoDaemon != nil {
		c.remote = o.NoDaemon
	}
	return c
}

// Run answers the event on stdin and returns the exit code. It always answers in time, because an
// agent that waits too long goes on without an answer.
func Run(ctx context.Context, o Options) int {
	c := newClient(o)
	began := time.Now()
	data, err := c.readInput(ctx)
	var a codehook.Answer
	if err != nil {
		a = c.unreadable(data, err)
	} else {
		a = c.answer(ctx, data, began)
	}
	if ctx.Err() != nil && a == (codehook.Answer{}) { // an agent obeys an answer only if the exit code is the answer's
		return exitInterrupted
	}
	if _, err := io.WriteString(o.Out, a.Stdout); err != nil {
		a.Stderr, a.ExitCode = fmt.Sprintf("Patchbay's answer could not be written: %v\n", err), exitDenied
	}
	_, _ = io.WriteString(o.Err, a.Stderr) // if the agent is gone, there is no place to report this error
	return a.ExitCode
}

// exitDenied is the exit code with which an agent refuses an event without reading an answer. An
// answer that could not be written, for example to a file on a full disk, may have been a refusal.
const exitDenied = 2

// readPatience is how long readInput waits for an event whose name is not known yet.
const readPatience = 30 * time.Second

// readInput reads the event that the agent writes.
func (c *client) readInput(ctx context.Context) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(c.In, codehook.MaxInput+1))
		read <- input{data, err}
	}()
	patience := readPatience
	for _, e := range codehook.Events(c.Agent) {
		if e.Name == c.Event {
			patience = e.Deadline()
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case in := <-read:
		return in.data, in.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		return nil, fmt.Errorf("the agent did not write its event within %v, or did not close its end", patience)
	}
}

// answer returns the answer to one event.
func (c *client) answer(ctx context.Context, data []byte, began time.Time) codehook.Answer {
	in := codehook.Input{Agent: c.Agent, Event: c.Event, Data: data, Dir: c.Dir, Environ: agentVariables(c.Environ)}
	m, err := codehook.Parse(in)
	switch {
	case err != nil:
		return c.unreadable(data, err)
	case len(m.Points()) == 0:
		return m.NoOpinion()
	case c.off:
		if m.Gates() { // the agent's environment may come from a project
			c.log(Entry{Event: m.Event, Session: m.Session, What: NoOpinion, Why: Switch + " is off"})
		}
		return m.NoOpinion()
	}
	ctx, cancel := context.WithDeadlineCause(ctx, began.Add(m.Deadline()), errLate)
	defer cancel()
	a, err := c.ask(ctx, in)
	if err != nil {
		return c.unanswered(m, err)
	}
	return a.Answer
}

// errLate is the cause of a context whose event was not answered in time.
var errLate = errors.New("there was no answer in time")

// unreadable returns the answer to an event that cannot be read. Without a name, or with a name
// that has no points, there is no opinion. Otherwise [client.unanswered] decides.
func (c *client) unreadable(data []byte, why error) codehook.Answer {
	if c.off {
		return codehook.NoOpinion(c.Agent)
	}
	why = fmt.Errorf("the event cannot be read: %w", why)
	m, err := codehook.Placeholder(codehook.Input{Agent: c.Agent, Event: c.Event, Data: data, Dir: c.Dir})
	switch {
	case err != nil:
		c.log(Entry{Event: c.Event, What: NoOpinion, Why: why.Error()})
		return codehook.NoOpinion(c.Agent)
	case len(m.Points()) == 0:
		return m.NoOpinion()
	}
	return c.unanswered(m, why)
}

// unanswered returns the answer to an event for which no plugin could be called. It refuses an
// event that can be refused if some plugin must agree to it, or if the event is nested too deep or
// repeats a field ([codehook.IsOdd]). Otherwise it has no opinion. It also writes the event to the
// log.
func (c *client) unanswered(m *codehook.Moment, why error) codehook.Answer {
	required := c.requiredPlugins(m)
	if required == "" && codehook.IsOdd(why) {
		required = "any plugin"
	}
	e := Entry{Event: m.Event, Session: m.Session, What: NoOpinion, Why: why.Error()}
	a := m.NoOpinion()
	if required != "" && m.Gates() {
		e.What, e.Why = Denied, required+": "+e.Why
		a = m.Refuse(fmt.Sprintf("Patchbay could not ask %s (%v). To go on without Patchbay set %s=off, or run `patchbay hook install %s --uninstall`.",
			required, why, Switch, c.Agent))
	}
	c.log(e)
	return a
}

func (c *client) log(e Entry) {
	if e.Time, e.Agent = time.Now().UTC(), c.Agent; c.fault == nil {
		_ = e.Append(c.dirs.State) // the answer does not depend on the log
	}
}

// requiredPlugins returns a description of the plugins that must agree to an event, or "" if there
// are none.
func (c *client) requiredPlugins(m *codehook.Moment) string {
	if c.fault != nil {
		return "plugins, and without a home directory it does not know which have to agree"
	}
	closed, err := ReadClosed(c.dirs.State)
	switch {
	case errors.Is(err, ErrNoClosed):
		if !c.mayRequirePlugins() {
			return ""
		}
		return "the plugins of " + filepath.Join(c.dirs.Config, "config.toml") + ", some of which may have to agree"
	case err != nil:
		return fmt.Sprintf("the plugins that have to agree, and the list of them cannot be read either: %v", err)
	}
	names := closed.At(project.Root(cmp.Or(m.Dir, c.Dir)), m.Points())
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "plugin " + names[0] + ", which has to agree"
	}
	return "the plugins " + strings.Join(names, ", ") + ", which have to agree"
}

// mayRequirePlugins reports whether some plugin may have to agree, if no daemon has written the
// list yet. Only the settings on_failure and connect can make a plugin required at the points of an
// agent. mayRequirePlugins looks for these words in the file, without parsing it.
func (c *client) mayRequirePlugins() bool {
	text, err := plainfile.Read(filepath.Join(c.dirs.Config, "config.toml"), maxClosed)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return strings.Contains(string(text), "on_failure") || strings.Contains(string(text), "connect")
}
