package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The times of the protocol for calls without a timeout of their own.
const (
	mineLifecycle = 5 * time.Second
	mineCommand   = 20 * time.Second // a command may take any time; a test may not
)

// hooksOf returns the hooks of a mode.
func (s *mineSuite) hooksOf(mode string) []mine.Registration {
	return slices.DeleteFunc(slices.Clone(s.declared.Hooks), func(h mine.Registration) bool { return h.Mode != mode })
}

// contexts returns the contexts for hooks of a stage: a plain command, one without arguments, one
// with odd arguments.
func contexts(h mine.Registration) []json.RawMessage {
	result := json.RawMessage("null")
	if h.Stage == "postexec" || h.Stage == "notify" {
		result = json.RawMessage(`{"stdout":"hello\n","stderr":"","exit_code":0}`)
	}
	name := strings.NewReplacer("*", "add", "?", "a", "[", "", "]", "").Replace(h.Pattern)
	make := func(args, flags string, result json.RawMessage) json.RawMessage {
		return rawjson.Object{{Name: "command", Value: rawjson.String(name)}, {Name: "args", Value: json.RawMessage(args)},
			{Name: "flags", Value: json.RawMessage(flags)}, {Name: "result", Value: result},
			{Name: "timestamp", Value: rawjson.String("2026-01-15T10:30:00Z")}}.JSON()
	}
	text := string(rawjson.String(sample.Odd))
	out := []json.RawMessage{
		make(`["buy milk"]`, `{"due":"tomorrow","priority":"high"}`, result),
		make(`[]`, `{}`, result),
		make(`["-x","--","",`+text+`]`, `{"note":`+text+`}`, result),
	}
	if string(result) != "null" {
		out = append(out, make(`["-x"]`, `{}`, json.RawMessage(`{"stdout":`+text+`,"stderr":`+text+`,"exit_code":1}`)))
	}
	return out
}

func hookMessage(stage, mode string, context json.RawMessage) string {
	return fmt.Sprintf(`{"protocol_version":"1.0.0","type":"hook","stage":%q,"mode":%q,"context":%s}`, stage, mode, context)
}

func (s *mineSuite) hooks(t *trial) {
	n, refused := 0, 0
	for _, h := range s.hooksOf("transform") {
		for _, context := range contexts(h) {
			r := s.transform(t, h, context)
			if t.failed() {
				return
			}
			n++
			s.startup = r.took
			if r.exit.Code != 0 {
				refused++
			}
		}
	}
	if n == 0 {
		t.skipf("it has no transform hooks")
		return
	}
	t.passf("%d calls answered, %d of them refused", n, refused)
}

// transform calls a hook and notes what is wrong with its answer.
func (s *mineSuite) transform(t *trial, h mine.Registration, context json.RawMessage) *returned {
	what := fmt.Sprintf("the hook %s (%s)", h.Stage, h.Pattern)
	r, err := s.run(s.call(hookMessage(h.Stage, h.Mode, context), h.Timeout))
	switch {
	case err != nil:
		text, fix := startFault(err)
		t.failf("%s: %s", what, text)
		t.fixWith(fix)
	case r.over:
		t.failf("%s did not end within %s", what, s.limit(h.Timeout))
	case r.exit.Code != 0:
		s.checkRefusal(t, what, r)
	default:
		s.checkAnswer(what, h, context, r)
	}
	return r
}

// checkRefusal checks how a hook refused or failed.
func (s *mineSuite) checkRefusal(t *trial, what string, r *returned) {
	s.suspect(r.stderr)
	o, err := rawjson.Parse([]byte(strings.TrimSpace(r.stderr)))
	switch {
	case r.exit.Signal == "" && err == nil && !rawjson.Missing(o.Get("error")):
	case !s.checkDeath(t, what, r):
		s.seen.note(sawUnsaid, "%s ended with %s, and stderr is %s", what, r.exit, shown(r.stderr))
	}
}

// checkDeath fails a check if a call has crashed, also in the way of docs/protocols/mine.md, row
// M46: without a word on stderr. It reports whether the call has crashed.
func (s *mineSuite) checkDeath(t *trial, what string, r *returned) bool {
	if t.checkCrash(what, r.exit, r.stderr) {
		return true
	}
	silent := r.exit.Code != 0 && strings.TrimSpace(r.stderr) == ""
	if silent {
		t.failf("%s ended with %s and said nothing on stderr, which counts as a crash", what, r.exit)
		t.fixWith(`to refuse, print {"status":"error","error":"…"} to stderr before you exit with a code other than 0`)
	}
	return silent
}

// checkAnswer checks the answer of a hook that succeeded.
func (s *mineSuite) checkAnswer(what string, h mine.Registration, context json.RawMessage, r *returned) {
	if len(strings.TrimSpace(string(r.stdout))) == 0 {
		return
	}
	o, err := s.object(what, r.stdout)
	if err != nil {
		s.seen.note(sawNoise, "%v", err)
		return
	}
	if status, _ := o.String("status"); status != "ok" {
		s.seen.note(sawStatus, "%s answers with status %s and exit code 0", what, shown(o.Get("status")))
		return
	}
	ignored, err := mine.CheckAnswer(h.Stage, context, r.stdout)
	fault := contextFault(o.Get("context"))
	if fault == "" && err != nil {
		fault = err.Error()
	}
	if fault != "" {
		s.seen.note(sawContext, "%s: %s", what, fault)
	}
	for _, note := range ignored {
		s.seen.note(sawIgnored, "%s: %s", what, note)
	}
}

func (s *mineSuite) ignored(t *trial) {
	if text := s.seen.of(sawIgnored); text != "" {
		t.warnf("%s", text)
	}
}

// contextFault says what is wrong with a returned context.
func contextFault(raw json.RawMessage) string {
	if rawjson.Missing(raw) {
		return ""
	}
	o, err := rawjson.Parse(raw)
	if err != nil {
		return "context is not an object: " + shown(raw)
	}
	if v := o.Get("command"); v != nil && v[0] != '"' {
		return "context.command is not a string: " + shown(v)
	}
	var args []string
	if v := o.Get("args"); v != nil && (v[0] != '[' || json.Unmarshal(v, &args) != nil) {
		return "context.args is not a list of strings: " + shown(v)
	}
	var flags map[string]string
	if v := o.Get("flags"); v != nil && (v[0] != '{' || json.Unmarshal(v, &flags) != nil) {
		return "context.flags does not map names to strings: " + shown(v)
	}
	return ""
}

func (s *mineSuite) refusalText(t *trial) {
	if text := s.seen.of(sawUnsaid); text != "" {
		t.warnf("%s", text)
	}
}

func (s *mineSuite) notify(t *trial) {
	n := 0
	for _, h := range s.hooksOf("notify") {
		for _, context := range contexts(h) {
			r, err := s.run(s.call(hookMessage(h.Stage, h.Mode, context), h.Timeout))
			switch {
			case err != nil:
				t.failStart(err)
			case r.over:
				t.failf("the notify hook (%s) did not end within %s", h.Pattern, s.limit(h.Timeout))
			case r.exit.Code != 0:
				s.suspect(r.stderr)
				t.failf("the notify hook (%s) ended with %s%s", h.Pattern, r.exit, stderrEnd(r.stderr))
			}
			if t.failed() {
				return
			}
			n++
			s.startup = r.took
		}
	}
	if n == 0 {
		t.skipf("it has no notify hooks")
		return
	}
	t.passf("%d calls", n)
}

func (s *mineSuite) commands(t *trial) {
	for _, c := range s.declared.Commands {
		for _, args := range []string{``, `,"args":["conformance"]`} {
			s.command(t, c, fmt.Sprintf(`{"protocol_version":"1.0.0","type":"command","command":%s%s}`, rawjson.String(c.Name), args))
			if t.failed() {
				return
			}
		}
	}
	if len(s.declared.Commands) == 0 {
		t.skipf("it has no commands")
		return
	}
	t.passf("%s", plural(len(s.declared.Commands), "command"))
}

func (s *mineSuite) command(t *trial, c dialect.CommandDoc, message string) {
	call := s.call(message, mineCommand)
	if c.Stdin == "user" {
		call.stdin, call.env = nil, append(slices.Clone(call.env), "MINE_INVOCATION="+message)
	}
	r, err := s.run(call)
	switch {
	case err != nil:
		t.failStart(err)
	case r.over:
		t.warnf("the command %s was still running after %s", c.Name, s.limit(mineCommand))
	case t.checkCrash("the command "+c.Name, r.exit, r.stderr):
	case r.exit.Code != 0 && strings.TrimSpace(r.stderr) == "":
		t.failf("the command %s ended with %s and said nothing on stderr", c.Name, r.exit)
	case r.exit.Code != 0:
		s.suspect(r.stderr)
	}
}
