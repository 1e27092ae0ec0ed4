package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A scaffoldSuite checks a plugin against docs/protocols/scaffold.md.
type scaffoldSuite struct {
	rpcSuite
	manifest rawjson.Object
	hooks    []string
	tools    []scaffoldTool
	ended    *dialogue // a process that has answered shutdown
	unknown  string    // the first unknown field of an answer
}

// A scaffoldTool is a tool of the plugin, with a schema of its parameters.
type scaffoldTool struct {
	name   string
	schema json.RawMessage
}

// The times of the protocol.
const (
	scaffoldReply = 5 * time.Second
	scaffoldTools = 2 * time.Minute
	scaffoldExit  = 2 * time.Second // one second before SIGTERM, and one from SIGTERM to SIGKILL
)

func newScaffoldSuite(b *bench) *scaffoldSuite {
	s := &scaffoldSuite{}
	s.bench = b
	s.rpcSuite.launch = func() launch {
		return launch{path: b.target.Path, dir: b.work, env: b.env.Pick(append([]string{"SCAFFOLD_HOME"}, dialect.BaseNames...))}
	}
	s.rpcSuite.greet = func(d *dialogue) error {
		_, err := d.ask("initialize", json.RawMessage(`{"protocol_version":1}`), scaffoldReply)
		return err
	}
	s.ping = request{"conformance.ping", json.RawMessage(`{}`), scaffoldReply} // an error is an answer too
	return s
}

func (s *scaffoldSuite) checks() []Check {
	const file, hello, hooks, tools = "scaffold.file.executable", "scaffold.handshake.answer", "scaffold.hook.answers", "scaffold.tool.answers"
	return []Check{
		{ID: file, Row: "S1", run: func(t *trial) { t.checkStartable(t.target.Path) }, Does: "checks whether the file and its interpreter can be executed",
			Rule: "It must be executable (`chmod +x`).",
			Fix:  "chmod +x the file, and install the interpreter that its #! line names"},
		{ID: hello, Row: "S2", needs: []string{file}, run: s.initialize, Does: "sends `initialize`",
			Rule: "A plugin without a valid answer to `initialize` within 5 seconds is killed and left out.",
			Fix:  "answer the line of `initialize` with one line: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":…}}, and flush stdout after it"},
		{ID: "scaffold.handshake.time", Row: "S3", needs: []string{hello}, run: s.prompt(scaffoldReply), Does: "measures how long the start took",
			Rule: "There are 5 seconds for the answer to `initialize`, on the slowest machine too.",
			Fix:  "do slow work after `initialize` has been answered"},
		{ID: "scaffold.handshake.name", Row: "S4", needs: []string{hello}, run: s.name, Does: "looks at `name` in the manifest",
			Rule: "`name` is required: a letter, then at most 63 letters, digits and hyphens; no underscore.",
			Fix:  "choose a name such as my-plugin"},
		{ID: "scaffold.handshake.fields", Row: "S5", needs: []string{hello}, run: s.fields, Does: "looks at `version`, `description` and `priority` in the manifest",
			Rule: "`version` and `description` are strings, `priority` is a number.",
			Fix:  "give the field the type that the table of manifest fields says, or leave it out"},
		{ID: "scaffold.handshake.hooks", Row: "S6", needs: []string{hello}, run: s.readHooks, Does: "looks at `hooks` in the manifest",
			Rule: "`hooks` is a list of the hooks that it wants; an unknown one is never called.",
			Fix:  "write the names of hooks as the table of hooks has them"},
		{ID: "scaffold.handshake.tools", Row: "S7", needs: []string{hello}, run: s.readTools, Does: "looks at `tools` in the manifest",
			Rule: "Each tool has a `name` of letters, digits, `_` and `-`, a `description` and `parameters`, each with `name`, `type`, `description` and `required`.",
			Fix:  "give every tool a unique name, a description and parameters; give every parameter a name, a type (string, number, integer, boolean, object or array), a description, and required (true or false)"},
		{ID: hooks, Row: "S8", needs: []string{hello}, after: []string{"scaffold.handshake.hooks"}, run: s.askHooks, Does: "asks each of its hooks, with texts of several kinds",
			Rule: "A hook is answered within 5 seconds with an object: an `action`, and those of the hook's fields that change.",
			Fix:  "answer every hook of the manifest; {\"action\":\"continue\"} changes nothing"},
		{ID: "scaffold.hook.action", Row: "S9", needs: []string{hooks}, run: summary(sawStatus, "actions are known"), Does: "looks at `action` of answers",
			Rule: "`action` is `continue`, `stop` or `skip`; `skip` has an effect only at `post_user_input`.",
			Fix:  "answer with continue or stop; skip only drops messages at post_user_input"},
		{ID: "scaffold.hook.fields", Row: "S10", needs: []string{hooks}, run: s.answerFields, Does: "looks at the fields of answers",
			Rule: "Each field of the answer to a hook is a string, except `success`; `arguments` is a string with a JSON object in it. Other types and unknown fields are ignored.",
			Fix:  "make each field a string; arguments is a string that contains a JSON object; success is true or false"},
		{ID: tools, Row: "S11", needs: []string{hello}, after: []string{"scaffold.handshake.tools"}, run: s.askTools, Does: "calls each of its tools, with arguments made from its parameters",
			Rule: "`tool/execute` is answered with `success`, which is `true` or `false`, and a string `result`.",
			Fix:  `answer {"success":true,"result":"…"}, or {"success":false,"result":"what went wrong"}`},
		{ID: "scaffold.tool.unknown", Row: "S12", needs: []string{tools}, run: s.unknownTool, Does: "calls a tool that it does not have",
			Rule: "A tool that does not exist is a failure: `\"success\":false`, or an error.",
			Fix:  "look at params.name, and answer with \"success\":false for a tool that is not yours"},
		{ID: "scaffold.method.unknown", Row: "S13", needs: []string{hello}, run: s.unknownMethod, Does: "sends a method that does not exist",
			Rule: "A method that the plugin does not know is answered with the error -32601.",
			Fix:  `answer {"jsonrpc":"2.0","id":…,"error":{"code":-32601,"message":"Unknown method"}}`},
		{ID: "scaffold.process.twice", Row: "S14", needs: []string{hello}, run: s.awake(s.twice), Does: "runs a second process beside the first",
			Rule: "Several processes of the plugin can run at once, one for each project in use: it uses no fixed port, and holds no lock for long.",
			Fix:  "let each process write files of its own; use no fixed port, and hold no lock forever"},
		{ID: "scaffold.input.pieces", Row: "S15", needs: []string{hello}, run: s.awake(s.inPieces), Does: "sends a request in three parts",
			Rule: "A message is a line, however its bytes arrive.",
			Fix:  "read up to the line end before you parse"},
		{ID: "scaffold.input.huge", Row: "S16", needs: []string{hello}, run: s.huge, Does: "sends a request of 1 MiB",
			Rule: "A message has at most 10 MB; long ones must be answered too.",
			Fix:  "read lines of any length; do not pass their text on as an argument of a program, whose length is bounded"},
		{ID: "scaffold.input.garbled", Row: "S17", needs: []string{"scaffold.process.twice"}, run: s.awake(s.garbled), Does: "sends lines that are not JSON",
			Rule: "It ignores a line that is not JSON, and goes on.",
			Fix:  "ignore a line that you cannot parse, and say so on stderr"},
		{ID: "scaffold.shutdown.answer", Row: "S18", needs: []string{hello}, run: s.answersShutdown, Does: "sends `shutdown`",
			Rule: "`shutdown` is answered with `{\"ok\":true}` within 5 seconds.",
			Fix:  `answer {"jsonrpc":"2.0","id":…,"result":{"ok":true}}`},
		{ID: "scaffold.shutdown.exit", Row: "S19", needs: []string{"scaffold.shutdown.answer"}, run: func(t *trial) { s.exits(t, s.ended, scaffoldExit) }, Does: "waits for its end after `shutdown`",
			Rule: "The plugin exits after its answer to `shutdown`.",
			Fix:  "leave the loop after shutdown, and end threads and programs that you have started"},
		{ID: "scaffold.stdin.end", Row: "S20", needs: []string{"scaffold.process.twice"}, run: func(t *trial) { s.stdinEnd(t, scaffoldExit) }, Does: "closes stdin without `shutdown`",
			Rule: "The plugin exits when its stdin ends, because its host is gone.",
			Fix:  "leave the loop at the end of stdin"},
		{ID: "scaffold.rpc.envelope", Row: "S21", sums: true, needs: []string{hello}, run: summary(sawEnvelope, "all messages are JSON-RPC 2.0"), Does: "looks at the form of all messages",
			Rule: "JSON-RPC 2.0 in UTF-8, one object a line: `jsonrpc`, `id`, and either `result` or `error` with a code and a message (`\"error\":null` is none).",
			Fix:  `write "jsonrpc":"2.0", the id, and either result or error, in every answer, and encode it as UTF-8`},
		{ID: "scaffold.rpc.id", Row: "S22", sums: true, needs: []string{hello}, run: summary(sawID, "all answers have the ids of their requests"), Does: "compares the ids of answers with those of requests",
			Rule: "Copy the request's `id` into the answer: a number, from 1 on.",
			Fix:  "copy the id of the request unchanged, as a number and not as a string, and answer each request once; ignore a line that is not a message, or answer it with the id null"},
		{ID: "scaffold.stdout.clean", Row: "S23", sums: true, needs: []string{hello}, run: s.clean, Does: "looks for other text on stdout",
			Rule: "Print nothing else to stdout.",
			Fix:  "print text for people to stderr; silence the programs that you start; write each message on one line"},
		{ID: "scaffold.process.left", Row: "S24", sums: true, needs: []string{hello}, run: leftRunning, Does: "looks for processes after each end of the plugin",
			Rule: "No process survives the plugin.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
	}
}

// clean fails if the plugin printed anything but answers. In this protocol the plugin sends no
// messages of its own.
func (s *scaffoldSuite) clean(t *trial) {
	for _, kind := range []sight{sawNoise, sawUnasked, sawRequest} {
		if text := s.seen.of(kind); text != "" {
			t.failf("%s", text)
		}
	}
}

func (s *scaffoldSuite) initialize(t *trial) {
	a := s.greeted(t, request{"initialize", json.RawMessage(`{"protocol_version":1}`), scaffoldReply})
	if t.failed() {
		return
	}
	if a.err != nil {
		t.failf("initialize was answered with %v", a.err)
		return
	}
	o, err := rawjson.Parse(a.result)
	if err != nil {
		t.failf("initialize was answered with %s instead of an object", shown(a.result))
		return
	}
	s.manifest = o
	t.passf("answered in %s", a.took.Round(time.Millisecond))
}

var scaffoldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)

func (s *scaffoldSuite) name(t *trial) {
	name, ok := s.manifest.String("name")
	if !ok && s.manifest.Get("protocolVersion") != nil {
		t.failf("it has protocolVersion instead of a name: this is the answer of an MCP server. To test it as one: --dialect mcp")
		return
	}
	if !ok || !scaffoldName.MatchString(name) {
		t.failf("name is %.160s", dialect.OrNull(s.manifest.Get("name")))
		return
	}
	s.target.Name = name
	t.passf("%s", name)
}

func (s *scaffoldSuite) fields(t *trial) {
	var wrong []string
	for _, f := range []string{"version", "description"} {
		if v := s.manifest.Get(f); !rawjson.Missing(v) && v[0] != '"' {
			wrong = append(wrong, fmt.Sprintf("%s is not a string: %.160s", f, v))
		}
	}
	var priority float64
	if v := s.manifest.Get("priority"); !rawjson.Missing(v) && (json.Unmarshal(v, &priority) != nil || math.Abs(priority) > math.MaxInt32) {
		wrong = append(wrong, fmt.Sprintf("priority is not a usable number: %.160s", v))
	}
	if wrong != nil {
		t.failf("%s", strings.Join(wrong, "; "))
		return
	}
	if notes := dialect.UnknownFields("the manifest", s.manifest, scaffoldManifestFields); notes != nil {
		t.warnf("%s", strings.Join(notes, "; "))
	}
}

var scaffoldManifestFields = []string{"name", "version", "description", "hooks", "tools", "priority"}

// answerFields sums up the fields of answers to hooks.
func (s *scaffoldSuite) answerFields(t *trial) {
	switch text := s.seen.of(sawContext); {
	case text != "":
		t.failf("%s", text)
	case s.unknown != "":
		t.warnf("%s", s.unknown)
	default:
		t.passf("fields are strings")
	}
}

func (s *scaffoldSuite) readHooks(t *trial) {
	list, err := stringList(s.manifest.Get("hooks"))
	if err != nil {
		t.failf("hooks is not a list of strings: %.160s", s.manifest.Get("hooks"))
		return
	}
	for _, name := range list {
		switch {
		case scaffoldHooks[name] == nil:
			t.failf("there is no hook %s; %s", shown(name), nearest.Suggest(name, scaffoldHookNames()))
		case slices.Contains(s.hooks, name):
			t.warnf("the hook %s is listed twice", name)
		default:
			s.hooks = append(s.hooks, name)
		}
	}
	t.passf("%s", plural(len(s.hooks), "hook"))
}

var scaffoldToolName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

var scaffoldTypes = []string{"string", "number", "integer", "boolean", "object", "array"}

func (s *scaffoldSuite) readTools(t *trial) {
	var list []struct {
		Name        *string `json:"name"`
		Description *string `json:"description"`
		Parameters  []struct {
			Name        string  `json:"name"`
			Type        string  `json:"type"`
			Description *string `json:"description"`
			Required    *bool   `json:"required"`
		} `json:"parameters"`
	}
	if raw := s.manifest.Get("tools"); !rawjson.Missing(raw) {
		if err := json.Unmarshal(raw, &list); err != nil {
			t.failf("tools: %s", dialect.JSONMismatch(err))
			return
		}
	}
	for i, tool := range list {
		if tool.Name == nil || *tool.Name == "" {
			t.failf("tools[%d] has no name", i)
			continue
		}
		same := func(other scaffoldTool) bool { return other.name == *tool.Name }
		if slices.ContainsFunc(s.tools, same) {
			t.failf("there are two tools %s", shown(*tool.Name))
		}
		properties, required := map[string]any{}, []string{}
		for _, p := range tool.Parameters {
			if p.Name == "" || !slices.Contains(scaffoldTypes, p.Type) {
				t.failf("tools[%d]: the parameter %s has the type %s; %s", i, shown(p.Name), shown(p.Type), nearest.Suggest(p.Type, scaffoldTypes))
				continue
			}
			properties[p.Name] = map[string]any{"type": p.Type}
			if p.Required != nil && *p.Required {
				required = append(required, p.Name)
			}
			if p.Description == nil || p.Required == nil {
				t.warnf("tools[%d]: the parameter %s lacks description or required", i, shown(p.Name))
			}
		}
		switch {
		case tool.Description == nil:
			t.warnf("tools[%d] has no description: a model does not know what it is for", i)
		case tool.Parameters == nil:
			t.warnf("tools[%d] has no parameters: if it needs none, write an empty list", i)
		case !scaffoldToolName.MatchString(*tool.Name):
			t.warnf("tools[%d]: models get another name instead of %s: a name for a model may have only letters, digits, _ and -", i, shown(*tool.Name))
		}
		raw, _ := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required}) // cannot fail
		s.tools = append(s.tools, scaffoldTool{*tool.Name, raw})
	}
	t.passf("%s", plural(len(s.tools), "tool"))
}

func (s *scaffoldSuite) answersShutdown(t *trial) {
	d, a := s.shutdown(t, request{"shutdown", json.RawMessage(`{}`), scaffoldReply})
	if s.ended = d; d == nil {
		return
	}
	if a.err != nil {
		t.failf("shutdown was answered with %v", a.err)
		d.kill()
		s.ended = nil
		return
	}
	o, _ := rawjson.Parse(a.result) // without an object there is no ok
	if string(o.Get("ok")) != "true" {
		t.warnf("shutdown was answered with %s", shown(a.result))
	}
}

func (s *scaffoldSuite) huge(t *trial) {
	r := request{s.ping.method, json.RawMessage(fmt.Sprintf(`{"message":%s}`, long())), scaffoldReply}
	if s.asksHooks() {
		r.method, r.params = "hook/"+s.hooks[0], scaffoldHooks[s.hooks[0]].params(string(long()))
	}
	s.large(t, r)
}

// asksHooks reports whether the plugin has hooks and has answered them.
func (s *scaffoldSuite) asksHooks() bool {
	return len(s.hooks) > 0 && s.results["scaffold.hook.answers"].Status == Pass
}

// awake chooses the request with which a check tests whether the plugin answers: its first hook, or
// else an unknown tool. If the plugin has answered neither, the check calls an unknown method.
func (s *scaffoldSuite) awake(check func(*trial)) func(*trial) {
	return func(t *trial) {
		switch {
		case s.asksHooks():
			s.ping.method, s.ping.params = "hook/"+s.hooks[0], scaffoldHooks[s.hooks[0]].params(`"hello"`)
		case s.results["scaffold.tool.unknown"].Status == Pass:
			r := s.execute(unknownToolName, json.RawMessage(`{}`))
			s.ping.method, s.ping.params = r.method, r.params
		}
		check(t)
	}
}
