package dotagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// run starts the plugin with one verb and waits for its end. How it ended is in the result; the
// error is for calls that got no answer. Its texts are the rulings'.
func (p *plugin) run(ctx context.Context, verb string, stdin []byte) (*proc.Result, error) {
	allowed := timeLeft(ctx)
	result, err := p.start(ctx, verb, proc.Call{Stdin: stdin, MaxStdout: p.rt.Most(mostStdout), Grace: p.dialect.grace})
	switch {
	case err == nil && result.Truncated:
		return nil, hook.Failure(hook.TooLarge, fmt.Errorf("its reply to %s is over %d bytes", verb, p.rt.Most(mostStdout)))
	case err == nil:
		return result, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, hook.Failure(hook.Timeout, fmt.Errorf("plugin %s.%s exceeded %s — killed", p.name, verb, allowed))
	}
	return nil, p.unstarted(err)
}

// start takes a process that waits already where the verb is the one they wait for.
func (p *plugin) start(ctx context.Context, verb string, c proc.Call) (*proc.Result, error) {
	if verb == verbInvoke && p.standby != nil {
		return p.standby.Run(ctx, c)
	}
	return p.rt.Procs.Run(ctx, p.spec(verb), c)
}

func (p *plugin) spec(verb string) proc.Spec {
	return p.rt.Confined(proc.Spec{Path: p.path, Args: []string{verb}, Dir: p.rt.Dir, Env: p.env,
		Log: func(line string) { p.rt.Log.Info("stderr", "line", line) }}, p.path)
}

// timeLeft is a context's time in the words of the rulings: "exceeded Ns". What the way here took
// of it is rounded off, always up: to a whole second, a tenth, or a twentieth, the longer the
// coarser.
func timeLeft(ctx context.Context) string {
	deadline, ok := ctx.Deadline()
	if !ok {
		return "its time"
	}
	left, grain := time.Until(deadline), 50*time.Millisecond
	switch {
	case left > 10*time.Second:
		grain = time.Second
	case left > time.Second:
		grain = 100 * time.Millisecond
	}
	left = (left + grain - 1).Truncate(grain)
	return strconv.FormatFloat(left.Seconds(), 'f', -1, 64) + "s"
}

// unstarted puts the failure of a start into the hub's words. A context's error passes through.
func (p *plugin) unstarted(err error) error {
	start, ok := errors.AsType[*program.StartError](err)
	if !ok && !errors.Is(err, proc.ErrClosed) {
		return err
	}
	if _, statErr := os.Stat(p.path); ok && errors.Is(statErr, fs.ErrNotExist) {
		return hook.Failure(hook.Unavailable, &notFound{name: p.name, cause: start})
	}
	return hook.Failure(hook.Unavailable, err)
}

// notFound is the error of a plugin whose file is gone. The rulings: "plugin not found: N".
type notFound struct {
	name  string
	cause *program.StartError
}

func (e *notFound) Error() string { return "plugin not found: " + e.name }

// Unwrap has the path, and what mends it.
func (e *notFound) Unwrap() error { return e.cause }

// An answer is what a plugin said to validate or invoke.
type answer struct {
	ok      bool
	reason  string // set where it is not ok
	suggest string // shown to a person, never executed
	extra   hook.Object
}

// answer reads what a call came to. The rulings: "ok is required. Exit code other than 0 is
// failure; its text is stdout's error where stdout is a valid reply, else stderr." A plugin that
// says no and exits with 1 has said no: its suggestion is not lost.
func (p *plugin) answer(verb string, r *proc.Result) (answer, error) {
	a, err := parseAnswer(r.Stdout)
	switch {
	case r.Exit.Code == 0 && err != nil:
		p.noise.TakeAnswer(cut(r.Stdout))
		return a, hook.Failure(hook.Garbled, fmt.Errorf("its reply to %s %w", verb, err))
	case r.Exit.Code == 0:
		if !a.ok {
			a.reason = cmp.Or(a.reason, "it gave no reason")
		}
		return a, nil
	case err == nil && !a.ok:
		a.reason = p.failed(r, a.reason)
		return a, nil
	}
	return a, hook.Failure(hook.Crash, errors.New(p.failed(r, a.reason)))
}

// failed: "plugin P failed (exit C): … (C is -1 on a signal)".
func (p *plugin) failed(r *proc.Result, reason string) string {
	reason = cmp.Or(reason, lastWords(r.Stderr), "it gave no reason ("+r.Exit.String()+")")
	return fmt.Sprintf("plugin %s failed (exit %d): %s", p.name, r.Exit.Code, reason)
}

// parseAnswer reads a reply; the error completes a sentence about it.
func parseAnswer(stdout []byte) (answer, error) {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return answer{}, errors.New("is empty")
	}
	o, err := rawjson.ParseWithin(stdout, rawjson.MaxForeign)
	if err != nil {
		return answer{}, unread(stdout, err)
	}
	var a answer
	switch string(o.Get(fieldOK)) {
	case "true":
		a.ok = true
	case "false":
	default:
		return answer{}, fmt.Errorf("has no ok that is true or false: %q", cut(stdout))
	}
	a.reason, _ = o.String(fieldError)
	a.suggest, _ = o.String(fieldSuggest)
	for _, f := range o {
		if f.Name != fieldOK && f.Name != fieldError && f.Name != fieldSuggest {
			a.extra = append(a.extra, f)
		}
	}
	return a, nil
}

// complaint is the error that stdout tells of, whatever else it is; "" where it tells of none.
func complaint(stdout []byte) string {
	o, err := rawjson.ParseWithin(bytes.TrimSpace(stdout), rawjson.MaxForeign)
	if err != nil {
		return ""
	}
	reason, _ := o.String(fieldError)
	return reason
}

// unread says why stdout was not read; it completes a sentence about it.
func unread(stdout []byte, err error) error {
	if deep, ok := errors.AsType[*rawjson.DepthError](err); ok {
		return fmt.Errorf("is %w: %q", deep, cut(stdout))
	}
	return fmt.Errorf("is not a JSON object: %q", cut(stdout))
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
	const most = 4 << 10 // to recognise it by
	return rawjson.String(string(stdout[:min(len(stdout), most)]))
}

// lastWords is stderr, short enough for an error: its beginning and its end. Python says last what
// went wrong, and Rust first, before a backtrace.
func lastWords(stderr string) string {
	const first, last = 300, 700
	s := strings.TrimSpace(stderr)
	if len(s) > first+last {
		s = s[:first] + " … " + s[len(s)-last:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
