package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/version"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An mcpSuite checks an MCP server that is a program against docs/protocols/mcp.md.
type mcpSuite struct {
	rpcSuite
	modern       bool // it speaks the revision without a handshake
	welcome      rawjson.Object
	capabilities rawjson.Object
	tools        []mcpTool
}

// The times that a host waits.
const (
	mcpProbe  = 5 * time.Second
	mcpGreet  = 60 * time.Second
	mcpAnswer = 30 * time.Second
	mcpExit   = 2 * time.Second
)

func newMCPSuite(b *bench) *mcpSuite {
	s := &mcpSuite{}
	s.bench = b
	s.rpcSuite.launch = s.command
	s.rpcSuite.greet = func(d *dialogue) error { _, err := s.open(d); return err }
	s.prepare = func(d *dialogue) { d.serve, d.heard = s.answer, func(string) {} }
	s.ping = request{"ping", json.RawMessage(`{}`), mcpAnswer}
	return s
}

func (s *mcpSuite) checks() []Check {
	const hello, pings, tools = "mcp.handshake.answer", "mcp.ping.answer", "mcp.tools.list"
	return []Check{
		{ID: hello, Row: "C1", run: s.initialize, Does: "starts it, and sends `initialize`, or `server/discover` if the server does not know `initialize`",
			Rule: "A server answers `initialize`, or `server/discover` in the revision without sessions, with an object.",
			Fix:  "answer the line of `initialize` with one line on stdout, and flush it"},
		{ID: "mcp.handshake.time", Row: "C2", needs: []string{hello}, run: s.prompt(mcpGreet / 3), Does: "measures how long the start took",
			Rule: "A server whose handshake takes more than 60 seconds is not used.",
			Fix:  "install the server instead of having a package manager fetch it at each start"},
		{ID: "mcp.handshake.version", Row: "C3", needs: []string{hello}, run: s.versions, Does: "looks at the version that it answers with",
			Rule: "It answers with an existing revision of the protocol: from 2024-11-05 to 2026-07-28.",
			Fix:  "answer with the version that the client asks for if you know it, otherwise with your latest"},
		{ID: "mcp.handshake.info", Row: "C4", needs: []string{hello}, run: s.info, Does: "looks at `serverInfo` and `capabilities`",
			Rule: "`serverInfo` has a `name` and a `version`, `capabilities` is an object.",
			Fix:  `answer with "serverInfo":{"name":"…","version":"…"} and "capabilities":{…}`},
		{ID: pings, Row: "C5", needs: []string{hello}, run: s.pinged, Does: "sends `ping`",
			Rule: "`ping` is answered at once with an empty result.",
			Fix:  "answer ping with {}"},
		{ID: "mcp.process.twice", Row: "C6", needs: []string{pings}, run: s.twice, Does: "runs a second process beside the first",
			Rule: "A host may have several processes of a server: one for each project, and one for each kind of client.",
			Fix:  "let each process write files of its own; use no fixed port, and hold no lock forever"},
		{ID: tools, Row: "C7", needs: []string{hello}, run: s.listTools, Does: "lists its tools, page by page",
			Rule: "`tools/list` answers with `tools`, each with a `name` of its own and an `inputSchema` that is a JSON Schema of an object; pages come to an end.",
			Fix:  "give each tool a unique name, and an inputSchema with \"type\":\"object\""},
		{ID: "mcp.tools.call", Row: "C8", needs: []string{tools}, run: s.callTools, Does: "calls each tool that is not marked as destructive, with arguments made from `inputSchema`",
			Rule: "`tools/call` answers with `content`, a list of items with a `type`; a tool's failure is a result with `isError`.",
			Fix:  `answer {"content":[{"type":"text","text":"…"}]}, with "isError":true for what went wrong`},
		{ID: "mcp.tools.output", Row: "C9", needs: []string{"mcp.tools.call"}, run: s.outputs, Does: "compares `structuredContent` with `outputSchema`",
			Rule: "A tool with an `outputSchema` answers with `structuredContent` that fits it.",
			Fix:  "return structuredContent that fits, or leave outputSchema out"},
		{ID: "mcp.tools.unknown", Row: "C10", needs: []string{tools}, run: s.unknownTool, Does: "calls a tool that it does not have",
			Rule: "A tool that does not exist is an error.",
			Fix:  "answer with the error -32602 for a tool that you do not have"},
		{ID: "mcp.prompts.list", Row: "C11", needs: []string{hello}, run: func(t *trial) { s.listed(t, "prompts", "prompts/list", "name") }, Does: "lists its prompts, if it declares some",
			Rule: "`prompts/list` answers with `prompts`, each with a `name` of its own.",
			Fix:  "answer prompts/list, or leave prompts out of the capabilities"},
		{ID: "mcp.resources.list", Row: "C12", needs: []string{hello}, run: func(t *trial) { s.listed(t, "resources", "resources/list", "uri") }, Does: "lists its resources, if it declares some",
			Rule: "`resources/list` answers with `resources`, each with a `uri` of its own and a `name`.",
			Fix:  "answer resources/list, or leave resources out of the capabilities"},
		{ID: "mcp.method.unknown", Row: "C13", needs: []string{hello}, run: s.unknownMethod, Does: "calls a method that does not exist",
			Rule: "A method that the plugin does not know is answered with the error -32601.",
			Fix:  `answer {"jsonrpc":"2.0","id":…,"error":{"code":-32601,"message":"Method not found"}}`},
		{ID: "mcp.requests.together", Row: "C14", needs: []string{pings}, run: func(t *trial) { s.together(t, s.many()) }, Does: "has eight requests under way at once",
			Rule: "Several requests may be under way at once, and each is answered.",
			Fix:  "answer every request, each with its own id"},
		{ID: "mcp.notification.silent", Row: "C15", needs: []string{pings}, run: s.silent, Does: "sends notifications, one of them unknown",
			Rule: "A notification is not answered, and an unknown one is ignored.",
			Fix:  "answer nothing to a message without an id"},
		{ID: "mcp.input.pieces", Row: "C16", needs: []string{pings}, run: s.inPieces, Does: "sends a request in three parts",
			Rule: "A message is a line, however its bytes arrive.",
			Fix:  "read up to the line end before you parse"},
		{ID: "mcp.input.huge", Row: "C17", needs: []string{pings}, run: s.huge, Does: "sends a request of 1 MiB",
			Rule: "One message has 16 MiB at most.",
			Fix:  "read lines of any length; many readers of lines have a smaller limit that must be raised"},
		{ID: "mcp.input.garbled", Row: "C18", needs: []string{"mcp.process.twice"}, run: s.garbled, Does: "sends lines that are not JSON",
			Rule: "A line that is not JSON is ignored, or answered with the error -32700, and the server goes on.",
			Fix:  "answer a line that you cannot parse with the error -32700, or ignore it"},
		{ID: "mcp.stdin.end", Row: "C19", needs: []string{"mcp.process.twice"}, run: func(t *trial) { s.stdinEnd(t, mcpExit) }, Does: "closes stdin",
			Rule: "The server exits within 2 seconds after its stdin ends.",
			Fix:  "leave the loop at the end of stdin, and end threads and programs that you have started"},
		{ID: "mcp.rpc.envelope", Row: "C20", sums: true, needs: []string{hello}, run: summary(sawEnvelope, "all messages are JSON-RPC 2.0"), Does: "looks at the form of all messages",
			Rule: "Messages are JSON-RPC 2.0 in UTF-8: `jsonrpc`, `id`, and either `result` or `error` with a code and a message.",
			Fix:  `write "jsonrpc":"2.0", the id, and either result or error, in every answer, and encode it as UTF-8`},
		{ID: "mcp.rpc.id", Row: "C21", sums: true, needs: []string{hello}, run: summary(sawID, "all answers have the ids of their requests"), Does: "compares the ids of answers with those of requests",
			Rule: "An answer has the id of its request.",
			Fix:  "copy the id of the request unchanged, as a number and not as a string, and answer each request once; ignore a line that is not a message, or answer it with the id null"},
		{ID: "mcp.stdout.clean", Row: "C22", sums: true, needs: []string{hello}, run: summary(sawNoise, "nothing but messages was printed"), Does: "looks for other text on stdout",
			Rule: "A server writes only messages to stdout, and no message contains a line end.",
			Fix:  "log to stderr; silence the programs that you start; write each message on one line"},
		{ID: "mcp.process.left", Row: "C23", sums: true, needs: []string{hello}, run: leftRunning, Does: "looks for processes after each end of the server",
			Rule: "No process survives the server.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
	}
}

// command returns the server's process. Relative paths are relative to the directory where the
// command was typed.
func (s *mcpSuite) command() launch {
	command := slices.Clone(s.target.Command)
	for i, word := range command {
		path := filepath.Join(s.target.Dir, word)
		if info, err := os.Stat(path); !filepath.IsAbs(word) && err == nil && (i > 0 && info.Mode().IsRegular() || strings.Contains(word, "/")) {
			command[i] = path // it runs in another directory
		}
	}
	return launch{path: command[0], args: command[1:], dir: s.work, env: s.env.Pick(append([]string{"SHELL"}, dialect.BaseNames...), s.target.Env...)}
}

// answer answers the requests that a server may send to a client.
func (s *mcpSuite) answer(method string, _ json.RawMessage) (json.RawMessage, *rpcError) {
	switch method {
	case "ping":
		return json.RawMessage(`{}`), nil
	case "roots/list":
		return json.RawMessage(fmt.Sprintf(`{"roots":[{"uri":%s}]}`, rawjson.String("file://"+s.work))), nil
	}
	return nil, &rpcError{Code: codeNoMethod, Message: "this client has no answer to " + method}
}

func clientInfo() string { return fmt.Sprintf(`{"name":"patchbay","version":%q}`, version.Number) }

// params adds the fields that the revision without a handshake requires in each request.
func (s *mcpSuite) params(fields string) json.RawMessage {
	if !s.modern {
		return json.RawMessage("{" + fields + "}")
	}
	if fields != "" {
		fields += ","
	}
	return json.RawMessage(fmt.Sprintf(`{%s"_meta":{%q:%q,%q:%s,%q:{}}}`, fields, mcpcall.MetaVersion, mcpcall.Modern,
		mcpcall.MetaClient, clientInfo(), mcpcall.MetaCapabilities))
}

// open begins a conversation in the way that the server knows.
func (s *mcpSuite) open(d *dialogue) (*answer, error) {
	if s.modern {
		return d.ask("server/discover", s.params(""), mcpGreet)
	}
	a, err := d.ask("initialize", json.RawMessage(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"roots":{}},"clientInfo":%s}`, mcpcall.Handshake, clientInfo())), mcpGreet)
	if err != nil || a.err != nil {
		return a, err
	}
	return a, d.tell("notifications/initialized", json.RawMessage(`{}`))
}

func (s *mcpSuite) initialize(t *trial) {
	d := s.mustLive(t, s.begin)
	if d == nil {
		return
	}
	s.talking = d
	a, err := s.open(d)
	if err == nil && a.err != nil { // perhaps it knows only the other way
		s.modern = true
		if other, otherErr := s.open(d); otherErr == nil && other.err == nil {
			a = other
		} else {
			s.modern = false
		}
	}
	if err != nil {
		t.failf("initialize: %v%s", err, s.afterAll(d)+s.instead())
		t.endedFix(err)
		s.dropLive()
		return
	}
	if a.err != nil {
		t.failf("initialize was answered with %v", a.err)
		return
	}
	s.startup = a.took
	if s.welcome, err = rawjson.Parse(a.result); err != nil {
		t.failf("the handshake was answered with %s instead of an object", shown(a.result))
		return
	}
	s.capabilities, _ = rawjson.Parse(s.welcome.Get("capabilities")) // mcp.handshake.info reports capabilities that are not an object
	if s.modern {
		s.ping = request{"tools/list", s.params(""), mcpAnswer} // that revision has no ping
	}
	t.passf("answered in %s", a.took.Round(time.Millisecond))
}

func (s *mcpSuite) versions(t *trial) {
	if s.modern {
		list, err := stringList(s.welcome.Get("supportedVersions"))
		if err != nil || !slices.Contains(list, mcpcall.Modern) {
			t.failf("supportedVersions is %s, without %s", shown(s.welcome.Get("supportedVersions")), mcpcall.Modern)
		}
		return
	}
	v, _ := s.welcome.String("protocolVersion")
	if !slices.Contains(mcpcall.Versions, v) || v == mcpcall.Modern {
		t.failf("protocolVersion is %s, and must be one of %s", shown(s.welcome.Get("protocolVersion")), strings.Join(mcpcall.Versions[:len(mcpcall.Versions)-1], ", "))
		return
	}
	t.passf("%s", v)
}

func (s *mcpSuite) info(t *trial) {
	raw := s.welcome.Get("serverInfo")
	if meta, err := rawjson.Parse(s.welcome.Get("_meta")); err == nil && meta.Get(mcpcall.MetaServer) != nil {
		raw = meta.Get(mcpcall.MetaServer)
	}
	who, _ := rawjson.Parse(raw)
	name, hasName := who.String("name")
	if _, hasVersion := who.String("version"); !hasName || name == "" || !hasVersion {
		t.failf("serverInfo is %s: it must have a name and a version", shown(raw))
	}
	if s.capabilities == nil {
		t.failf("capabilities is %s instead of an object", shown(s.welcome.Get("capabilities")))
	}
	if hasName && name != "" {
		t.passf("%s", name)
	}
}

// has reports whether the server declares a capability.
func (s *mcpSuite) has(name string) bool { return !rawjson.Missing(s.capabilities.Get(name)) }

func (s *mcpSuite) pinged(t *trial) {
	a := s.ask(t, "ping", s.ping)
	if t.failed() {
		return
	}
	if a.err != nil {
		t.failf("%s is answered with %v", s.ping.method, a.err)
	}
}

func (s *mcpSuite) huge(t *trial) {
	s.large(t, request{s.ping.method, s.params(`"conformance":` + string(long())), mcpAnswer})
}

func (s *mcpSuite) many() []request {
	list := []request{}
	for range 8 {
		list = append(list, s.ping)
	}
	if s.has("tools") {
		list[3] = request{"tools/list", s.params(""), mcpAnswer}
	}
	return list
}

func (s *mcpSuite) silent(t *trial) {
	d := s.mustLive(t, s.live)
	if d == nil {
		return
	}
	for _, method := range []string{"notifications/cancelled", "notifications/conformance"} {
		if err := d.tell(method, json.RawMessage(`{"requestId":4711}`)); err != nil {
			t.failf("it ended after the notification %s", method)
			s.dropLive()
			return
		}
	}
	s.ask(t, "a request after notifications", s.ping)
	summary(sawReply, "notifications have no answers")(t)
}
