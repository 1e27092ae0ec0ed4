package mine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// run starts the plugin, or takes a process that waits already, gives it one invocation and waits
// for its end. How it ended is in the result; the error is for calls that got no answer. Seed 001:
// "If a plugin exceeds its timeout, mine kills the process and reports an error": there is no
// grace.
func (p *plugin) run(ctx context.Context, invocation json.RawMessage, most int) (*proc.Result, error) {
	c := proc.Call{Stdin: line(invocation), MaxStdout: most}
	var result *proc.Result
	var err error
	if p.standby != nil {
		result, err = p.standby.Run(ctx, c)
	} else {
		result, err = p.rt.Procs.Run(ctx, p.spec(), c)
	}
	if err != nil {
		return nil, unstarted(err)
	}
	return result, nil
}

// spec: seed 001, "the only requirement is a binary that reads JSON from stdin": no arguments.
func (p *plugin) spec() proc.Spec {
	return p.rt.Confined(proc.Spec{Path: p.program, Dir: p.rt.Dir, Env: p.env,
		Log: func(line string) { p.rt.Log.Info("stderr", "line", line) }}, p.dir)
}

// line ends an invocation with a newline: a shell's read fails on a line without.
func line(invocation json.RawMessage) []byte { return append(slices.Clip(invocation), '\n') }

// unstarted puts the failure of a start into the hub's words. A context's error passes through: the
// hub knows whose it was.
func unstarted(err error) error {
	if start, ok := errors.AsType[*program.StartError](err); ok {
		return hook.Failure(hook.Unavailable, explain(start))
	}
	if errors.Is(err, proc.ErrClosed) {
		return hook.Failure(hook.Unavailable, err)
	}
	return err
}

// ended is nil for a plugin that exited with 0. The rulings: "Error text, in order: stderr's JSON
// error and code; raw stderr; plugin exited unexpectedly." One that says why has refused; one that
// does not has crashed.
func (p *plugin) ended(r *proc.Result) error {
	if r.Exit.Code == 0 {
		return nil
	}
	if said := saidOn(r.Stderr); said != nil {
		return p.heed(said)
	}
	if words := lastWords(r.Stderr); words != "" {
		return hook.Failure(hook.Crash, errors.New(words))
	}
	return hook.Failure(hook.Crash, unexpected(r.Exit))
}

// unexpected: seed 001, "Plugin crash (non-zero exit, no stderr): mine reports “plugin exited
// unexpectedly”".
func unexpected(exit proc.Exit) error { return fmt.Errorf("plugin exited unexpectedly (%s)", exit) }

// saidOn is the error object on stderr. Seed 001: "If stderr is not valid JSON, mine displays the
// raw stderr text": it is the whole of stderr or none.
func saidOn(stderr string) *errorObject {
	o, err := rawjson.ParseWithin([]byte(strings.TrimSpace(stderr)), rawjson.MaxForeign)
	if err != nil {
		return nil
	}
	return parseError(o)
}

// heed is the failure of a plugin that answers with an error. One that refuses the protocol's
// version is not asked again.
func (p *plugin) heed(said *errorObject) error {
	if said.outdated() {
		p.outdated.Store(said)
		return hook.Failure(hook.Outdated, said)
	}
	return hook.Failure(hook.Refused, said)
}

// answer reads what a transform came to; nil: it changed nothing. Seed 001: "Malformed JSON
// response: mine logs the raw output and reports a parse error", the one place where both are asked
// for.
func (p *plugin) answer(r *proc.Result) (*changes, error) {
	if err := p.ended(r); err != nil {
		return nil, err
	}
	if r.Truncated {
		return nil, hook.Failure(hook.TooLarge, fmt.Errorf("its reply is over %d bytes", p.rt.Most(mostStdout)))
	}
	c, err := parseReply(r.Stdout)
	if errors.Is(err, hook.Garbled) {
		p.noise.TakeAnswer(cut(string(r.Stdout)))
	}
	if said, ok := errors.AsType[*errorObject](err); ok {
		err = p.heed(said)
	}
	return c, err
}

// received is stdout as the trace shows it: JSON as it is, anything else as text.
func received(stdout []byte) json.RawMessage {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return nil
	}
	if clean, err := rawjson.CleanWithin(stdout, rawjson.MaxForeign); err == nil {
		return clean
	}
	return rawjson.String(cut(string(stdout)))
}

// lastWords is the end of stderr, short enough for an error.
func lastWords(stderr string) string {
	const most = 1000
	s := strings.TrimSpace(stderr)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
