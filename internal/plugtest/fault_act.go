//go:build linux

package plugtest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// A faultyCall is a call in which a plugin misbehaves.
type faultyCall struct {
	id     string // of the request; "": the dialect has none
	result string // the right answer
}

// reply returns the right answer, as a line without its end.
func (s *faultyCall) reply() string { return s.with(s.result) }

// with returns a reply with another result.
func (s *faultyCall) with(result string) string {
	if s.id == "" {
		return result
	}
	return `{"jsonrpc":"2.0","id":` + s.id + `,"result":` + result + `}`
}

// act does what the fault's name says. s is nil if there is no call.
func (p *faulty) act(s *faultyCall) {
	do, ok := acts[p.Act]
	if !ok {
		fmt.Fprintln(os.Stderr, "fault: unknown act", p.Act)
		quit(9)
	}
	p.note(actWord)
	do(p, s)
}

// acts lists the misbehaviours for the dialects whose plugins are programs. Those that need a call
// do not work at moments without one. Those of the python dialect are in fault_python.go.
var acts = map[string]func(p *faulty, s *faultyCall){
	"crash":        func(*faulty, *faultyCall) { fmt.Fprintln(os.Stderr, "fault: boom"); quit(7) },
	"crash-always": func(*faulty, *faultyCall) { fmt.Fprintln(os.Stderr, "fault: boom, as ever"); quit(7) },
	"killed":       func(*faulty, *faultyCall) { quit(KillSelf()) },
	"hang":         func(*faulty, *faultyCall) { Hang() },
	"silence":      func(p *faulty, s *faultyCall) { p.skip() },

	"binary":      func(_ *faulty, _ *faultyCall) { os.Stdout.Write(garbage()) },
	"not-json":    func(_ *faulty, _ *faultyCall) { fmt.Println(`{"unfinished":`) },
	"wrong-types": func(_ *faulty, s *faultyCall) { fmt.Println(s.with(`[1,2]`)) },
	"deep":        func(_ *faulty, s *faultyCall) { fmt.Println(s.with(deep(100_000))) },
	"deep-valid":  func(_ *faulty, s *faultyCall) { fmt.Println(s.with(deep(9_997))) }, // encoding/json accepts it

	"half-line":      func(_ *faulty, s *faultyCall) { fmt.Print(s.reply()[:len(s.reply())/2]); quit(4) },
	"half-line-hang": func(_ *faulty, s *faultyCall) { fmt.Print(s.reply()[:len(s.reply())/2]); Hang() },
	"endless-line":   func(_ *faulty, s *faultyCall) { pour(os.Stdout, "x"); fmt.Println("\n" + s.reply()) },
	"huge":           func(_ *faulty, s *faultyCall) { fmt.Println(s.with(`{"x":"` + strings.Repeat("x", 20<<20) + `"}`)) },
	"many-tools":     func(_ *faulty, s *faultyCall) { fmt.Println(s.reply()) }, // the answer is the fault

	"stderr-flood":   func(_ *faulty, s *faultyCall) { pour(os.Stderr, strings.Repeat("e", 99)+"\n"); fmt.Println(s.reply()) },
	"stderr-endless": func(_ *faulty, s *faultyCall) { pour(os.Stderr, "e"); fmt.Println(s.reply()) },
	"notify-flood": func(_ *faulty, s *faultyCall) {
		repeat(100_000, `{"jsonrpc":"2.0","method":"fault.event","params":{"n":1}}`)
		fmt.Println(s.reply())
	},
	"request-flood": func(_ *faulty, s *faultyCall) {
		// The plugin does not read the answers meanwhile. Each answer contains its long id, so few
		// requests are enough for more answers than the host stores, and the flood is over before
		// the next check of the plugin's health.
		repeat(8_000, `{"jsonrpc":"2.0","id":"`+strings.Repeat("q", 1000)+`","method":"fault.ask","params":{}}`)
		fmt.Println(s.reply())
	},

	"fork-bomb":     func(p *faulty, s *faultyCall) { p.bomb(); fmt.Println(s.reply()) },
	"stray":         func(p *faulty, s *faultyCall) { p.stray(); fmt.Println(s.reply()) },
	"stubborn":      func(p *faulty, _ *faultyCall) { signal.Ignore(syscall.SIGTERM); p.stays = true },
	"stubborn-hang": func(*faulty, *faultyCall) { signal.Ignore(syscall.SIGTERM); Hang() },

	"close-stdin":  func(_ *faulty, s *faultyCall) { os.Stdin.Close(); fmt.Println(s.reply()); Hang() },
	"close-stdout": func(*faulty, *faultyCall) { os.Stdout.Close(); Hang() },

	"reply-twice":  func(_ *faulty, s *faultyCall) { fmt.Println(s.reply() + "\n" + s.reply()) },
	"late":         func(p *faulty, s *faultyCall) { p.late = append(p.late, s.reply()) },
	"out-of-order": func(p *faulty, s *faultyCall) { p.kept = append(p.kept, s.reply()) },
	"wrong-id":     func(_ *faulty, s *faultyCall) { s.id = "4711"; fmt.Println(s.reply()) },

	"disk-full": func(*faulty, *faultyCall) {
		fmt.Fprintln(os.Stderr, "fault:", os.WriteFile("/dev/full", []byte("mine"), 0))
		quit(28) // ENOSPC
	},
	"rewrite": func(p *faulty, s *faultyCall) { p.rewrite(); fmt.Println(s.reply()) },
}

// skip gives no answer. A process that would end after its answer goes on running.
func (p *faulty) skip() {
	if p.dialect == Mine || p.dialect == Dotagent {
		Hang()
	}
}

// floodSize is the size of a flood: far above the limit of every dialect, and more than a host may
// store.
const floodSize = 100 << 20

// pour writes a flood of one text.
func pour(w io.Writer, text string) {
	chunk := []byte(strings.Repeat(text, (64<<10)/len(text)))
	for n := 0; n < floodSize; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			quit(5) // the host has closed its end
		}
	}
}

// repeat writes a line n times.
func repeat(n int, line string) {
	chunk := []byte(strings.Repeat(line+"\n", 100))
	for range n / 100 {
		if _, err := os.Stdout.Write(chunk); err != nil {
			quit(5)
		}
	}
}

// garbage returns 64 KiB of random bytes, always the same, without an opening brace, and a newline.
func garbage() []byte {
	random := rand.NewChaCha8([32]byte{1})
	out := make([]byte, 64<<10)
	_, _ = random.Read(out) // never fails
	return append(bytes.ReplaceAll(out, []byte{'{'}, []byte{0}), '\n')
}

// deep returns an object with that many levels.
func deep(levels int) string {
	return `{"x":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}

// The fork bomb is limited, for the sake of the machine.
const (
	bombShort = 100 // processes that end at once
	bombLong  = 100 // processes that would stay for minutes, every other one in its own session
)

func (p *faulty) bomb() {
	for range bombShort {
		_ = exec.Command("true").Run() // its exit status does not matter
	}
	for i := range bombLong {
		p.leave(exec.Command("sleep", "300"), i%2 == 0)
	}
}

// stray runs a shell in its own session, with only PATH in the environment. The shell ends, and
// leaves a process that holds the plugin's pipes.
func (p *faulty) stray() {
	c := exec.Command("sh", "-c", "sleep 300 & echo $! >&3; exec sleep 0")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	read, write, err := os.Pipe()
	if err != nil {
		quit(9)
	}
	c.ExtraFiles = []*os.File{write}
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "fault: sh:", err)
		quit(9)
	}
	var pid int
	if _, err := fmt.Fscan(read, &pid); err != nil {
		quit(9)
	}
	p.note(fmt.Sprintf("%s %d", pidWord, pid))
}

// leave starts a process and does not wait for it.
func (p *faulty) leave(c *exec.Cmd, session bool) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "fault: fork:", err)
		return // a limit refused it, which is right
	}
	p.note(fmt.Sprintf("%s %d", pidWord, c.Process.Pid))
}

// rewrite damages the plugin's own files: its manifest, or its program if it has no manifest.
func (p *faulty) rewrite() {
	own := map[string]string{Kaged: "manifest.yaml", Mine: "mine-plugin.toml"}[p.dialect]
	path := filepath.Join(filepath.Dir(os.Args[0]), own)
	if own == "" {
		path = os.Args[0]
	}
	if err := os.Remove(path); err != nil { // a program that runs cannot be written to
		quit(9)
	}
	if err := os.WriteFile(path, []byte("#!/no/such/interpreter\nname: [\n"), 0o755); err != nil {
		quit(9)
	}
}

// quit ends the process. os.Exit waits a second for the race detector.
func quit(code int) { syscall.Exit(code) }
