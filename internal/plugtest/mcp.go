package plugtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// mcpPrefix begins the names under which a test binary is an MCP server. The rest of the name is
// the kind of the server.
const mcpPrefix = "mcp-"

// The kinds of MCP servers.
const (
	MCPHandshake = "handshake" // answers unknown methods with an error
	MCPModern    = "modern"    // without sessions
	MCPBoth      = "both"
	MCPFragile   = "fragile" // with a handshake; ends at unknown methods
)

// PlayMCP plays an MCP server if the test binary was started under the name of one, and ends the
// process then.
func PlayMCP() {
	kind, ok := strings.CutPrefix(filepath.Base(os.Args[0]), mcpPrefix)
	if !ok {
		return
	}
	s := &mcpServer{kind: kind, waiting: make(map[string]json.RawMessage)}
	s.serve(bufio.NewReaderSize(os.Stdin, 1<<20))
	syscall.Exit(0)
}

// InstallMCP installs such a server in dir.
func InstallMCP(t testing.TB, dir, kind string) (path string) {
	t.Helper()
	path = filepath.Join(dir, mcpPrefix+kind)
	InstallSelf(t, path)
	return path
}

// mcpServer is a small server with a tool for each feature that a host has to pass on. It answers
// one request at a time, in order.
type mcpServer struct {
	kind    string
	grown   bool
	listen  json.RawMessage            // the id of the request that waits for changes; nil: none
	waiting map[string]json.RawMessage // waiting requests, by what they wait for
	mu      sync.Mutex                 // protects stdout
}

type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string            `json:"name"`
		URI       string            `json:"uri"`
		RequestID json.RawMessage   `json:"requestId"`
		Arguments map[string]string `json:"arguments"`
		State     string            `json:"requestState"`
		Inputs    json.RawMessage   `json:"inputResponses"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
			Level string          `json:"io.modelcontextprotocol/logLevel"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func (s *mcpServer) serve(in *bufio.Reader) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m mcpMessage
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "mcp: the host sent garbage:", string(line))
			syscall.Exit(9)
		}
		s.message(&m)
	}
}

func (s *mcpServer) message(m *mcpMessage) {
	modern, handshake := s.kind == MCPModern || s.kind == MCPBoth, s.kind != MCPModern
	switch {
	case m.Method == "server/discover" && modern:
		s.say(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"small","version":"1.2.3"}}}`)
	case m.Method == "initialize" && handshake:
		s.say(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"name":"small","version":"1.2.3"},"instructions":"A small server."}`)
	case m.Method == "server/discover" && s.kind == MCPFragile:
		fmt.Fprintln(os.Stderr, "mcp: never heard of", m.Method)
		syscall.Exit(5)
	case m.Method == "" && string(m.ID) == `"q1"`:
		s.say(s.waiting["q1"], text("the answer was "+string(m.Result)))
	case m.Method == "notifications/cancelled":
		Record("cancelled " + string(m.Params.RequestID) + "\n")
	case m.Method == "subscriptions/listen" && modern:
		s.listen = m.ID
		s.tell("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, m.ID))
	case len(m.ID) > 0:
		s.request(m)
	}
}

func (s *mcpServer) request(m *mcpMessage) {
	switch m.Method {
	case "ping", "logging/setLevel", "resources/subscribe":
		s.say(m.ID, `{}`)
	case "tools/list":
		s.say(m.ID, s.tools())
	case "tools/call":
		s.call(m)
	case "prompts/list":
		s.say(m.ID, `{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who"}]}]}`)
	case "prompts/get":
		s.say(m.ID, fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":"Greet %s by %s."}}]}`, m.Params.Arguments["who"], m.Params.Name))
	case "resources/list":
		s.say(m.ID, `{"resources":[{"uri":"memo://one","name":"one"}]}`)
	case "resources/templates/list":
		s.say(m.ID, `{"resourceTemplates":[{"uriTemplate":"memo://{name}","name":"any"}]}`)
	case "resources/read":
		s.say(m.ID, fmt.Sprintf(`{"contents":[{"uri":%q,"text":"a memo"}]}`, m.Params.URI))
	default:
		s.fault(m.ID, -32601, "Method not found", `null`)
	}
}

func (s *mcpServer) tools() string {
	names := []string{"echo", "picture", "slow", "ask", "grow", "getenv", "where", "fail", "refuse", "crash", "log", "huge"}
	if s.grown {
		names = append(names, "grown")
	}
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"title":"T","description":"does %s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name, name))
	}
	return `{"tools":[` + strings.Join(list, ",") + `]}`
}

func (s *mcpServer) call(m *mcpMessage) {
	switch m.Params.Name {
	case "echo":
		s.say(m.ID, text(m.Params.Arguments["text"]))
	case "picture":
		s.say(m.ID, `{"content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"n":1}}`)
	case "slow":
		for i := range 2 {
			s.tell("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":3}`, m.Params.Meta.Token, i+1))
		}
		if m.Params.Arguments["end"] != "" {
			s.say(m.ID, text("done"))
		}
	case "ask":
		s.ask(m)
	case "grow":
		s.grown = true
		s.tell("notifications/tools/list_changed", s.changed())
		s.say(m.ID, text("grown"))
	case "getenv":
		s.say(m.ID, text(os.Getenv(m.Params.Arguments["name"])))
	case "where":
		dir, _ := os.Getwd()
		s.say(m.ID, text(dir))
	case "fail":
		s.say(m.ID, `{"content":[{"type":"text","text":"it did not work"}],"isError":true}`)
	case "refuse":
		s.fault(m.ID, -32021, "something is missing", `{"requiredCapabilities":{"sampling":{}}}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "mcp: boom")
		syscall.Exit(7)
	case "log":
		s.tell("notifications/message", `{"level":"info","data":"a line"}`)
		s.say(m.ID, text("logged"))
	case "huge":
		s.say(m.ID, text(strings.Repeat("x", 17<<20)))
	default:
		s.fault(m.ID, -32602, "no such tool", `null`)
	}
}

// ask asks a question in the way of the server's kind.
func (s *mcpServer) ask(m *mcpMessage) {
	const question = `{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	switch {
	case s.kind == MCPHandshake || s.kind == MCPFragile:
		s.waiting["q1"] = m.ID
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":%s}`, question))
	case m.Params.State == "s1":
		s.say(m.ID, text("the answer was "+string(m.Params.Inputs)))
	default:
		s.say(m.ID, `{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":`+question+`}},"requestState":"s1"}`)
	}
}

func (s *mcpServer) changed() string {
	if s.listen != nil {
		return fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, s.listen)
	}
	return `{}`
}

func text(t string) string {
	content, _ := json.Marshal(t) // cannot fail
	return `{"content":[{"type":"text","text":` + string(content) + `}]}`
}

func (s *mcpServer) say(id json.RawMessage, result string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (s *mcpServer) fault(id json.RawMessage, code int, message, data string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, id, code, message, data))
}

func (s *mcpServer) tell(method, params string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

func (s *mcpServer) write(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Println(line)
}

// MCPKinds returns all kinds.
func MCPKinds() []string {
	return slices.Clone([]string{MCPHandshake, MCPModern, MCPBoth, MCPFragile})
}
