package conformance

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/dotagent"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A dotagentSuite checks a plugin against docs/protocols/dotagent.md.
type dotagentSuite struct {
	*bench
	info    rawjson.Object
	kinds   []string
	schema  json.RawMessage // nil: it has no valid one
	fitting []sample.Value  // the configs that validate accepted; nil: not known
	startup time.Duration   // how long info took
}

func (s *dotagentSuite) checks() []Check {
	const info, replies = "dotagent.info.json", "dotagent.invoke.reply"
	return []Check{
		{ID: "dotagent.file.name", Row: "D1", run: s.fileName, Does: "looks at the name of the file",
			Rule: "A plugin is any program called `dotagent-plugin-<name>`.",
			Fix:  "rename the file to dotagent-plugin-NAME"},
		{ID: "dotagent.file.executable", Row: "D2", run: s.executable, Does: "checks whether the file and its interpreter can be executed",
			Rule: "The file must be executable.",
			Fix:  "chmod +x the file, and install the interpreter that its #! line names"},
		{ID: info, Row: "D3", needs: []string{"dotagent.file.executable"}, run: s.infoJSON, Does: "calls `info`",
			Rule: "`info` has no stdin, prints a JSON object and exits with 0, within 10 seconds.",
			Fix:  "answer the argument `info` with one JSON object on stdout, then exit with 0; run it by hand: ./dotagent-plugin-NAME info"},
		{ID: "dotagent.info.name", Row: "D4", needs: []string{info}, run: s.infoName, Does: "looks at `name` in the answer to `info`",
			Rule: "`name` is required: a string that is equal to the name of the file.",
			Fix:  `print "name" with the part of the file's name after dotagent-plugin-`},
		{ID: "dotagent.info.fields", Row: "D5", needs: []string{info}, run: s.infoFields, Does: "looks at `version` and `platforms` in the answer to `info`",
			Rule: "`version` is a string, `platforms` a list of strings; both may be left out.",
			Fix:  `print "version":"1.0.0" and "platforms":["linux","darwin"], or leave them out`},
		{ID: "dotagent.info.kinds", Row: "D6", needs: []string{info}, run: s.infoKinds, Does: "looks at `kinds` in the answer to `info`",
			Rule: "`kinds` is a list of `preflight`, `sink` and `notify`; any other word makes the plugin broken.",
			Fix:  `print "kinds" as a list of the words preflight, sink, notify`},
		{ID: "dotagent.info.schema", Row: "D7", needs: []string{info}, run: s.infoSchema, Does: "compiles `schema` in the answer to `info`",
			Rule: "`schema` is a JSON Schema of `config`, without references to other files.",
			Fix:  "correct the schema; the message says what is wrong, and where"},
		{ID: "dotagent.config.refused", Row: "D8", needs: []string{"dotagent.info.schema"}, run: s.configRefused, Does: "checks configs of wrong types against `schema`",
			Rule: "A config that does not fit is refused before an agent runs, by `schema` or by `validate`.",
			Fix:  "give each property of the schema a type, or let validate answer {\"ok\":false,\"error\":…}"},
		{ID: "dotagent.validate.reply", Row: "D9", needs: []string{info}, after: []string{"dotagent.info.schema"}, run: s.validateReply, Does: "calls `validate` with configs that fit `schema`",
			Rule: "`validate` gets the config on stdin, and answers `{\"ok\":true}` or `{\"ok\":false,\"error\":\"…\"}`.",
			Fix:  `answer validate with one JSON object that has "ok", and a string "error" if that is false`},
		{ID: replies, Row: "D10", needs: []string{"dotagent.info.kinds"}, after: []string{"dotagent.info.schema", "dotagent.validate.reply"}, run: s.invokeReply, Does: "calls `invoke` for each of its kinds, with configs that `validate` accepts and every event",
			Rule: "`invoke` answers with a JSON object in which `ok` is `true` or `false`.",
			Fix:  `answer invoke with one JSON object on stdout that has "ok": true or false; say what failed in "error"`},
		{ID: "dotagent.exit.code", Row: "D11", needs: []string{replies}, run: s.exitCode, Does: "compares exit codes with the answers",
			Rule: "`{\"ok\":true}` needs exit code 0: any other exit code is a failure, whatever stdout contains.",
			Fix:  "exit with 0 after {\"ok\":true}"},
		{ID: "dotagent.reply.fields", Row: "D12", needs: []string{replies}, run: s.replyFields, Does: "looks at `error` and `suggest` of refusals",
			Rule: "`error` is a string that says why. `suggest` is a string, for a preflight that refuses.",
			Fix:  `give a reason with every {"ok":false}: "error" is a string`},
		{ID: "dotagent.input.huge", Row: "D13", needs: []string{replies}, run: s.huge, Does: "calls `invoke` with a message of 1 MiB",
			Rule: "The `message` of a sink has the last 500 lines of the agent's stdout, so it may be long.",
			Fix:  "read stdin to its end; do not pass the message on as an argument of a program, whose length is bounded"},
		{ID: "dotagent.input.garbled", Row: "D14", needs: []string{info}, run: s.garbled, Does: "calls `validate` and `invoke` with stdin that is not JSON, and with none",
			Rule: "A call that the plugin does not understand is a failure: a gate never opens by accident.",
			Fix:  "exit with a code other than 0, or answer {\"ok\":false,…}, when stdin is not what you expect"},
		{ID: "dotagent.verb.unknown", Row: "D15", needs: []string{info}, run: s.unknownVerb, Does: "calls a verb that does not exist",
			Rule: "The verb is the only argument: `info`, `validate` or `invoke`; any other is an error.",
			Fix:  "print a usage line to stderr and exit with 2 for a verb that you do not know"},
		{ID: "dotagent.calls.together", Row: "D16", needs: []string{replies}, run: s.together, Does: "calls `invoke` four times at once",
			Rule: "Several calls may run at the same time.",
			Fix:  "use files with unique names (mktemp), and wait for locks"},
		{ID: "dotagent.stdin.late", Row: "D17", needs: []string{replies}, run: s.late, Does: "starts `invoke` and writes stdin later",
			Rule: "With `standby` the next process is started ahead and waits, so it must do nothing before it has read stdin.",
			Fix:  "read stdin to its end first, and do the work after that"},
		{ID: "dotagent.process.term", Row: "D18", needs: []string{info}, run: s.term, Does: "sends SIGTERM while it waits for stdin",
			Rule: "After the timeout, SIGTERM is sent to the plugin and all it started, and SIGKILL five seconds later.",
			Fix:  "do not ignore SIGTERM; end within five seconds of it"},
		{ID: "dotagent.process.left", Row: "D19", sums: true, needs: []string{info}, run: summary(sawLeft, "nothing was left running"), Does: "looks for processes after each call",
			Rule: "End what you start: Patchbay kills the processes that remain when the plugin has exited, also after `setsid`.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
		{ID: "dotagent.stdout.clean", Row: "D20", sums: true, needs: []string{info}, run: summary(sawNoise, "nothing but answers was printed"), Does: "looks for other text on stdout in all calls",
			Rule: "Stdout has a JSON object in UTF-8 and nothing else. Text for people goes to stderr.",
			Fix:  "print text for people to stderr, and silence the programs that you start (>/dev/null or >&2)"},
	}
}

// The times of the protocol.
const (
	dotagentInfo     = 10 * time.Second
	dotagentValidate = 30 * time.Second
	dotagentGrace    = 5 * time.Second
)

var dotagentTimes = map[string]time.Duration{"preflight": 30 * time.Second, "sink": 300 * time.Second, "notify": 15 * time.Second}

// verb returns a call of a verb as the host makes it: with the host's environment without its
// secrets, in the working directory.
func (s *dotagentSuite) verb(verb string, stdin []byte, within time.Duration) call {
	vars := slices.DeleteFunc(slices.Clone(s.env.Vars), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return secretenv.Is(name)
	})
	return call{launch: launch{path: s.target.Path, args: []string{verb}, dir: s.work, env: vars}, stdin: stdin, within: within, grace: dotagentGrace}
}

func (s *dotagentSuite) fileName(t *trial) {
	base := filepath.Base(s.target.Path)
	if name, ok := strings.CutPrefix(base, "dotagent-plugin-"); !ok || name == "" {
		t.failf("the file is called %s", base)
	}
}

func (s *dotagentSuite) executable(t *trial) { t.checkStartable(s.target.Path) }

// checkStartable fails a check if a file cannot be executed.
func (t *trial) checkStartable(path string) {
	if !dialect.Executable(path) {
		e := program.Diagnose(path, t.env.Vars, nil)
		t.failf("%s %s", path, e.Why)
		t.fixWith(e.Fix)
	} else if e := program.Uninterpreted(path, t.env.Vars); e != nil {
		t.failf("%s", e.Error())
		t.fixWith(e.Fix)
	}
}

// answer makes a call and returns the object that it prints. It fails the check if there is none.
func (s *dotagentSuite) answer(t *trial, what string, c call) (rawjson.Object, *returned) {
	r, err := s.run(c)
	if err != nil {
		text, fix := startFault(err)
		t.failf("%s: %s", what, text)
		t.fixWith(fix)
		return nil, nil
	}
	if r.over {
		t.failf("%s did not end within %s", what, s.limit(c.within))
		t.fixWith("answer in time; put longer work into a process of its own")
		return nil, r
	}
	o, err := s.object(what, r.stdout)
	switch {
	case err == nil:
		return o, r
	case t.checkCrash(what, r.exit, r.stderr):
	case r.exit.Code > 0 && c.args[0] != "info": // this counts as a failure, as the table of replies says
		t.warnf("%s failed without an answer (%s)%s", what, r.exit, stderrEnd(r.stderr))
		t.fixWith(`answer {"ok":false,"error":"…"} to a call that you cannot serve: then the user reads the reason`)
	default:
		t.failf("%s (%s)%s", err, r.exit, stderrEnd(r.stderr))
	}
	return nil, r
}

// stderrEnd returns the last line of stderr that says something, for a message. Below its error,
// Node prints a stack, the fields of the error in braces and its own version.
func stderrEnd(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return ""
	}
	for _, line := range slices.Backward(lines) {
		if says := strings.TrimRight(line, " \t\r}"); says != "" && says[0] != ' ' && says[0] != '\t' && !strings.HasPrefix(says, "Node.js v") {
			last = line
			break
		}
	}
	return "; stderr ends with " + shown(last)
}

func (s *dotagentSuite) infoJSON(t *trial) {
	o, r := s.answer(t, "info", s.verb("info", nil, dotagentInfo))
	switch {
	case t.failed():
	case r.exit.Code != 0:
		t.failf("info ended with %s%s", r.exit, stderrEnd(r.stderr))
	default:
		s.info, s.startup = o, r.took
		t.passf("answered in %s", r.took.Round(time.Millisecond))
	}
}

func (s *dotagentSuite) infoName(t *trial) {
	name, ok := s.info.String("name")
	file := strings.TrimPrefix(filepath.Base(s.target.Path), "dotagent-plugin-")
	switch {
	case !ok || name == "":
		t.failf("info has no name that is a string: %s", shown(s.info.Get("name")))
	case name != file:
		t.warnf("it calls itself %s, but its file is called %s: the file's name counts", shown(name), shown(file))
	default:
		t.passf("%s", name)
	}
}

func (s *dotagentSuite) infoFields(t *trial) {
	if v := s.info.Get("version"); !rawjson.Missing(v) && v[0] != '"' {
		t.failf("version is not a string: %s", shown(v))
	}
	platforms, err := stringList(s.info.Get("platforms"))
	if err != nil {
		t.failf("platforms is not a list of strings: %s", shown(s.info.Get("platforms")))
	}
	system := []string{runtime.GOOS, map[string]string{"darwin": "macos"}[runtime.GOOS]}
	if len(platforms) > 0 && !slices.ContainsFunc(platforms, func(p string) bool { return slices.Contains(system, p) }) {
		t.warnf("it is for %[2]s and not for %[1]s: a host on this system does not use it", runtime.GOOS, strings.Join(platforms, ", "))
		t.fixWith("nothing, if it cannot work here; otherwise add \"" + runtime.GOOS + "\" to platforms")
	}
	for key, meant := range dotagent.Misspelt(s.info) {
		t.warnf("the field %s is ignored: did you mean %q?", shown(key), meant)
		t.fixWith("rename the field to " + meant)
	}
}

// stringList reads a list of strings that may be absent.
func stringList(raw json.RawMessage) ([]string, error) {
	var list []string
	if rawjson.Missing(raw) {
		return nil, nil
	}
	err := json.Unmarshal(raw, &list)
	return list, err
}

func (s *dotagentSuite) infoKinds(t *trial) {
	known := []string{"preflight", "sink", "notify"}
	kinds, err := stringList(s.info.Get("kinds"))
	if err != nil {
		t.failf("kinds is not a list of strings: %s", shown(s.info.Get("kinds")))
		return
	}
	for _, k := range kinds {
		if !slices.Contains(known, k) {
			t.failf("there is no kind %s; %s", shown(k), nearest.Suggest(k, known))
			return
		}
		s.kinds = append(s.kinds, k)
	}
	if len(kinds) == 0 {
		s.kinds = known
		t.passf("it states no kinds: it is called only if a manifest or a connection names it")
	}
}

func (s *dotagentSuite) infoSchema(t *trial) {
	raw := s.info.Get("schema")
	if rawjson.Missing(raw) {
		t.skipf("it has no schema")
		return
	}
	compiled, faults := schema.Compile(raw)
	if len(faults) > 0 {
		t.failf("%s", faultsIn(faults))
		return
	}
	s.schema = raw
	if unchecked := compiled.Unchecked(); len(unchecked) > 0 {
		t.warnf("%s", faultsIn(unchecked))
	}
}

// faultsIn returns the faults of a schema on one line.
func faultsIn(faults []schema.Fault) string {
	var out []string
	for _, f := range faults[:min(len(faults), mostSights)] {
		out = append(out, f.String())
	}
	return strings.Join(out, "; ")
}
