package mine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// run gives one invocation to a new process, or to one that was started ahead, and waits until it
// exits. The result says how it exited. run returns an error if the process did not start or did
// not end in time. A process that exceeds its timeout is killed at once: docs/protocols/mine.md,
// row M48.
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

// spec starts the program without arguments: docs/protocols/mine.md, row M61.
func (p *plugin) spec() proc.Spec {
	return p.rt.Confined(proc.Spec{Path: p.program, Dir: p.rt.Dir, Env: p.env,
		Log: func(line string) { dialect.LogStderr(p.rt.Log, slog.LevelInfo, line) }}, p.dir)
}

// line ends an invocation with a newline: `read` of a shell fails on a line without one.
func line(invocation json.RawMessage) []byte { return append(slices.Clip(invocation), '\n') }

// unstarted turns the error of a start into a [hook.Error]. The error of a context is returned
// unchanged: the hub knows whose context it was.
func unstarted(err error) error {
	if start, ok := errors.AsType[*program.StartError](err); ok {
		return hook.Failure(hook.Unavailable, explain(start))
	}
	if errors.Is(err, proc.ErrClosed) {
		return hook.Failure(hook.Unavailable, err)
	}
	return err
}

// ended returns the error of a plugin that was sent an invocation, or nil. A plugin has refused if
// it has written an error object to stderr, and has crashed if it exited with a code other than 0
// for another reason. The text is that of docs/protocols/mine.md, rows M44 to M46. With exit code 0
// the object must say that it is an error, and stdout must have no answer: row M47.
func (p *plugin) ended(sent json.RawMessage, r *proc.Result) error {
	said, failed := saidOn(r.Stderr), r.Exit.Code != 0
	if said != nil && (failed || said.stated && !answered(r)) {
		return p.refusalIn(sent, said)
	}
	if !failed {
		if among := saidAmong(r.Stderr); among != nil && among.stated && !answered(r) {
			return hook.Failure(hook.Refused, among)
		}
		return nil
	}
	if words := stderrTail(r.Stderr); words != "" {
		return hook.Failure(hook.Crash, errors.New(words))
	}
	err := unexpected(r.Exit)
	if out := strings.TrimSpace(string(r.Stdout)); out != "" {
		err = dialect.WithFix(fmt.Errorf("%w: stderr is empty, and stdout is %q", err, cut(out)), "write the reason of an error to stderr")
	}
	return hook.Failure(hook.Crash, err)
}

// unexpected is the error of docs/protocols/mine.md, row M46.
func unexpected(exit proc.Exit) error { return fmt.Errorf("plugin exited unexpectedly (%s)", exit) }

func answered(r *proc.Result) bool { return len(bytes.TrimSpace(r.Stdout)) > 0 }

// saidOn returns the error object on stderr, or nil if stderr as a whole is not one:
// docs/protocols/mine.md, rows M44 and M45.
func saidOn(stderr string) *errorObject {
	o, err := rawjson.ParseForeign([]byte(strings.TrimSpace(stderr)))
	if err != nil {
		return nil
	}
	return parseError(o)
}

// saidAmong returns the last error object among other lines of stderr, or nil. It ends with its
// line, or is the rest of stderr. An interpreter may have written warnings before or after it.
func saidAmong(stderr string) *errorObject {
	lines := strings.SplitAfter(stderr, "\n")
	for i := range slices.Backward(lines) {
		line := strings.TrimPrefix(lines[i], "\uFEFF")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if said := cmp.Or(saidOn(line), saidOn(line+strings.Join(lines[i+1:], ""))); said != nil {
			return said
		}
	}
	return nil
}

// ignoredError returns a note on an error object that a plugin with exit code 0 has written to
// stderr, and that refuses nothing. It returns "" if there is none. A line of a log may have a
// field error beside others, and is not such an object.
func ignoredError(r *proc.Result) string {
	switch said := saidAmong(r.Stderr); {
	case said == nil || !said.stated && !said.bare:
		return ""
	case answered(r):
		return "stderr has an error, which is ignored, because stdout has an answer; to refuse, exit with a code other than 0"
	default:
		return "stderr has an error, which is ignored, because it has no status; to refuse, exit with a code other than 0"
	}
}

// refusalIn returns the failure for the error object with which the plugin answered an invocation.
// It also remembers a plugin that refuses the protocol's version, which is then not called again.
func (p *plugin) refusalIn(sent json.RawMessage, said *errorObject) error {
	if said.outdated() && !repeatable(sent) {
		p.outdated.Store(said)
		return hook.Failure(hook.Outdated, said)
	}
	return hook.Failure(hook.Refused, said)
}

// answer reads the reply of a transform hook to an invocation. It returns nil if there is none.
// Output that is not a reply is logged, and is an error: docs/protocols/mine.md, row M43.
func (p *plugin) answer(sent json.RawMessage, r *proc.Result) (*changes, error) {
	if err := p.ended(sent, r); err != nil {
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
		err = p.refusalIn(sent, said)
	}
	return c, err
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
	return rawjson.String(cut(string(stdout)))
}

// stderrTail returns the end of stderr, short enough for an error.
func stderrTail(stderr string) string {
	const most = 1000
	s := strings.TrimSpace(stderr)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
