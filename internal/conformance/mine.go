package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// mineSuite holds a plugin against docs/protocols/mine.md.
type mineSuite struct {
	*bench
	declared mine.Declaration
	startup  time.Duration // how long the last hook took
}

func (s *mineSuite) checks() []Check {
	const valid, program, answers = "mine.manifest.valid", "mine.program.executable", "mine.hook.answers"
	return []Check{
		{ID: valid, Row: "M1", run: s.manifest, Does: "reads `mine-plugin.toml`",
			Rule: "Every key of `[plugin]`, `[[hooks]]`, `[[commands]]` and `[permissions]` has its type; name, version, description, author and protocol_version are required.",
			Fix:  "mend mine-plugin.toml where it says; `patchbay plugin validate` lists every fault with its line"},
		{ID: "mine.manifest.odd", Row: "M2", needs: []string{valid}, run: manifestOdd, Does: "looks for unknown keys, and for a folder of another name",
			Rule: "Unknown keys are warnings; the folder has the plugin's name.",
			Fix:  "correct the key, or rename the folder"},
		{ID: program, Row: "M3", needs: []string{valid}, run: s.executable, Does: "looks whether the program and its interpreter can be executed",
			Rule: "The program must be executable.",
			Fix:  "build the program, or chmod +x it, and install the interpreter that its #! line names"},
		{ID: answers, Row: "M4", needs: []string{program}, run: s.hooks, Does: "calls every transform hook with contexts of several kinds",
			Rule: "A transform hook answers on stdout and exits with 0, within its `timeout`.",
			Fix:  "read stdin to its end, print the answer and exit with 0; to refuse, exit with another code and say why on stderr"},
		{ID: "mine.hook.stdout-json", Row: "M5", needs: []string{answers}, run: summary(sawNoise, "answers are JSON, or nothing"), Does: "reads what transform hooks print",
			Rule: "The answer is one JSON object and nothing else on stdout; nothing on stdout changes nothing.",
			Fix:  "print nothing but the answer to stdout; what is for people goes to stderr"},
		{ID: "mine.hook.status", Row: "M6", needs: []string{answers}, run: summary(sawStatus, "status is ok"), Does: "looks at `status` of answers",
			Rule: "`status` is `ok`; an `error` on stdout with exit code 0 is an error as well.",
			Fix:  `answer {"status":"ok","context":…}`},
		{ID: "mine.hook.context", Row: "M7", needs: []string{answers}, run: summary(sawContext, "contexts have their form"), Does: "looks at `context` of answers",
			Rule: "What is in `context` replaces what was sent: `command` is a string, `args` a list of strings, `flags` maps names to strings.",
			Fix:  "send back the context that you were given, changed where you mean to; write flags as strings"},
		{ID: "mine.error.said", Row: "M8", needs: []string{answers}, run: s.said, Does: "looks at what hooks that refuse, or fail, write to stderr",
			Rule: "Exit with another code than 0, and say why on stderr: `{\"status\":\"error\",\"error\":\"…\",\"code\":\"…\"}`.",
			Fix:  `print {"status":"error","error":"…"} to stderr before you exit with another code than 0`},
		{ID: "mine.hook.notify", Row: "M9", needs: []string{program}, run: s.notify, Does: "calls every notify hook",
			Rule: "A notify hook is sent the same with `\"mode\":\"notify\"`; its stdout is not read.",
			Fix:  "exit with 0 after a notify hook; what went wrong goes to stderr, with another exit code"},
		{ID: "mine.command.runs", Row: "M10", needs: []string{program}, run: s.commands, Does: "runs each of its commands without arguments, and with one",
			Rule: "Stdout of a command is shown as it is; the exit code is passed on. An error is said on stderr.",
			Fix:  "say on stderr what is wrong when a command exits with another code than 0, and end without waiting for input that does not come"},
		{ID: "mine.lifecycle.health", Row: "M11", needs: []string{program}, run: s.health, Does: "sends the lifecycle event `health`",
			Rule: "`health` wants `{\"status\":\"ok\"}`; all three events are optional.",
			Fix:  `answer health with {"status":"ok"}, or with nothing at all`},
		{ID: "mine.lifecycle.brief", Row: "M12", needs: []string{program}, run: s.brief, Does: "sends the lifecycle events `init` and `shutdown`",
			Rule: "`init` when the host starts and `shutdown` when it ends want no answer, and are over within 5 seconds.",
			Fix:  "exit at once on lifecycle events that you have no use for"},
		{ID: "mine.version.refused", Row: "M13", needs: []string{program}, run: s.version, Does: "calls it with protocol version 99.0.0",
			Rule: "Plugins should check `protocol_version`, and fail gracefully if the major version is unsupported.",
			Fix:  `exit with 1 and {"status":"error","error":"unsupported protocol version"} on stderr unless protocol_version begins with "1."`},
		{ID: "mine.type.unknown", Row: "M14", needs: []string{program}, run: s.unknown, Does: "calls it with a type and a stage that do not exist",
			Rule: "A call of a type or a stage that is not known is over in time, and changes nothing.",
			Fix:  "end without an answer when type or stage is not one that you know"},
		{ID: "mine.input.garbled", Row: "M15", needs: []string{program}, run: s.garbled, Does: "calls it with stdin that is no JSON, and with none",
			Rule: "A call that cannot be understood is an error: exit with another code than 0.",
			Fix:  "exit with another code than 0 when stdin is no JSON object"},
		{ID: "mine.input.huge", Row: "M16", needs: []string{answers}, run: s.huge, Does: "calls a hook with a context of 1 MiB",
			Rule: "`context.result` is the whole output of the command: it may be long.",
			Fix:  "read stdin to its end; do not pass the context on as an argument of a program, whose length is bounded"},
		{ID: "mine.calls.together", Row: "M17", needs: []string{program}, run: s.together, Does: "calls it four times at once",
			Rule: "Notify hooks run at once, and so may calls of several commands.",
			Fix:  "use files of a name of their own (mktemp), and locks that are waited for"},
		{ID: "mine.stdin.late", Row: "M18", needs: []string{answers}, run: s.late, Does: "starts a hook and writes stdin later",
			Rule: "With `standby` the next process is started ahead and waits for its call.",
			Fix:  "read stdin to its end first, and do the work after that"},
		{ID: "mine.process.left", Row: "M19", sums: true, needs: []string{program}, run: left, Does: "looks for processes after each call",
			Rule: "Past its timeout the process is killed, and all it started; when a call is over, nothing of it is left running.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
		{ID: "mine.sandbox.denied", Row: "M20", sums: true, needs: []string{program}, run: denied, Does: "looks for what its sandbox refused in all calls",
			Rule: "`network`, `filesystem`, `store`, `config_read` and `config_write` are all that it may use beside itself, with `sandbox = \"declared\"`.",
			Fix:  "declare it in [permissions], or do without it"},
	}
}

func (s *mineSuite) manifest(t *trial) {
	t.manifest()
	s.declared, _ = mine.Declares(s.target.Found, s.env)
}

// manifest fails a check with everything that is wrong with a manifest.
func (t *trial) manifest() {
	var lines []string
	for _, p := range t.target.Found.Problems {
		lines = append(lines, place(p)+p.Message)
		t.fixWith(p.Fix)
	}
	if len(lines) > 1 {
		t.mend = "" // one advice for all
	}
	if len(lines) == 0 && t.target.Found.Manifest == nil && t.target.Found.Err != nil {
		lines = append(lines, t.target.Found.Err.Error())
	}
	if len(lines) > 0 {
		t.failf("%s", strings.Join(lines, "\n"))
	}
}

// place is where in a file something is, as compilers write it.
func place(p dialect.Problem) string {
	if p.Line == 0 {
		return p.Path + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", p.Path, p.Line, p.Column)
}

// manifestOdd warns of what is odd about a manifest.
func manifestOdd(t *trial) {
	var lines []string
	for _, p := range t.target.Found.Warnings {
		lines = append(lines, place(p)+p.Message)
		t.fixWith(p.Fix)
	}
	if len(lines) > 0 {
		t.warnf("%s", strings.Join(lines, "\n"))
	}
}

func (s *mineSuite) executable(t *trial) { t.startable(s.declared.Program) }

func (s *mineSuite) call(message string, within time.Duration) call {
	return call{launch: launch{path: s.declared.Program, dir: s.work, env: s.declared.Environ}, stdin: []byte(message + "\n"), within: within}
}

// The protocol's times for what has none of its own.
const (
	mineLifecycle = 5 * time.Second
	mineCommand   = 20 * time.Second // a command may take as long as it likes; this is a test
)

// of are the hooks of a mode.
func (s *mineSuite) of(mode string) []mine.Registration {
	return slices.DeleteFunc(slices.Clone(s.declared.Hooks), func(h mine.Registration) bool { return h.Mode != mode })
}

// contexts are what hooks of a stage are asked about: a plain command, one without arguments, one with odd ones.
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
	text := string(rawjson.String(odd))
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
	for _, h := range s.of("transform") {
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

// transform calls a hook, and notes what is wrong with its answer.
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
		s.heed(t, what, r)
	default:
		s.read(what, r)
	}
	return r
}

// heed looks at how a hook has refused, or failed.
func (s *mineSuite) heed(t *trial, what string, r *returned) {
	s.suspect(r.stderr)
	if r.exit.Signal != "" {
		t.failf("%s ended by %s%s", what, r.exit, lastWords(r.stderr))
		return
	}
	if o, err := rawjson.Parse([]byte(strings.TrimSpace(r.stderr))); err == nil && !dialect.Missing(o.Get("error")) {
		return
	}
	s.seen.note(sawUnsaid, "%s ended with %s, and stderr is %s", what, r.exit, shown(r.stderr))
}

// read looks at the answer of a hook that has worked.
func (s *mineSuite) read(what string, r *returned) {
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
	if fault := contextFault(o.Get("context")); fault != "" {
		s.seen.note(sawContext, "%s: %s", what, fault)
	}
}

// contextFault says what is wrong with a context that came back.
func contextFault(raw json.RawMessage) string {
	if dialect.Missing(raw) {
		return ""
	}
	o, err := rawjson.Parse(raw)
	if err != nil {
		return "context is no object: " + shown(raw)
	}
	if v := o.Get("command"); v != nil && v[0] != '"' {
		return "context.command is no string: " + shown(v)
	}
	var args []string
	if v := o.Get("args"); v != nil && json.Unmarshal(v, &args) != nil {
		return "context.args is no list of strings: " + shown(v)
	}
	var flags map[string]string
	if v := o.Get("flags"); v != nil && json.Unmarshal(v, &flags) != nil {
		return "context.flags does not map names to strings: " + shown(v)
	}
	return ""
}

func (s *mineSuite) said(t *trial) {
	if text := s.seen.of(sawUnsaid); text != "" {
		t.warnf("%s", text)
	}
}

func (s *mineSuite) notify(t *trial) {
	n := 0
	for _, h := range s.of("notify") {
		for _, context := range contexts(h) {
			r, err := s.run(s.call(hookMessage(h.Stage, h.Mode, context), h.Timeout))
			switch {
			case err != nil:
				text, fix := startFault(err)
				t.failf("%s", text)
				t.fixWith(fix)
			case r.over:
				t.failf("the notify hook (%s) did not end within %s", h.Pattern, s.limit(h.Timeout))
			case r.exit.Code != 0:
				s.suspect(r.stderr)
				t.failf("the notify hook (%s) ended with %s%s", h.Pattern, r.exit, lastWords(r.stderr))
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
	t.passf("%d commands", len(s.declared.Commands))
}

func (s *mineSuite) command(t *trial, c dialect.CommandDoc, message string) {
	call := s.call(message, mineCommand)
	if c.Stdin == "user" {
		call.stdin, call.env = nil, append(slices.Clone(call.env), "MINE_INVOCATION="+message)
	}
	r, err := s.run(call)
	switch {
	case err != nil:
		text, fix := startFault(err)
		t.failf("%s", text)
		t.fixWith(fix)
	case r.over:
		t.warnf("the command %s was still running after %s", c.Name, s.limit(mineCommand))
	case r.exit.Signal != "":
		t.failf("the command %s ended by %s%s", c.Name, r.exit, lastWords(r.stderr))
	case r.exit.Code != 0 && strings.TrimSpace(r.stderr) == "":
		t.failf("the command %s ended with %s and said nothing on stderr", c.Name, r.exit)
	case r.exit.Code != 0:
		s.suspect(r.stderr)
	}
}
