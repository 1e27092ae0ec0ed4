package plugintest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// Options set the config, the secrets and the environment of a plugin.
type Options struct {
	Config  any               // a struct or a map; nil: none
	Secrets any               // for kaged; for other dialects put them into Env
	Env     map[string]string // variables beside HOME
}

// A Host is one process of a plugin, in one dialect.
type Host struct {
	Dialect plugin.Dialect
	Home    string // its home directory

	t       testing.TB
	plugin  *plugin.Plugin
	options Options
	stderr  *buffer

	in      *io.PipeWriter // nil: a process for each call
	exited  chan int
	mu      sync.Mutex // protects the fields below
	next    int
	waiting map[int]chan answer
	told    []Notification
	storage map[string]json.RawMessage
}

// A Notification is a notification of the plugin.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type answer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	line string
}

// patience limits how long the plugin may take for one answer.
const patience = 30 * time.Second

// Each runs a test in every dialect in which the plugin offers something, each with a new plugin.
func Each(t *testing.T, make func() *plugin.Plugin, test func(t *testing.T, h *Host)) {
	t.Helper()
	for _, d := range make().Speaks() {
		t.Run(string(d), func(t *testing.T) { test(t, New(t, make(), d, Options{})) })
	}
}

// New starts a plugin in a dialect. It ends with the test.
func New(t testing.TB, p *plugin.Plugin, d plugin.Dialect, options Options) *Host {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.Speaks(), d) {
		t.Fatalf("%s has nothing for %s", p.Name(), d)
	}
	h := &Host{Dialect: d, Home: t.TempDir(), t: t, plugin: p, options: options, stderr: &buffer{}, exited: make(chan int, 1),
		waiting: make(map[int]chan answer), storage: make(map[string]json.RawMessage)}
	if options.Config != nil && d != plugin.Kaged && d != plugin.Dotagent {
		h.writeConfig()
	}
	if d != plugin.Dotagent && d != plugin.Mine {
		h.start()
	}
	return h
}

func (h *Host) writeConfig() {
	h.t.Helper()
	file := filepath.Join(h.Home, ".config", h.plugin.Name(), "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, h.json(h.options.Config), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *Host) env(name string) string {
	if name == "HOME" {
		return h.Home
	}
	return h.options.Env[name]
}

// json encodes a value of the test.
func (h *Host) json(v any) json.RawMessage {
	h.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// start runs the plugin on pipes and makes the handshake.
func (h *Host) start() {
	h.t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	h.in = in
	go func() {
		code := h.plugin.Run(context.Background(), plugin.Process{Env: h.env, Stdin: stdin, Stdout: stdout, Stderr: h.stderr})
		_ = stdout.Close() // a pipe in memory: it cannot fail
		h.exited <- code
	}()
	go h.read(out)
	h.t.Cleanup(h.close)
	if a := h.request("initialize", h.greeting()); a.Error != nil {
		h.t.Fatalf("initialize: %s\n%s", a.Error.Message, h.stderr)
	}
}

func (h *Host) greeting() any {
	switch h.Dialect {
	case plugin.Kaged:
		return map[string]any{"daemon_version": "0", "api_version": 1, "plugin_name": h.plugin.Name(), "storage_available": true,
			"projects": []string{"test"}, "config": orEmpty(h.options.Config), "system_config": orEmpty(h.options.Secrets)}
	case plugin.Scaffold:
		return map[string]any{"protocol_version": 1}
	}
	return map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "plugintest", "version": "0"}}
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// close ends the plugin as a host does.
func (h *Host) close() {
	if h.Dialect != plugin.MCP {
		h.request("shutdown", map[string]any{})
	}
	_ = h.in.Close() // a pipe in memory: it cannot fail
	select {
	case code := <-h.exited:
		if code != 0 {
			h.t.Errorf("the plugin ended with code %d: %s", code, h.stderr)
		}
	case <-time.After(patience):
		h.t.Error("the plugin does not end with its stdin")
	}
}

// request sends a request and waits for its answer.
func (h *Host) request(method string, params any) answer {
	h.t.Helper()
	reply := make(chan answer, 1)
	h.mu.Lock()
	h.next++
	id := h.next
	h.waiting[id] = reply
	h.mu.Unlock()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":%d}`, method, h.json(params), id)
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
	select {
	case a, ok := <-reply:
		if !ok {
			h.t.Fatalf("%s was not answered: the plugin has ended\n%s", method, h.stderr)
		}
		return a
	case <-time.After(patience):
		h.t.Fatalf("%s was not answered within %s", method, patience)
	}
	return answer{}
}

// read handles what the plugin sends: answers, notifications, and requests for storage.
func (h *Host) read(out io.Reader) {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			answer
		}
		if err := json.Unmarshal(line, &m); err != nil {
			h.t.Errorf("the plugin wrote a line that is not a message: %q", line)
			continue
		}
		switch {
		case m.Method != "" && m.ID == nil:
			h.mu.Lock()
			h.told = append(h.told, Notification{m.Method, m.Params})
			h.mu.Unlock()
		case m.Method != "":
			h.serve(m.ID, m.Method, m.Params)
		default:
			m.line = string(bytes.TrimSpace(line))
			h.deliver(m.ID, m.answer)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, reply := range h.waiting {
		close(reply)
	}
	h.waiting = nil
}

func (h *Host) deliver(id json.RawMessage, a answer) {
	var n int
	if err := json.Unmarshal(id, &n); err != nil {
		h.t.Errorf("got an answer with the id %s, but sent no such request", id)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if reply := h.waiting[n]; reply != nil {
		delete(h.waiting, n)
		reply <- a
	}
}

// serve answers requests for storage.
func (h *Host) serve(id json.RawMessage, method string, params json.RawMessage) {
	var p struct {
		Key, Prefix string
		Value       json.RawMessage
	}
	_ = json.Unmarshal(params, &p) // missing fields are empty
	h.mu.Lock()
	var result any = map[string]any{}
	switch strings.TrimPrefix(method, "kaged.storage.") {
	case "get":
		result = map[string]any{"value": h.storage[p.Key]}
	case "put":
		h.storage[p.Key] = p.Value
	case "delete":
		delete(h.storage, p.Key)
	case "list":
		keys := []string{}
		for key := range h.storage {
			if strings.HasPrefix(key, p.Prefix) {
				keys = append(keys, key)
			}
		}
		result = map[string]any{"keys": keys}
	}
	h.mu.Unlock()
	text, err := json.Marshal(result)
	if err != nil {
		h.t.Errorf("the answer to %s: %v", method, err)
		return
	}
	go fmt.Fprintf(h.in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, text)
}

// Log returns the plugin's stderr.
func (h *Host) Log() string { return h.stderr.String() }

// Notifications returns the plugin's notifications (kaged).
func (h *Host) Notifications() []Notification {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
