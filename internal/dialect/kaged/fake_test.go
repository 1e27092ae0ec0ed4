package kaged

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// fakeVariable names the behaviour of a fake. The env of its manifest sets it.
const fakeVariable = "KAGED_FAKE"

// receivedFile is the file in which a fake records every line it is sent.
const receivedFile = "received.jsonl"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(fakeVariable); behaviour != "" {
		(&fake{behaviour: behaviour}).play()
		syscall.Exit(0)
	}
	plugtest.Main(m, plugtest.Fake{Answer: wellBehaved, Target: hookPrefix + "on_session_start", Huge: maxMessage + 1})
}

// A fake is a kaged plugin that the test binary plays. It answers every request, except as its
// behaviour says.
type fake struct {
	behaviour string
	mu        sync.Mutex // protects out and asked
	out       *bufio.Writer
	held      string                      // out-of-order: the reply that waits for the next request
	asked     map[string]chan fakeMessage // answers to the fake's requests, by id
	received  *os.File
}

type fakeMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *wire.RPCError  `json:"error,omitempty"`
}

func (f *fake) play() {
	f.out = bufio.NewWriter(os.Stdout)
	f.asked = map[string]chan fakeMessage{}
	var err error
	if f.received, err = os.OpenFile(receivedFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "fake:", err)
		syscall.Exit(9)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			f.end()
			return
		}
		f.take(line)
	}
}

// end is called when stdin ends.
func (f *fake) end() {
	if f.behaviour == "ignores-shutdown" {
		time.Sleep(time.Hour) // until a signal
	}
}

func (f *fake) take(line []byte) {
	if len(line) < 1<<16 {
		f.received.Write(line)
	}
	var m fakeMessage
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, "fake: host sent garbage:", err)
		syscall.Exit(9)
	}
	switch {
	case m.Method == "" && len(m.ID) > 0:
		f.answered(m)
	case len(m.ID) == 0:
		f.notified(&m)
	default:
		f.request(&m)
	}
}

// answered takes the host's answer to a request of the fake.
func (f *fake) answered(m fakeMessage) {
	f.mu.Lock()
	answer := f.asked[string(m.ID)]
	f.mu.Unlock()
	answer <- m
}

// notified takes a notification of the host.
func (f *fake) notified(m *fakeMessage) {
	if m.Method == methodInitialized && f.behaviour == "notify-flood" {
		go func() {
			for i := range 10000 {
				f.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"fake.tick","params":{"n":%d}}`, i))
			}
		}()
	}
}

func (f *fake) request(m *fakeMessage) {
	switch f.behaviour + " " + m.Method {
	case "crash-at-initialize initialize":
		fmt.Fprintln(os.Stderr, "fake: no database")
		syscall.Exit(3)
	case "hang-at-initialize initialize":
		fmt.Fprintln(os.Stderr, "fake: waiting for a database")
		return
	case "refuses-initialize initialize":
		f.fail(m, -32000, "no licence")
		return
	case "no-health health.check":
		if _, err := os.Stat("revived"); err != nil {
			os.WriteFile("revived", nil, 0o644)
			return
		}
	case "one-at-a-time fake.hang":
		for {
			if _, err := os.Stat("go-on"); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		f.result(m, nil)
		return
	case "health-error health.check":
		f.fail(m, codeNoMethod, "what is that?")
		return
	case "refuses-shutdown shutdown":
		f.fail(m, codeNoMethod, "what is that?")
		return
	case "ignores-shutdown shutdown":
		return
	case "answers-shutdown-and-stays shutdown":
		f.behaviour = "ignores-shutdown"
	case "out-of-order fake.echo":
		if f.held == "" {
			f.held = reply(m, m.Params)
			return
		}
		f.write(reply(m, m.Params) + "\n" + f.held)
		f.held = ""
		return
	}
	f.behave(m)
}

// behave does what every fake can do.
func (f *fake) behave(m *fakeMessage) {
	switch m.Method {
	case methodInitialize:
		f.result(m, f.welcome())
	case "fake.echo":
		f.result(m, m.Params)
	case "fake.environment":
		dir, _ := os.Getwd()
		f.result(m, map[string]any{"dir": dir, "env": os.Environ(), "args": os.Args[1:]})
	case "fake.hang":
	case "fake.crash":
		fmt.Fprintln(os.Stderr, "fake: out of cheese")
		syscall.Exit(7)
	case "fake.refuse":
		f.fail(m, -32000, "I would rather not")
	case "fake.notify":
		f.write(`{"jsonrpc":"2.0","method":"fake.tick","params":{"n":1}}` + "\n" + `{"jsonrpc":"2.0","method":"fake.rumour"}`)
		f.result(m, nil)
	case "fake.ask":
		go func() { f.result(m, f.ask(m.Params)) }() // the answer arrives on the reading goroutine
	case "fake.text":
		f.result(m, "plain text")
	default:
		f.result(m, json.RawMessage(m.Params))
	}
}

func (f *fake) welcome() map[string]any {
	name := filepath.Base(must(os.Getwd()))
	w := map[string]any{"name": name, "version": "1.0.0", "api_version": 1, "methods": fakeMethods,
		"notifications": []string{"fake.tick"}, "capabilities_used": []string{}}
	switch f.behaviour {
	case "another-api":
		w["api_version"] = 2
	case "no-api":
		delete(w, "api_version")
	case "differs":
		w["version"], w["methods"], w["capabilities_used"] = "9.9.9", []string{"fake.surprise"}, []string{"net:*"}
	}
	return w
}

// ask sends a request to the host and returns the answer, which may be an error.
func (f *fake) ask(request json.RawMessage) any {
	var m fakeMessage
	if err := json.Unmarshal(request, &m); err != nil {
		return err.Error()
	}
	answer := make(chan fakeMessage, 1)
	id := fmt.Sprintf(`"q%d"`, time.Now().UnixNano())
	f.mu.Lock()
	f.asked[id] = answer
	f.mu.Unlock()
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, m.Method, m.Params))
	a := <-answer
	return map[string]any{"result": a.Result, "error": a.Error}
}

func (f *fake) result(m *fakeMessage, v any) { f.write(reply(m, v)) }

func (f *fake) fail(m *fakeMessage, code int, message string) {
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, message))
}

func (f *fake) write(lines string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteString(lines + "\n")
	f.out.Flush()
}

func reply(m *fakeMessage, v any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, must(json.Marshal(v)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fakeMethods are the methods that every fake declares and has.
var fakeMethods = []string{"fake.echo", "fake.environment", "fake.hang", "fake.crash", "fake.refuse", "fake.notify", "fake.ask"}

// testingEnv returns the variables that the test binary needs in order to run as a plugin.
func testingEnv() string {
	env := "GORACE: atexit_sleep_ms=0" // otherwise the race detector delays the exit by a second
	if testing.CoverMode() != "" {
		env += ", GOCOVERDIR: ." // otherwise each exit prints a complaint to stderr
	}
	return env
}

// fakeManifest returns the manifest of a fake, followed by more.
func fakeManifest(name, behaviour, more string) string {
	self := must(json.Marshal(must(os.Executable())))
	env := fakeVariable + ": " + behaviour + ", " + testingEnv()
	return fmt.Sprintf(`name: %s
version: 1.0.0
kaged_api: 1
description: a fake
command: [%s]
env: {%s}
methods: [%s]
notifications: [fake.tick]
shutdown_timeout_sec: 1
%s
`, name, self, env, strings.Join(fakeMethods, ", "), more)
}

// A rig is a host for one fake.
type rig struct {
	t        *testing.T
	dialect  *Dialect
	runtime  *dialect.Runtime
	log      *plugtest.Log
	settings dialect.Settings
	dir      string // the plugin's directory
	found    dialect.Found
}

// newRig installs a fake whose name is its behaviour.
func newRig(t *testing.T, behaviour, more string) *rig {
	t.Helper()
	home := t.TempDir()
	const busy = time.Minute // a busy machine starts a plugin slowly
	r := &rig{t: t, dialect: &Dialect{handshake: busy, health: busy}, log: &plugtest.Log{}, runtime: plugtest.Runtime(t, home)}
	r.dir = place(t, home, behaviour, "manifest.yaml", fakeManifest(behaviour, behaviour, more))
	r.runtime.Log = newLogger(r.log)
	r.found = foundAs(t, r.dialect.Find(r.runtime.Env), behaviour)
	if r.found.State != "" {
		t.Fatalf("the fake is %s: %v", r.found.State, r.found.Err)
	}
	return r
}

func (r *rig) manifest() *Manifest { return r.found.Manifest.(*Manifest) }

// open opens the fake. It is closed when the test ends.
func (r *rig) open() *plugin {
	r.t.Helper()
	p, err := r.dialect.Open(r.t.Context(), r.found, r.settings, r.runtime)
	if err != nil {
		r.t.Fatalf("open: %v\nlog:\n%s", err, r.log)
	}
	r.t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil { // the test's own context has ended by now
			r.t.Errorf("close: %v", err)
		}
		if r.t.Failed() {
			r.t.Logf("log:\n%s", r.log)
		}
	})
	return p.(*plugin)
}

// refused opens a fake that must not open, and returns the error.
func (r *rig) refused() error {
	r.t.Helper()
	p, err := r.dialect.Open(r.t.Context(), r.found, r.settings, r.runtime)
	if err == nil {
		p.Close(r.t.Context())
		r.t.Fatal("a plugin that must be refused was opened")
	}
	return err
}

// received returns the messages that the fake was sent so far.
func (r *rig) received() []fakeMessage {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, receivedFile))
	if err != nil {
		r.t.Fatal(err)
	}
	var all []fakeMessage
	for line := range strings.Lines(string(data)) {
		var m fakeMessage
		if json.Unmarshal([]byte(line), &m) == nil { // the last line may be half written
			all = append(all, m)
		}
	}
	return all
}

// count returns how often the fake was sent a method.
func (r *rig) count(method string) int {
	all := r.received()
	return len(slices.DeleteFunc(all, func(m fakeMessage) bool { return m.Method != method }))
}
