package dotagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A plugin is a dotagent plugin that has answered info. It has no processes except those of calls
// under way and of standby.
type plugin struct {
	dialect  *Dialect
	name     string
	path     string
	config   json.RawMessage // from the configuration; nil: none
	env      []string
	rt       *dialect.Runtime
	noise    *dialect.NoiseLog
	remarks  dialect.Remarks
	manifest *manifest
	standby  *proc.Standby // processes that wait for an invoke; nil: none
	unfit    error         // why the plugin refused the empty config; nil: it accepted it, or it has a config
}

func newPlugin(d *Dialect, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) *plugin {
	return &plugin{dialect: d, name: f.Name, path: f.Path, config: rawjson.Clean(s.Config), env: environment(rt.Env, s.Env), rt: rt,
		noise: dialect.NewNoiseLog(func() *slog.Logger { return rt.Log })}
}

// open calls info, checks the config, and starts the processes of standby.
func (p *plugin) open(ctx context.Context, standby int) error {
	if err := p.learn(ctx); err != nil {
		return err
	}
	if err := p.configure(ctx); err != nil {
		return err
	}
	if standby > 0 {
		p.standby = p.rt.Procs.Standby(p.spec(verbInvoke), standby)
	}
	return nil
}

// An infoError is why a call of info failed.
type infoError struct {
	error
	path string
	name string // of the plugin; "": the call failed, and there is no answer
}

func (e *infoError) Unwrap() error { return e.error }

// Fix says what an answer looks like, and names the command that shows what the plugin prints.
func (e *infoError) Fix() string {
	look := "`" + e.path + " info` shows what it prints"
	if e.name == "" {
		return look
	}
	return fmt.Sprintf(`let info print one JSON object to stdout and nothing else, such as {"name":%q,"kinds":["sink"]}; %s`, e.name, look)
}

// learn calls info, and stores and reports what the answer declares.
func (p *plugin) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.dialect.info)
	defer cancel()
	result, err := p.run(ctx, verbInfo, nil) // no stdin: docs/protocols/dotagent.md, row D26
	if err != nil {
		return err
	}
	if result.Exit.Code != 0 {
		return &infoError{errors.New(p.failed(result, complaint(result.Stdout))), p.path, ""}
	}
	if p.manifest, err = parseInfo(result.Stdout, p.name); err != nil {
		return &infoError{err, p.path, p.name}
	}
	for _, w := range p.manifest.unusable {
		p.rt.Unusable("its answer to info: "+w, "correct what the plugin answers to info")
	}
	for _, w := range p.manifest.warnings {
		p.rt.Odd("its answer to info: "+w, "correct what the plugin answers to info")
	}
	return p.manifest.supported(runtime.GOOS)
}

// configure checks the plugin's config, or an empty one if the configuration has none. A plugin
// that refuses the empty config is not broken, because jobs send a config with each call. Its
// status mentions the refusal.
func (p *plugin) configure(ctx context.Context) error {
	if p.config != nil {
		section := "[" + document.KeyPath("plugins", p.name) + "]"
		return p.checkConfig(ctx, p.config, "its config in "+section, "correct config in "+section+" of config.toml")
	}
	err := p.CheckConfig(ctx, emptyConfig)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, hook.Timeout) {
		p.rt.Unusable(err.Error(), "let it answer validate at once: each command that may need the plugin waits for it")
		return nil
	}
	if errors.Is(err, hook.Garbled) {
		p.rt.Unusable(err.Error(), `let it answer validate with {"ok":true} or {"ok":false,"error":"…"}`)
		return nil
	}
	p.unfit = fmt.Errorf("it has no config of its own, and wants one from each job: %w", err)
	return nil
}

// CheckConfig checks a config against the schema of info, and then with validate. It is also called
// when the manifest of a job is loaded, so that the doctor reports a faulty config before the job
// runs: docs/protocols/dotagent.md, row D29.
func (p *plugin) CheckConfig(ctx context.Context, config json.RawMessage) error {
	return p.checkConfig(ctx, config, "its config", "correct its config")
}

// checkConfig checks a config. An error about the config begins with whose, and its fix begins with
// correct.
func (p *plugin) checkConfig(ctx context.Context, config json.RawMessage, whose, correct string) error {
	config = rawjson.Clean(config) // compact: docs/protocols/dotagent.md, row D25
	if _, err := rawjson.Parse(config); err != nil {
		return fmt.Errorf("%s is not a JSON object: %q", whose, cut(config))
	}
	if err := p.manifest.misfit(config); err != nil {
		return refusedConfig(fmt.Errorf("%s does not fit its schema: %w", whose, err), correct+": `"+p.path+" info` shows its schema")
	}
	ctx, cancel := context.WithTimeout(ctx, p.dialect.validate)
	defer cancel()
	result, err := p.run(ctx, verbValidate, line(config))
	if errors.Is(err, hook.Timeout) {
		return &configError{err, "correct the plugin: it must answer validate at once"}
	}
	if err != nil {
		return err
	}
	a, err := p.answer(verbValidate, result)
	if err != nil {
		return &configError{err, "correct the plugin: " + p.validateByHand(config) + ` must print {"ok":true} or {"ok":false,"error":"…"}, and exit with 0`}
	}
	if !a.ok {
		return refusedConfig(fmt.Errorf("it refuses %s: %s", whose, a.reason), correct)
	}
	return nil
}

// validateByHand returns the command that calls validate as the host did. Only an empty config is
// written into the command: others may have secrets.
func (p *plugin) validateByHand(config json.RawMessage) string {
	if bytes.Equal(config, emptyConfig) {
		return "`echo '{}' | " + p.path + " validate`"
	}
	return "`" + p.path + " validate`, with this config as JSON on stdin,"
}

// A configError is why a config was refused or could not be checked.
type configError struct {
	error
	fix string
}

// refusedConfig returns the error of a config that the plugin does not accept.
func refusedConfig(err error, fix string) error {
	return &configError{hook.Failure(hook.Refused, err), fix}
}

func (e *configError) Unwrap() error { return e.error }

// Fix says what to correct: the config or the plugin.
func (e *configError) Fix() string { return e.fix }

// Info returns what the plugin declared.
func (p *plugin) Info() dialect.Info { return p.manifest.Info }

// Hooks returns the plugin's kinds at the points of a job. A plugin without kinds has all three,
// each called only if a job's manifest or a connection names the plugin.
func (p *plugin) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for i := range native {
		if len(p.manifest.Kinds) == 0 || slices.Contains(p.manifest.Kinds, native[i].kind) {
			h := p.hookOf(&native[i])
			if h.ByName = len(p.manifest.Kinds) == 0; h.ByName {
				h.For = "if a manifest or a connection names it"
			}
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// Connect returns one of the plugin's kinds at another point.
func (p *plugin) Connect(name string, point hook.Point) (hook.Hook, error) {
	have := p.manifest.Kinds
	if len(have) == 0 {
		have = kinds
	}
	if !slices.Contains(have, name) {
		return hook.Hook{}, dialect.NoHook(p.name, name, have)
	}
	t, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return p.hookOf(t), nil
}

// hookOf returns the hook of a translation. A preflight that fails refuses at every point, also
// where the failure table would skip it: docs/protocols/dotagent.md, row D37.
func (p *plugin) hookOf(t *translation) hook.Hook {
	h := hook.Hook{Name: t.kind, Point: t.point, Timeout: timeouts[t.kind], Observer: t.kind != kindPreflight,
		Call: func(ctx context.Context, ev *hook.Event) (hook.Reply, error) { return p.invoke(ctx, t, ev) }}
	if t.kind == kindPreflight {
		h.OnFailure = hook.ActionDeny
	}
	return h
}

// mostExtra is how many bytes of a reply's further fields are logged. The trace has these fields
// whole.
const mostExtra = 1000

// invoke calls the plugin for one event.
func (p *plugin) invoke(ctx context.Context, t *translation, ev *hook.Event) (hook.Reply, error) {
	payload, err := t.invocation(ev.Payload, p.config)
	if err != nil {
		return hook.Reply{}, err
	}
	reply := hook.Reply{Sent: payload}
	result, err := p.run(ctx, verbInvoke, line(payload))
	if err != nil {
		return reply, err
	}
	reply.Received = received(result.Stdout)
	a, err := p.answer(verbInvoke, result)
	if err != nil {
		return reply, err
	}
	if len(a.extra) > 0 {
		p.rt.Log.Info("reply", "fields", excerpt.Of(a.extra.JSON(), mostExtra))
	}
	if a.ok {
		if a.reason != "" {
			reply.Notes = []string{`the error of the answer is ignored, because ok is true; to refuse, answer {"ok":false,"error":"…"}`}
			p.remarks.Warn(p.rt.Log, "hook", t.kind, reply.Notes, "error", cut([]byte(a.reason)))
		}
		return reply, nil
	}
	return t.refused(reply, a)
}

// Status is always ok: there is no process that could be down.
func (p *plugin) Status() dialect.Status {
	if p.unfit != nil { // the plugin works; a job must bring the config
		return dialect.Status{Health: "ok; " + p.unfit.Error()}
	}
	return dialect.Status{Health: "ok"}
}

// Fleeting marks the plugin as one without a process between two calls.
func (*plugin) Fleeting() {}

// Close stops the processes of standby.
func (p *plugin) Close(context.Context) error {
	if p.standby == nil {
		return nil
	}
	return p.standby.Close()
}

// line ends a payload with a newline: `read` of a shell fails on a line without one.
func line(payload []byte) []byte { return append(slices.Clip(payload), '\n') }
