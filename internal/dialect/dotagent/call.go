package dotagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// run starts the plugin with one verb and waits until it exits. The result says how it exited. run
// returns an error if the plugin did not start, did not end in time or printed too much. The error
// of a timeout has the text of docs/protocols/dotagent.md, row D41.
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

// start runs one call. For invoke it uses a process of standby, if there is one.
func (p *plugin) start(ctx context.Context, verb string, c proc.Call) (*proc.Result, error) {
	if verb == verbInvoke && p.standby != nil {
		return p.standby.Run(ctx, c)
	}
	return p.rt.Procs.Run(ctx, p.spec(verb), c)
}

func (p *plugin) spec(verb string) proc.Spec {
	return p.rt.Confined(proc.Spec{Path: p.path, Args: []string{verb}, Dir: p.rt.Dir, Env: p.env,
		Log: func(line string) { dialect.LogStderr(p.rt.Log, slog.LevelInfo, line) }}, p.path)
}

// timeLeft formats the time that a context has left for the message of docs/protocols/dotagent.md,
// row D41. It rounds up, because some of the time has passed since the deadline was set: times of
// up to one second to 50 ms, of up to ten seconds to 100 ms, and longer ones to whole seconds.
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

// unstarted turns the error of a start into a [hook.Error]. Other errors, such as that of a
// context, are returned unchanged.
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

// notFound is the error of a plugin whose file was removed: docs/protocols/dotagent.md, row D34.
type notFound struct {
	name  string
	cause *program.StartError
}

func (e *notFound) Error() string { return "plugin not found: " + e.name }

// Unwrap returns the cause, which has the path and the fix.
func (e *notFound) Unwrap() error { return e.cause }

// An answer is a plugin's reply to validate or invoke.
type answer struct {
	ok      bool
	reason  string // set if ok is false
	suggest string // shown to a person, never executed
	extra   hook.Object
}

// answer reads the reply of a call. ok is required, and an exit code other than 0 is a failure:
// docs/protocols/dotagent.md, rows D32 and D33. A reply with ok false counts whatever the exit code
// is, so that its suggestion is not lost: row D36.
func (p *plugin) answer(verb string, r *proc.Result) (answer, error) {
	a, err := parseAnswer(r.Stdout)
	switch {
	case r.Exit.Code == 0 && err != nil:
		if text := bytes.TrimSpace(r.Stdout); len(text) > 0 && !isObject(text) {
			p.noise.TakeAnswer(cut(text))
		}
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
	if a.ok {
		a.reason = cmp.Or(a.reason, shortStderr(r.Stderr), `it answered {"ok":true}, but did not exit with 0`)
	}
	return a, hook.Failure(hook.Crash, errors.New(p.failed(r, a.reason)))
}

// isObject reports whether a text is a JSON object.
func isObject(text []byte) bool {
	_, err := rawjson.ParseForeign(text)
	return err == nil
}

// failed returns the message of docs/protocols/dotagent.md, row D33. The exit code is -1 after a
// signal.
func (p *plugin) failed(r *proc.Result, reason string) string {
	noReason := "it gave no reason"
	if r.Exit.Code < 0 {
		noReason += " (" + r.Exit.String() + ")"
	}
	reason = cmp.Or(reason, shortStderr(r.Stderr), complaint(r.Stdout), noReason)
	return fmt.Sprintf("plugin %s failed (exit %d): %s", p.name, r.Exit.Code, reason)
}

// parseAnswer parses a reply. The text of its error continues a sentence that begins with "its
// reply".
func parseAnswer(stdout []byte) (answer, error) {
	stdout = bytes.TrimSpace(stdout)
	o, err := rawjson.ParseForeign(stdout)
	if err != nil {
		return answer{}, unread(stdout, err)
	}
	var a answer
	switch string(o.Get(fieldOK)) {
	case "true":
		a.ok = true
	case "false":
	default:
		return answer{}, fmt.Errorf("has no field ok with the value true or false: %q", cut(stdout))
	}
	a.reason = reasonIn(o)
	a.suggest, _ = o.String(fieldSuggest)
	for _, f := range o {
		if f.Name != fieldOK && f.Name != fieldError && f.Name != fieldSuggest {
			a.extra = append(a.extra, f)
		}
	}
	return a, nil
}

// reasonIn returns the field "error" of a reply. If it is not a string, the text says so.
func reasonIn(o rawjson.Object) string {
	reason, ok := o.String(fieldError)
	if raw := o.Get(fieldError); !ok && !rawjson.Missing(raw) {
		return "it gave no reason: its field error is not a string: " + shown(raw)
	}
	return reason
}

// complaint returns the field "error" of the JSON object in stdout, or "" if there is none. It
// ignores the other fields.
func complaint(stdout []byte) string {
	o, err := rawjson.ParseForeign(bytes.TrimSpace(stdout))
	if err != nil {
		return ""
	}
	reason, _ := o.String(fieldError)
	return reason
}

// unread says why stdout cannot be parsed. The text of its error continues a sentence that begins
// with "its reply" or "info".
func unread(stdout []byte, err error) error {
	if len(bytes.TrimSpace(stdout)) == 0 {
		return errors.New("is empty")
	}
	if deep, ok := errors.AsType[*rawjson.DepthError](err); ok {
		return fmt.Errorf("is %w: %q", deep, cut(stdout))
	}
	if repeated, ok := errors.AsType[*rawjson.RepeatError](err); ok {
		return fmt.Errorf("is invalid: %w: %q", repeated, cut(stdout))
	}
	return fmt.Errorf("is not a JSON object: %q", cut(stdout))
}

// received returns stdout as the trace shows it: JSON unchanged, anything else as a string.
func received(stdout []byte) json.RawMessage {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return nil
	}
	if clean, err := rawjson.CleanWithin(stdout, rawjson.MaxForeign); err == nil {
		return clean
	}
	const most = 4 << 10 // enough to recognise it
	return rawjson.String(string(stdout[:min(len(stdout), most)]))
}

// shortStderr shortens stderr for an error message to its beginning and its end. Python prints the
// error last, Rust prints it first, before a backtrace.
func shortStderr(stderr string) string {
	const first, last = 300, 700
	s := strings.TrimSpace(stderr)
	if len(s) > first+last {
		s = s[:first] + " … " + s[len(s)-last:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
