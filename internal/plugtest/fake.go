package plugtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// fakePrefix marks the names under which a test binary is a plugin.
const fakePrefix = "fake-"

// A Fake is a plugin of a JSON-RPC dialect that the test binary plays. The name under which it is
// started says how it misbehaves: "fake-hang" hangs.
type Fake struct {
	// Answer returns the answer of a plugin that behaves. name is the name under which it was
	// started.
	Answer func(name, method string, params json.RawMessage) any
	// Target is the method at which it misbehaves.
	Target string
	// Huge is a size over the dialect's limit for a message.
	Huge int
}

// Main is TestMain for a dialect. It plays the fake if the test binary was started under a fake's
// name; otherwise it runs the tests and looks for leaks.
func Main(m *testing.M, f Fake) {
	PlayPart()
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if strings.HasPrefix(name, fakePrefix) {
		f.play(name)
		syscall.Exit(0) // os.Exit takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// InstallFake copies the test binary into dir under the name of a behaviour.
func InstallFake(t testing.TB, dir, behaviour string) (path string) {
	t.Helper()
	path = filepath.Join(dir, fakePrefix+behaviour)
	InstallSelf(t, path)
	return path
}

// A message is a message of the host.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// player plays a fake. It belongs to one goroutine.
type player struct {
	Fake
	name string
	late string // a reply that is held until the next request
}

func (f Fake) play(name string) {
	p := &player{Fake: f, name: name}
	p.beforeReading()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			p.afterStdin()
			return
		}
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			fmt.Fprintln(os.Stderr, "fake: host sent garbage:", line)
			syscall.Exit(9)
		}
		p.serve(&m)
	}
}

func (p *player) behaviour() string { return strings.TrimPrefix(p.name, fakePrefix) }

// beforeReading plays the behaviours that begin before the fake reads anything.
func (p *player) beforeReading() {
	switch p.behaviour() {
	case "banner":
		fmt.Println("Welcome to the fake plugin!\n{ not json")
	case "exit-at-start":
		fmt.Fprintln(os.Stderr, "fake: no licence")
		syscall.Exit(3)
	case "ignore-sigterm":
		signal.Ignore(syscall.SIGTERM)
	}
}

// afterStdin runs after the end of stdin. A fake that ignores SIGTERM does not end then either.
func (p *player) afterStdin() {
	if p.behaviour() == "ignore-sigterm" {
		select {}
	}
}

func (p *player) serve(m *message) {
	if p.late != "" {
		fmt.Println(p.late)
		p.late = ""
	}
	if len(m.ID) == 0 {
		return // a notification
	}
	result := p.Answer(p.name, m.Method, m.Params)
	reply := encode(m.ID, result)
	switch {
	case m.Method == p.Target:
		p.misbehave(m, reply)
	case m.Method == "initialize" && p.behaviour() == "hang-at-start":
		select {}
	case m.Method == "initialize" && p.behaviour() == "garbage-at-start":
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":42}`)
	default:
		fmt.Println(reply)
	}
	if m.Method == "shutdown" && p.behaviour() != "ignore-sigterm" {
		syscall.Exit(0)
	}
}

// misbehave answers the target method as the name says. It does so only the first time, so that a
// test can see the plugin work afterwards.
func (p *player) misbehave(m *message, reply string) {
	if p.didBefore() {
		fmt.Println(reply)
		return
	}
	switch p.behaviour() {
	case "hang": // no answer at all
	case "late-reply":
		p.late = reply
	case "bad-json":
		fmt.Println(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"unfinished":`)
	case "no-result":
		fmt.Println(`{"jsonrpc":"2.0","id":` + string(m.ID) + `}`)
	case "wrong-type":
		fmt.Println(encode(m.ID, []int{1, 2}))
	case "half-line":
		fmt.Print(reply[:len(reply)/2])
		syscall.Exit(4)
	case "no-newline":
		fmt.Print(reply)
		syscall.Exit(0)
	case "huge":
		fmt.Println(encode(m.ID, map[string]string{"text": strings.Repeat("x", p.Huge)}))
	case "crash":
		fmt.Fprintln(os.Stderr, "fake: boom")
		syscall.Exit(7)
	case "kill-self":
		syscall.Exit(KillSelf())
	case "fork-and-exit":
		p.fork()
		syscall.Exit(5)
	case "close-stdout":
		os.Stdout.Close()
	case "stderr-flood":
		flood()
		fmt.Println(reply)
	case "reply-twice":
		fmt.Println(reply + "\n" + reply)
	case "wrong-id":
		fmt.Println(strings.Replace(reply, `"id":`+string(m.ID), `"id":4711`, 1))
	case "interleaved":
		fmt.Println("DEBUG something\n\n[1,2]\n\"text\"\n{\"half\":\n" + reply)
	case "notify":
		fmt.Println(`{"jsonrpc":"2.0","method":"fake.event","params":{"n":1}}` + "\n" + reply)
	case "request":
		fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"fake.ask","params":{}}` + "\n" + reply)
	case "error":
		fmt.Println(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32000,"message":"fake says no"}}`)
	case "slow-line":
		for _, b := range []byte(reply + "\n") {
			os.Stdout.Write([]byte{b})
		}
	default:
		fmt.Println(reply)
	}
}

// didBefore reports whether this fake has misbehaved before, in this process or in an earlier one:
// a file beside the fake records it.
func (p *player) didBefore() bool {
	f, err := os.OpenFile(os.Args[0]+".did", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return true
	}
	f.Close()
	return false
}

// fork starts a process that outlives the fake and holds its stdout open.
func (p *player) fork() {
	c := exec.Command("sleep", "300")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "fake: sleep:", err)
	}
}

// flood writes 8 MiB to stderr, with a line that is too long for any log.
func flood() {
	line := strings.Repeat("e", 1000) + "\n"
	for range 4 << 10 {
		os.Stderr.WriteString(line)
	}
	os.Stderr.WriteString(strings.Repeat("f", 4<<20) + "\n")
}

func encode(id json.RawMessage, result any) string {
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err) // the fake wrote it itself
	}
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + string(raw) + `}`
}
