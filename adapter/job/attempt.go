package job

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// PluginDialect is whose plugins a manifest names: the protocol and the format are of one project.
const PluginDialect = "dotagent"

const (
	exitTimedOut = 124             // docs/protocols/dotagent.md, row D52
	sinkLines    = 500             // docs/protocols/dotagent.md, row D53
	maxLine      = 64 << 10        // bytes of a line; what is longer is told as several
	termGrace    = 5 * time.Second // from SIGTERM to SIGKILL, as for plugins
)

// errTimedOut is the cause of the end of an agent's time.
var errTimedOut = errors.New("the agent took too long")

// A Host takes events through plugins; *patchbay.Host is one.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
}

// A Placer is a host that has plugins in several projects. At is that host with the plugins of a
// directory's project.
type Placer interface {
	At(dir string) Host
}

// hostOf is the host of an agent's events. Where the manifest names a working directory, its
// plugins run in that directory's project; an agent that works beside its manifest has the plugins
// that there are.
func hostOf(m *Manifest, host Host) Host {
	if p, ok := host.(Placer); ok && m.Run.WorkingDir != m.Dir {
		return p.At(m.Run.WorkingDir)
	}
	return host
}

// An attempt is one try at a run, under way.
type attempt struct {
	runner   *Runner
	manifest *Manifest
	schedule *Schedule
	run      *Run
	number   int
	dryRun   bool
	tmp      string // its temporary directory, to be made; "": whichever
	out      *output
}

// host takes the events of the attempt.
func (a *attempt) host() Host { return hostOf(a.manifest, a.runner.Host) }

// make makes the attempt: preflights, the agent, and the sinks.
func (a *attempt) make(ctx context.Context) Attempt {
	result := Attempt{Number: a.number, Began: a.runner.clock.Now()}
	a.try(ctx, &result)
	result.Ended = a.runner.clock.Now()
	return result
}

func (a *attempt) try(ctx context.Context, result *Attempt) {
	if refusal := a.preflight(ctx); refusal != nil && ctx.Err() == nil {
		result.Result, result.Error, result.Suggest = Refused, refusal.reason, refusal.suggest
		return
	}
	code, err := a.command(ctx)
	switch {
	case errors.Is(err, errTimedOut):
		code = exitTimedOut
		result.Result, result.ExitCode, result.Error = TimedOut, &code, fmt.Sprintf("took more than %s", a.manifest.Agent.Timeout)
	case ctx.Err() != nil:
		result.Result, result.Error = CutOff, context.Cause(ctx).Error()
	case err != nil:
		result.Result, result.Error = Failed, err.Error()
	case code != 0:
		result.Result, result.ExitCode, result.Error = Failed, &code, a.out.exitError(code)
	default:
		result.Result, result.ExitCode = OK, &code
		if !a.dryRun {
			a.sinks(ctx, result)
		}
	}
}

// A refusal is a preflight's no.
type refusal struct{ reason, suggest string }

// preflight asks the plugins of the manifest in order, then those that the configuration has
// connected to the point. The first refusal ends it: "The agent will NOT be invoked if any
// preflight returns ok=false".
func (a *attempt) preflight(ctx context.Context) *refusal {
	for i := range a.manifest.Preflight {
		h := &a.manifest.Preflight[i]
		a.out.note("preflight %s", h.Plugin)
		out, err := a.ask(ctx, hook.JobPreflight, h, a.payload(h, "", ""))
		if r := refused(out, err); r != nil {
			r.reason = fmt.Sprintf("preflight %s: %s", h.Plugin, r.reason)
			return r
		}
	}
	others := hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect})
	out, err := a.host().Fire(others, hook.JobPreflight, a.payload(&Hook{}, "", ""))
	return refused(out, err)
}

func refused(out *hook.Outcome, err error) *refusal {
	switch {
	case out != nil && out.Verdict == hook.Deny:
		return &refusal{out.Reason, out.Suggest}
	case err != nil:
		fix := fixOf(err)
		return &refusal{strings.TrimSuffix(err.Error(), "; "+fix), fix}
	}
	return nil
}

// fixOf is what an error says that mends it; "" where it does not know.
func fixOf(err error) string {
	var e interface{ Fix() string }
	if errors.As(err, &e) {
		return e.Fix()
	}
	return ""
}

// ask fires a point at one plugin of the manifest.
func (a *attempt) ask(ctx context.Context, point hook.Point, h *Hook, payload any) (*hook.Outcome, error) {
	return ask(ctx, a.host(), point, h, payload)
}

// ask fires a point at one plugin that a manifest names. One that cannot be asked is an error that
// says why.
func ask(ctx context.Context, host Host, point hook.Point, h *Hook, payload any) (*hook.Outcome, error) {
	if f, ok := host.(Finder); ok {
		if err := f.FindPlugin(ctx, h.Plugin, point); err != nil {
			return nil, err
		}
	}
	ctx = hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect, Plugins: []string{h.Plugin}, Only: true, Timeout: h.Timeout})
	out, err := host.Fire(ctx, point, payload)
	if err == nil && len(out.Steps) == 0 {
		return nil, &NoPluginError{h.Plugin}
	}
	return out, err
}

// A Finder is a host that can look for a plugin before it is asked: it may have been installed
// since the host was opened. The error says why the plugin cannot be asked at that point.
type Finder interface {
	FindPlugin(ctx context.Context, plugin string, point hook.Point) error
}

// A NoPluginError says that a plugin is not installed. The text is the protocol's.
type NoPluginError struct{ Plugin string }

func (e *NoPluginError) Error() string { return "plugin not found: " + e.Plugin }

// payload is what a plugin is told of the job.
func (a *attempt) payload(h *Hook, event Event, message string) map[string]any {
	p := map[string]any{"agent": a.manifest.Agent.Name, "schedule": a.schedule.ID, "config": json.RawMessage(`{}`)}
	if len(h.Config) > 0 {
		p["config"] = h.Config
	}
	if event != "" {
		p["event"], p["message"] = string(event), message
	}
	return p
}

// sinks hands the output on, and lists what went wrong and what mends it.
func (a *attempt) sinks(ctx context.Context, result *Attempt) {
	text := a.out.tail()
	for i := range a.manifest.OnSuccess {
		h := &a.manifest.OnSuccess[i]
		if !h.Wants(Success) {
			continue
		}
		a.out.note("sink %s", h.Plugin)
		out, err := a.ask(ctx, hook.JobSink, h, h.GivenToSink(a.manifest, a.schedule, text))
		result.addSinkError("sink "+h.Plugin+": ", out, err)
	}
	others := hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect})
	out, err := a.host().Fire(others, hook.JobSink, a.payload(&Hook{}, Success, text))
	result.addSinkError("sink ", out, err)
}

// addSinkError records what a sink came to, where that is a failure.
func (r *Attempt) addSinkError(who string, out *hook.Outcome, err error) {
	if err == nil {
		err = stepError(out)
	}
	if err == nil {
		return
	}
	fix := fixOf(err)
	r.Sinks, r.SinkFixes = append(r.Sinks, who+strings.TrimSuffix(err.Error(), "; "+fix)), append(r.SinkFixes, fix)
}

// SinkErrors are the sinks that failed, each with what mends it. A run that an earlier version kept
// has no fixes.
func (r *Attempt) SinkErrors() iter.Seq2[string, string] {
	return func(yield func(fault, fix string) bool) {
		for i, fault := range r.Sinks {
			fix := ""
			if i < len(r.SinkFixes) {
				fix = r.SinkFixes[i]
			}
			if !yield(fault, fix) {
				return
			}
		}
	}
}

// stepError is the first failure among those who were told.
func stepError(out *hook.Outcome) error {
	for i := range out.Steps {
		if err := out.Steps[i].Err; err != nil {
			return err
		}
	}
	return nil
}

// command runs the agent's own program in a process group of its own, under its timeout.
func (a *attempt) command(ctx context.Context) (code int, err error) {
	tmp, err := a.makeTmp()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if a.manifest.Agent.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.manifest.Agent.Timeout, errTimedOut)
		defer cancel()
	}
	args := append(slices.Clone(a.manifest.Run.Args), a.schedule.Args...)
	beat, err := a.heartbeatFile(tmp)
	if err != nil {
		return 0, err
	}
	env, err := a.environ(tmp, beat)
	if err != nil {
		return 0, err
	}
	box, err := a.box(ctx, tmp)
	if err != nil {
		return 0, err
	}
	end := a.beginHeartbeat(beat)
	defer func() { end(code, err) }()
	p, err := a.runner.Procs.Start(ctx, proc.Spec{Path: a.manifest.Run.Command, Args: args, Dir: a.manifest.Run.WorkingDir,
		Env: env, Log: func(line string) { a.out.line(stderr, line) }, Box: box})
	if err != nil {
		return 0, err
	}
	return a.await(ctx, p)
}

// makeTmp makes AGENT_TMPDIR.
func (a *attempt) makeTmp() (string, error) {
	if a.tmp == "" {
		return a.makeDryTmp()
	}
	return a.tmp, os.Mkdir(a.tmp, 0o700)
}

// makeDryTmp makes it for a dry run, of which no page says whose it is: the directory's name does.
// What dry runs that were killed have left is removed on that occasion.
func (a *attempt) makeDryTmp() (string, error) {
	path, left, err := scratch.Make(a.manifest.Slug())
	if left != nil {
		a.runner.Logger.Warn("temporary directories of dry runs are left", "err", left)
	}
	return path, err
}

// await reads what the program prints until it has ended, or its time has.
func (a *attempt) await(ctx context.Context, p *proc.Process) (int, error) {
	_ = p.Stdin().Close() // it has none
	read := make(chan struct{})
	go func() { // owns the reading of stdout, until it ends or Stop closes it
		defer close(read)
		a.out.copy(stdout, p.Stdout())
	}()
	var err error
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
		p.Stop(context.WithoutCancel(ctx), proc.Ladder{Term: termGrace})
	}
	_ = p.Stdout().SetReadDeadline(time.Now().Add(time.Second)) // what is in the pipe; a stranger may hold it open
	<-read
	p.Stop(context.WithoutCancel(ctx), proc.Ladder{})
	return p.Exit().ShellCode(), err
}

// environ is what the agent's program sees: the host's environment less its secrets, or only what
// the manifest lets pass; what the manifest adds; and where and what it is.
func (a *attempt) environ(tmp, heartbeat string) ([]string, error) {
	argv, err := json.Marshal(append([]string{}, a.schedule.Args...))
	if err != nil {
		return nil, err
	}
	m := a.manifest
	var env []string
	for _, v := range secretenv.Without(a.runner.Environ) {
		name, _, _ := strings.Cut(v, "=")
		if m.passesEnv(name) && !strings.HasPrefix(name, "AGENT_") {
			env = append(env, v)
		}
	}
	for name, value := range m.Env.Extra {
		env = append(env, name+"="+value)
	}
	return append(env,
		"AGENT_NAME="+m.Agent.Name, "AGENT_HOME="+m.Dir, "AGENT_TMPDIR="+tmp, "AGENT_DRY_RUN="+strconv.FormatBool(a.dryRun),
		"AGENT_SCHEDULE_ID="+a.schedule.ID, "AGENT_SLUG="+a.schedule.Slug(), "AGENT_START_EPOCH="+strconv.FormatInt(a.runner.clock.Now().Unix(), 10),
		"AGENT_ARGV="+string(argv), "AGENT_HEARTBEAT_FILE="+heartbeat), nil
}

// baseEnv are the variables without which hardly a program runs.
var baseEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// passesEnv tells whether a variable of the host's reaches the agent.
func (m *Manifest) passesEnv(name string) bool {
	if list := m.Security.EnvPassthrough; len(list) > 0 {
		return slices.Contains(baseEnv, name) || slices.ContainsFunc(list, func(pattern string) bool {
			ok, err := filepath.Match(pattern, name)
			return err == nil && ok
		})
	}
	return m.Env.Inherit || slices.Contains(baseEnv, name)
}

// A Stream is where a line of output was written.
type Stream string

// The streams. Notes are our own.
const (
	stdout Stream = "stdout"
	stderr Stream = "stderr"
	notes  Stream = "note"
)

// output collects what an attempt prints. It is safe for concurrent use.
type output struct {
	store func(Line) // told each line

	mu         sync.Mutex // protects the fields below
	lastStdout []string   // of stdout, the last sinkLines
	lastStderr string     // the last line of stderr
}

// A Line is one line of output.
type Line struct {
	Attempt int       `json:"attempt"`
	Time    time.Time `json:"time"`
	Stream  Stream    `json:"stream"`
	Text    string    `json:"text"`
}

func (o *output) line(s Stream, text string) {
	o.mu.Lock()
	switch s {
	case stdout:
		if o.lastStdout = append(o.lastStdout, text); len(o.lastStdout) > 2*sinkLines {
			o.lastStdout = append(o.lastStdout[:0], o.lastStdout[len(o.lastStdout)-sinkLines:]...)
		}
	case stderr:
		if strings.TrimSpace(text) != "" {
			o.lastStderr = text
		}
	}
	o.mu.Unlock()
	o.store(Line{Stream: s, Text: text})
}

func (o *output) note(format string, args ...any) { o.line(notes, fmt.Sprintf(format, args...)) }

// copy reads lines to the end.
func (o *output) copy(s Stream, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			o.line(s, strings.ToValidUTF8(strings.TrimRight(string(text), "\r\n"), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return // the end, or nobody may write to it any more
		}
	}
}

// tail is the end of stdout, for sinks.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.lastStdout
	if len(last) > sinkLines {
		last = last[len(last)-sinkLines:]
	}
	if len(last) == 0 {
		return ""
	}
	return strings.Join(last, "\n") + "\n"
}

// exitError says how the program failed: its code, and the last it said.
func (o *output) exitError(code int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lastStderr == "" {
		return fmt.Sprintf("exit code %d", code)
	}
	return fmt.Sprintf("exit code %d: %.300s", code, o.lastStderr)
}
