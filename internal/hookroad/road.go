package hookroad

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
	Version   string                                          // of this program, for tests; "": version.Number
}

// A road answers the events of one process.
type road struct {
	Options
	off    bool
	dirs   homedirs.Dirs
	socket string
	fault  error // why no daemon can be reached at all
}

func newRoad(o Options) *road {
	o.Version = cmp.Or(o.Version, version.Number)
	getenv := lookup(o.Environ)
	r := &road{Options: o, off: getenv(Switch) == "off"}
	if r.dirs, r.fault = homedirs.Locate(getenv, runtime.GOOS); r.fault == nil {
		r.socket, r.fault = localsock.Path(r.dirs.State, SocketName)
	}
	return r
}

// Run answers the event on stdin and returns the exit code. It always answers in time, because an
// agent that waits too long goes on without an answer.
func Run(ctx context.Context, o Options) int {
	r := newRoad(o)
	began := time.Now()
	data, err := r.read()
	var a codehook.Answer
	if err != nil {
		a = r.unreadable(err)
	} else {
		a = r.answer(ctx, data, began)
	}
	// If the agent is gone, there is no place to report these errors.
	_, _ = io.WriteString(o.Out, a.Stdout)
	_, _ = io.WriteString(o.Err, a.Stderr)
	return a.ExitCode
}

// readPatience is how long read waits for an event whose name is not known yet.
const readPatience = 30 * time.Second

// read reads the event that the agent writes.
func (r *road) read() ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r.In, codehook.MaxInput+1))
		read <- input{data, err}
	}()
	patience := readPatience
	for _, e := range codehook.Events(r.Agent) {
		if e.Name == r.Event {
			patience = e.Deadline()
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case in := <-read:
		return in.data, in.err
	case <-timer.C:
		return nil, fmt.Errorf("the agent did not write its event within %v, or did not close its end", patience)
	}
}

// answer returns the answer to one event.
func (r *road) answer(ctx context.Context, data []byte, began time.Time) codehook.Answer {
	in := codehook.Input{Agent: r.Agent, Event: r.Event, Data: data, Dir: r.Dir, Environ: agents(r.Environ)}
	m, err := codehook.Parse(in)
	switch {
	case err != nil:
		return r.unreadable(err)
	case r.off, len(m.Points()) == 0:
		return m.NoOpinion()
	}
	ctx, cancel := context.WithDeadlineCause(ctx, began.Add(m.Deadline()), errLate)
	defer cancel()
	a, err := r.ask(ctx, in)
	if err != nil {
		return r.unanswered(m, err)
	}
	return a.Answer
}

// errLate is the cause of a context whose event was not answered in time.
var errLate = errors.New("there was no answer in time")

// unreadable returns the answer to an event that cannot be read. The event is refused if its name
// is known and some plugin must agree to events of that name.
func (r *road) unreadable(why error) codehook.Answer {
	stand := []byte(`{"tool_name":"unknown","toolName":"unknown","prompt":"unknown"}`)
	if r.off || r.Event == "" {
		return codehook.NoOpinion(r.Agent)
	}
	m, err := codehook.Parse(codehook.Input{Agent: r.Agent, Event: r.Event, Data: stand, Dir: r.Dir, Environ: map[string]string{}})
	if err != nil || len(m.Points()) == 0 {
		return codehook.NoOpinion(r.Agent)
	}
	return r.unanswered(m, fmt.Errorf("the event cannot be read: %w", why))
}

// unanswered returns the answer to an event for which no plugin could be called. It refuses the
// event if some plugin must agree to it, and has no opinion otherwise. It also writes the event to
// the log.
func (r *road) unanswered(m *codehook.Moment, why error) codehook.Answer {
	who := r.requiredPlugins(m)
	e := Entry{Time: time.Now().UTC(), Agent: r.Agent, Event: m.Event, Session: m.Session, What: NoOpinion, Why: why.Error()}
	a := m.NoOpinion()
	if who != "" && m.Gates() {
		e.What, e.Why = Denied, who+": "+e.Why
		a = m.Refuse(fmt.Sprintf("Patchbay could not ask %s (%v). To go on without Patchbay set %s=off, or run `patchbay hook install %s --uninstall`.",
			who, why, Switch, r.Agent))
	}
	if r.fault == nil {
		_ = e.Append(r.dirs.State) // the answer does not depend on the log
	}
	return a
}

// requiredPlugins returns a description of the plugins that must agree to an event, or "" if there
// are none.
func (r *road) requiredPlugins(m *codehook.Moment) string {
	if r.fault != nil {
		return "" // without directories there are no plugins
	}
	closed, err := ReadClosed(r.dirs.State)
	switch {
	case errors.Is(err, ErrNoClosed):
		if !r.mayRequirePlugins() {
			return ""
		}
		return "the plugins of " + filepath.Join(r.dirs.Config, "config.toml") + ", some of which have to agree"
	case err != nil:
		return fmt.Sprintf("the plugins that have to agree, and the list of them cannot be read either: %v", err)
	}
	names := closed.At(project.Root(cmp.Or(m.Dir, r.Dir)), m.Points())
	if len(names) == 0 {
		return ""
	}
	return "plugin " + strings.Join(names, ", ") + ", which has to agree"
}

// mayRequirePlugins reports whether some plugin may have to agree, if no daemon has written the
// list yet. Only the settings on_failure and connect can make a plugin required at the points of an
// agent. So it looks for these words in the file, without parsing it.
func (r *road) mayRequirePlugins() bool {
	text, err := plainfile.Read(filepath.Join(r.dirs.Config, "config.toml"), maxClosed)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return strings.Contains(string(text), "on_failure") || strings.Contains(string(text), "connect")
}
