//go:build unix

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The fakes are the test binary itself. The name under which it is started says its dialect and its
// fault: "scaffold-wrong-id". "fine" has no fault.
func TestMain(m *testing.M) {
	base := filepath.Base(os.Args[0])
	for prefix, play := range map[string]func(string){
		"scaffold-": playScaffold, "kaged-": playKaged, "mcp-": playMCP, "dotagent-plugin-": playDotagent, "mine-plugin-": playMine,
	} {
		if fault, ok := strings.CutPrefix(base, prefix); ok {
			play(fault)
			syscall.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// A fakeRPC is a plugin that speaks JSON-RPC.
type fakeRPC struct {
	fault  string
	answer func(method string, params json.RawMessage) (result string, err string) // each is JSON; one of them is empty
	silent func(method string) bool                                                // whether it does not answer a method; may be nil
	first  string                                                                  // the method of the handshake
	mu     sync.Mutex                                                              // protects the held answers
	held   bytes.Buffer
	stdin  counted
	busy   atomic.Int32
	closed bool // it was asked to end
}

// fakeMessage is a message of the host.
type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (f *fakeRPC) play() {
	switch f.fault {
	case "banner":
		fmt.Println("Welcome!")
	case "lock":
		lock, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			fmt.Fprintln(os.Stderr, "another one is running")
			syscall.Exit(3)
		}
	}
	if f.fault == "asks-in-pieces" { // it asks the host something while a line comes in pieces
		f.stdin.half = func() {
			f.write(`{"jsonrpc":"2.0","id":"q1","method":"kaged.storage.get","params":{"key":"a"}}`)
		}
	}
	in := bufio.NewReaderSize(&f.stdin, 1<<20)
	var work sync.WaitGroup
	for {
		line, err := f.read(in)
		if err != nil {
			break
		}
		var m fakeMessage
		if json.Unmarshal(line, &m) != nil {
			f.garbled()
			continue
		}
		if f.fault == "drops" && len(m.ID) > 0 {
			work.Go(func() { f.slowly(&m) })
			continue
		}
		f.serve(&m)
	}
	work.Wait()
	f.end()
}

// read reads a line.
func (f *fakeRPC) read(in *bufio.Reader) ([]byte, error) {
	before := f.stdin.reads
	line, err := in.ReadBytes('\n')
	if err == nil && f.fault == "pieces" && f.stdin.reads > before+1 && len(line) < 4096 {
		return f.read(in) // a line that did not arrive in one piece is lost
	}
	if err == nil && f.fault == "short-lines" && len(line) > 64<<10 {
		fmt.Fprintln(os.Stderr, "token too long")
		syscall.Exit(2)
	}
	return line, err
}

// counted is stdin that counts its reads.
type counted struct {
	reads int
	half  func() // called after a read that ends within a short line; nil: nothing is called
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	n, err := os.Stdin.Read(p)
	if c.half != nil && n > 0 && n < 4096 && p[n-1] != '\n' {
		c.half()
	}
	return n, err
}

func (f *fakeRPC) garbled() {
	switch f.fault {
	case "garbled-dies":
		fmt.Fprintln(os.Stderr, "not JSON")
		syscall.Exit(4)
	case "garbled-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	}
}

// end runs when stdin has ended.
func (f *fakeRPC) end() {
	os.Stdout.Write(f.held.Bytes())
	if f.fault == "stays-at-eof" && !f.closed || f.fault == "stays-after-shutdown" && f.closed {
		time.Sleep(time.Hour) // the planted fault: it hangs
	}
	if f.fault == "crashes-at-eof" && !f.closed {
		crash()
	}
	if f.fault == "leaves" {
		child := exec.Command("sleep", "300")
		if err := child.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if f.fault == "exit-code" && f.closed {
		syscall.Exit(9)
	}
}

// slowly answers late, and loses the requests that come meanwhile.
func (f *fakeRPC) slowly(m *fakeMessage) {
	if f.busy.Add(1) > 1 {
		return
	}
	time.Sleep(30 * time.Millisecond) // the planted fault: it is slow
	f.busy.Store(0)
	f.serve(m)
}

func (f *fakeRPC) serve(m *fakeMessage) {
	if m.Method == "" {
		return // an answer of the host
	}
	if len(m.ID) == 0 {
		if f.fault == "answers-notifications" {
			f.write(`{"jsonrpc":"2.0","id":null,"result":{}}`)
		}
		return
	}
	f.closed = f.closed || m.Method == "shutdown"
	known := m.Method == f.first || m.Method == "shutdown"
	switch {
	case m.Method == f.first && f.fault == "hang-start", m.Method == "shutdown" && f.fault == "no-shutdown", f.silent != nil && f.silent(m.Method):
		return
	case m.Method == f.first && f.fault == "slow-start":
		time.Sleep(300 * time.Millisecond) // the planted fault: it is late
	case m.Method == f.first && f.fault == "start-error":
		f.write(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no licence"}}`)
		return
	case m.Method == f.first && f.fault == "start-text":
		f.write(`{"jsonrpc":"2.0","id":1,"result":"hello"}`)
		return
	}
	result, fault := f.answer(m.Method, m.Params)
	if strings.HasPrefix(m.Method, "conformance.") || m.Method == "conformance.ping" {
		switch {
		case known:
		case f.fault == "unknown-ok":
			result, fault = `{}`, ""
		case f.fault == "unknown-code":
			fault = `{"code":-1,"message":"what?"}`
		case f.fault == "unknown-silent" && m.Method == "conformance.no-such-method":
			return
		case f.fault == "unknown-dies" && m.Method == "conformance.no-such-method":
			syscall.Exit(6)
		}
	}
	f.reply(m, result, fault)
}

// reply writes an answer, changed by the fault.
func (f *fakeRPC) reply(m *fakeMessage, result, fault string) {
	body := `"result":` + result
	if fault != "" {
		body = `"error":` + fault
	}
	id, version := string(m.ID), `"jsonrpc":"2.0",`
	switch f.fault {
	case "latin-1":
		body += ",\"note\":\"caf\xe9\""
	case "no-version":
		version = ""
	case "both":
		if fault == "" && result != "null" {
			body += `,"error":{"code":1,"message":"and yet"}`
		}
	case "neither":
		body = `"answer":{}`
	case "error-text":
		if fault != "" {
			body = `"error":"went wrong"`
		}
	case "wrong-id":
		if m.Method != f.first {
			id = "4711"
		}
	case "text-id":
		id = `"` + id + `"`
	case "debug":
		fmt.Println("DEBUG: " + m.Method)
	}
	text := "{" + version + `"id":` + id + "," + body + "}"
	if f.fault == "no-id" {
		text = "{" + version + body + "}"
	}
	switch f.fault {
	case "pretty":
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil {
			text = b.String()
		}
	case "twice":
		text += "\n" + text
	}
	f.write(text)
}

func (f *fakeRPC) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.fault {
	case "no-flush":
		f.held.WriteString(text + "\n")
	case "no-newline":
		fmt.Print(text)
	default:
		fmt.Println(text)
	}
}

// noMethod is the error for a method that does not exist.
const noMethod = `{"code":-32601,"message":"no such method"}`

// secret returns the path of a file outside of the plugin.
func secret() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(filepath.Dir(self)), "secret")
}

// beside returns a file in the plugin's own directory, which the plugin may read and not write.
func beside() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(self), "written")
}

// ignoreTerm makes the process ignore SIGTERM.
func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }
