package job

import (
	"bufio"
	"cmp"
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
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// PluginDialect is the dialect of the plugins that a manifest names: dotagent defines both the
// protocol and the manifest.
const PluginDialect = "dotagent"

const (
	exitTimedOut = 124             // the exit code of an attempt that took too long: docs/jobs.md, "Attempts and events"
	sinkLines    = 500             // lines of stdout that a sink gets: docs/jobs.md, "A run, step by step"
	maxLine      = 64 << 10        // bytes; a longer line is stored as several lines
	termGrace    = 5 * time.Second // between SIGTERM and SIGKILL, as for plugins
)

// errTimedOut is the cancellation cause of an attempt that took too long.
var errTimedOut = errors.New("the agent took too long")

// A Host fires events at plugins. *patchbay.Host is one.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
}

// A Placer is a host that runs plugins for several projects. At returns the host whose plugins run
// in the project of dir.
type Placer interface {
	At(dir string) Host
}

// hostOf returns the host that fires the events of an agent. If the manifest sets a working
// directory, the plugins run in the project of that directory. Otherwise hostOf returns host
// unchanged.
func hostOf(m *Manifest, host Host) Host {
	if p, ok := host.(Placer); ok && m.Run.InProject {
		return p.At(m.Run.WorkingDir)
	}
	return host
}

// An attempt is one attempt of a run while it is being made.
type attempt struct {
	runner   *Runner
	manifest *Manifest
	schedule *Schedule
	number   int
	dryRun   bool
	tmp      string // the temporary directory to create; "": choose one
	out      *output
}

// host returns the host that fires the events of the attempt.
func (a *attempt) host() Host { return hostOf(a.manifest, a.runner.Host) }

// make calls the preflights, runs the program and calls the sinks.
func (a *attempt) make(ctx context.Context) Attempt {
	result := Attempt{Number: a.number, Began: a.runner.clock.Now()}
	a.try(ctx, &result)
	a.clean(&result)
	result.Ended = a.runner.clock.Now()
	return result
}

// clean removes secrets from what plugins and the agent have said.
func (a *attempt) clean(result *Attempt) {
	said := slices.Concat([]string{result.Error, result.Suggest}, result.Sinks, result.SinkFixes)
	for i := range said {
		said[i] = a.runner.clean(said[i])
	}
	result.Error, result.Suggest = said[0], said[1]
	copy(result.Sinks, said[2:])
	copy(result.SinkFixes, said[2+len(result.Sinks):])
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
		result.Suggest = fmt.Sprintf("`patchbay job logs %s` shows how far it came; if it only needs longer, set timeout_seconds under [agent] in the manifest", program.Quote(a.manifest.Agent.Name))
	case ctx.Err() != nil:
		result.Result, result.Error = CutOff, interruption(ctx)
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

// interruption returns why the context of an attempt has ended. A context without a cause was ended
// by its process: the daemon, or a command.
func interruption(ctx context.Context) string {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return "the process that made it was told to end"
	}
	return cause.Error()
}

// A refusal says why a preflight refused, and what a person can do about it.
type refusal struct{ reason, suggest string }

// preflight calls the plugins that the manifest lists, in order, and then the plugins that the
// configuration connects to the point. It stops at the first refusal, and the agent does not run:
// docs/jobs.md, "A run, step by step".
func (a *attempt) preflight(ctx context.Context) *refusal {
	if a.runner.Check != nil {
		if r := refused(nil, a.runner.Check(ctx, a.manifest)); r != nil {
			return r
		}
	}
	for i := range a.manifest.Preflight {
		h := &a.manifest.Preflight[i]
		a.out.note("preflight %s", h.Plugin)
		out, err := a.ask(ctx, hook.JobPreflight, h, a.payload(h, "", ""))
		if r := refused(out, err); r != nil {
			r.reason = fmt.Sprintf("preflight %s: %s", h.Plugin, r.reason)
			return r
		}
		a.noteSkipped(out)
	}
	others := hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect})
	out, err := a.host().Fire(others, hook.JobPreflight, a.payload(&Hook{}, "", ""))
	if r := refused(out, err); r != nil {
		return r
	}
	a.noteSkipped(out)
	return nil
}

// noteSkipped notes the preflights that failed and did not stop the run, because the configuration
// says on_failure = "skip". The host logs them as warnings.
func (a *attempt) noteSkipped(out *hook.Outcome) {
	for i := range out.Steps {
		if s := &out.Steps[i]; s.Err != nil {
			a.out.note(`warning: preflight %s failed, and the agent runs because of on_failure = "skip": %s`, s.Plugin, a.runner.clean(s.Err.Cause()))
		}
	}
}

func refused(out *hook.Outcome, err error) *refusal {
	switch {
	case out != nil && out.Verdict == hook.Deny:
		return &refusal{out.Reason, cmp.Or(out.Suggest, refusalFix(out))}
	case err != nil:
		text, fix := explained(err)
		return &refusal{text, fix}
	}
	return nil
}

// refusalFix returns the fix for a refusal whose cause is the failure of a plugin. That plugin is
// the last that was called.
func refusalFix(out *hook.Outcome) string {
	if len(out.Steps) == 0 || out.Steps[len(out.Steps)-1].Err == nil {
		return ""
	}
	return fixOf(out.Steps[len(out.Steps)-1].Err)
}

// explained returns the text of an error without the fix at its end, and the fix, which is shown
// separately.
func explained(err error) (text, fix string) {
	fix = fixOf(err)
	return fixes.Without(err.Error(), fix), fix
}

// fixOf returns the fix that err suggests, or else the fix for a failed call to a plugin. It
// returns "" if there is none.
func fixOf(err error) string {
	if fix := fixes.Of(err); fix != "" {
		return fix
	}
	if call, ok := errors.AsType[*hook.Error](err); ok {
		return callFix(call)
	}
	return ""
}

// slowFix returns what to do about a plugin that did not answer in time. key is the setting of that
// time.
func slowFix(plugin, key string) string {
	return fmt.Sprintf("`patchbay plugin logs %[1]s` shows what it wrote, and `patchbay plugin test %[1]s` tries it alone; if it only needs longer, set %[2]s", program.Quote(plugin), key)
}

// callFix returns what to do about a failed call to a plugin, by the kind of failure. It returns ""
// for a plugin that answered why it failed.
func callFix(e *hook.Error) string {
	switch {
	case e.Kind == hook.Timeout && e.Dialect == PluginDialect:
		return slowFix(e.Plugin, "timeout_seconds in its entry of the manifest")
	case e.Kind == hook.Timeout:
		return slowFix(e.Plugin, "timeout of the plugin in the configuration")
	case e.Kind == hook.Crash:
		return fmt.Sprintf("`patchbay plugin logs %s` shows all that it wrote to stderr, and `patchbay plugin test %s` tries it with other calls", program.Quote(e.Plugin), program.Quote(e.Plugin))
	case e.Kind == hook.Garbled, e.Kind == hook.TooLarge:
		return fmt.Sprintf("`patchbay plugin test %s` shows where it does not follow its protocol", program.Quote(e.Plugin))
	}
	return ""
}

// ask fires a point at one plugin of the manifest.
func (a *attempt) ask(ctx context.Context, point hook.Point, h *Hook, payload any) (*hook.Outcome, error) {
	return ask(ctx, a.host(), point, h, payload)
}

// ask fires a point at the plugin that h names. If that plugin cannot be called, the error says
// why. The callers report failures, so the host logs them only as information. Preflights are the
// exception: the callers do not report one that failed and was skipped, so the host logs a warning.
func ask(ctx context.Context, host Host, point hook.Point, h *Hook, payload any) (*hook.Outcome, error) {
	if f, ok := host.(Finder); ok {
		if err := f.FindPlugin(ctx, h.Plugin, point); err != nil {
			return nil, err
		}
	}
	ctx = hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect, Plugins: []string{h.Plugin}, Only: true, Timeout: h.Timeout, Reports: point != hook.JobPreflight})
	out, err := host.Fire(ctx, point, payload)
	if err == nil && len(out.Steps) == 0 {
		return nil, &NoPluginError{h.Plugin}
	}
	return out, err
}

// A Finder is a host that can look for a plugin again before it is called, since the plugin may
// have been installed after the host was opened. The error says why the plugin cannot be called at
// that point.
type Finder interface {
	FindPlugin(ctx context.Context, plugin string, point hook.Point) error
}

// A NoPluginError says that a plugin is not installed. Its text is the protocol's:
// docs/protocols/dotagent.md, row D34.
type NoPluginError struct{ Plugin string }

func (e *NoPluginError) Error() string { return "plugin not found: " + e.Plugin }

// payload returns the event that a plugin gets.
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

// sinks passes the output to the sinks and adds their failures to result.
func (a *attempt) sinks(ctx context.Context, result *Attempt) {
	text := a.out.tail()
	for i := range a.manifest.OnSuccess {
		h := &a.manifest.OnSuccess[i]
		if !h.Wants(Success) {
			continue
		}
		a.out.note("sink %s", h.Plugin)
		out, err := a.ask(ctx, hook.JobSink, h, h.GivenToSink(a.manifest, a.schedule, text))
		result.addSinkErrors("sink "+h.Plugin+": ", out, err)
	}
	others := hook.WithChoice(ctx, hook.Choice{Dialect: PluginDialect})
	out, err := a.host().Fire(others, hook.JobSink, a.payload(&Hook{}, Success, text))
	result.addSinkErrors("sink ", out, err)
}

// addSinkErrors adds the failure of each sink that failed, and the fix for it.
func (r *Attempt) addSinkErrors(who string, out *hook.Outcome, err error) {
	for _, err := range failures(out, err) {
		text, fix := explained(err)
		r.Sinks, r.SinkFixes = append(r.Sinks, who+text), append(r.SinkFixes, fix)
	}
}

// SinkErrors returns the errors of the sinks that failed, each with its fix. A run that an earlier
// version stored has no fixes.
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

// failures returns err, or else the errors of the steps that failed.
func failures(out *hook.Outcome, err error) []error {
	if err != nil {
		return []error{err}
	}
	var errs []error
	for i := range out.Steps {
		if err := out.Steps[i].Err; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// command runs the agent's program in its own process group, with the timeout of the manifest.
func (a *attempt) command(ctx context.Context) (code int, err error) {
	tmp, err := a.makeTmp()
	if err != nil {
		return 0, err
	}
	defer a.removeTmp(tmp)
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

// makeTmp creates AGENT_TMPDIR.
func (a *attempt) makeTmp() (string, error) {
	if a.tmp == "" {
		return a.makeDryTmp()
	}
	return a.tmp, os.Mkdir(a.tmp, 0o700)
}

// removeTmp removes AGENT_TMPDIR. If that is not possible, the attempt counts nevertheless: the
// program has done its work.
func (a *attempt) removeTmp(tmp string) {
	if err := scratch.Remove(tmp); err != nil {
		a.out.note("cannot remove the temporary directory %s: %s", tmp, err)
		a.runner.Logger.Warn("cannot remove the temporary directory of an attempt", "agent", a.manifest.Agent.Name, "dir", tmp, "err", err)
	}
}

// makeDryTmp creates AGENT_TMPDIR for a dry run. No page records a dry run, so the name of the
// directory records the process that made it. makeDryTmp also removes the directories of dry runs
// that were killed.
func (a *attempt) makeDryTmp() (string, error) {
	path, left, err := scratch.Make(a.manifest.Slug())
	if left != nil {
		a.runner.Logger.Warn("cannot remove the temporary directories of earlier dry runs", "err", left)
	}
	return path, err
}

// await reads the output of the program until the program exits or ctx ends.
func (a *attempt) await(ctx context.Context, p *proc.Process) (int, error) {
	_ = p.Stdin().Close() // the program gets no input
	read := make(chan struct{})
	go func() { // reads stdout until it ends, its deadline passes or Stop closes it
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
	_ = p.Stdout().SetReadDeadline(time.Now().Add(time.Second)) // read the rest of the output; another process may hold the pipe open
	<-read
	p.Stop(context.WithoutCancel(ctx), proc.Ladder{})
	return p.Exit().ShellCode(), err
}

// environ returns the environment of the agent's program. It has three parts: the host's variables
// that the manifest lets through, without secrets; the variables that the manifest adds; and the
// AGENT_ variables.
func (a *attempt) environ(tmp, heartbeat string) ([]string, error) {
	argv, err := json.Marshal(append([]string{}, a.schedule.Args...))
	if err != nil {
		return nil, err
	}
	m := a.manifest
	var env []string
	for _, v := range secretenv.Without(a.runner.Environ) {
		name, _, _ := strings.Cut(v, "=")
		if _, replaced := m.Env.Extra[name]; !replaced && m.passesEnv(name) && !strings.HasPrefix(name, "AGENT_") {
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

// baseEnv lists the variables that most programs need.
var baseEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// passesEnv reports whether the agent gets a variable of the host's environment.
func (m *Manifest) passesEnv(name string) bool {
	if list := m.Security.EnvPassthrough; len(list) > 0 {
		return slices.Contains(baseEnv, name) || slices.ContainsFunc(list, func(pattern string) bool {
			ok, err := filepath.Match(pattern, name)
			return err == nil && ok
		})
	}
	return m.Env.Inherit || slices.Contains(baseEnv, name)
}

// A Stream names the stream that a line of output was written to.
type Stream string

// The streams. Patchbay itself writes the notes.
const (
	stdout Stream = "stdout"
	stderr Stream = "stderr"
	notes  Stream = "note"
)

// An output collects what an attempt prints. It is safe for concurrent use.
type output struct {
	store func(Line) // called with each line

	mu         sync.Mutex // protects the fields below
	lastStdout []string   // at least the last sinkLines lines of stdout
	lastStderr string     // the last line of stderr that is not blank
}

// A Line is one line of output.
type Line struct {
	Attempt int       `json:"attempt" doc:"The attempt that printed it." example:"1"`
	Time    time.Time `json:"time" doc:"When it was printed." example:"2026-11-16T06:00:01Z"`
	Stream  Stream    `json:"stream" enum:"stdout,stderr,note" doc:"note is a remark of Patchbay." example:"stdout"`
	Text    string    `json:"text" doc:"The line." example:"/ is 71% full"`
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

// copy reads lines until r ends.
func (o *output) copy(s Stream, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			o.line(s, strings.ToValidUTF8(strings.TrimRight(string(text), "\r\n"), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return // the end of r, or its read deadline
		}
	}
}

// tail returns the last sinkLines lines of stdout, for sinks.
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

// exitError describes how the program failed: its exit code and its last line of stderr.
func (o *output) exitError(code int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lastStderr == "" {
		return fmt.Sprintf("exit code %d", code)
	}
	return fmt.Sprintf("exit code %d: %.300s", code, o.lastStderr)
}
