//go:build linux

package plugtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Faulty plugins of the two JSON-RPC dialects, whose plugins keep running.

// serve answers the host, line by line, until its input ends.
func (p *faulty) serve() {
	if p.is(AtStart) {
		p.act(nil)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "fault: the host sent garbage:", err)
			quit(9)
		}
		if m.Method != "" { // otherwise it answers a request of ours
			p.take(&m)
		}
	}
	if p.stays {
		Hang()
	}
}

// handshakeEnd has, for each dialect, the last message of the handshake.
var handshakeEnd = map[string]string{Scaffold: "initialize", Kaged: "initialized"}

// take serves one message.
func (p *faulty) take(m *message) {
	p.send(&p.late)
	moment, result := p.answer(m.Method)
	if moment == InShutdown {
		p.note(endWord + " " + p.plugin)
	}
	kept := p.kept
	p.kept = nil
	if s := (&faultyCall{id: string(m.ID), result: result}); p.is(moment) {
		p.act(s)
	} else if s.id != "" {
		fmt.Println(s.reply())
	}
	p.send(&kept)
	switch {
	case m.Method == handshakeEnd[p.dialect]:
		p.afterHandshake()
	case moment == InHook && p.is(AfterHook):
		p.act(nil)
	case moment == InShutdown && !p.stays:
		quit(0)
	}
}

// send sends the held replies.
func (p *faulty) send(replies *[]string) {
	for _, r := range *replies {
		fmt.Println(r)
	}
	*replies = nil
}

// afterHandshake is called when the handshake is over.
func (p *faulty) afterHandshake() {
	if p.Moment == WhenTold {
		go p.await()
	}
	if p.is(AfterHandshake) {
		p.act(nil)
	}
}

// await waits for [Tell], and then misbehaves on its own goroutine.
func (p *faulty) await() {
	for {
		if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), toldFile)); err == nil && p.is(WhenTold) {
			p.act(nil)
			return
		}
		time.Sleep(5 * time.Millisecond) // between two checks
	}
}

// answer returns the answer of a plugin that behaves, and the moment of the call.
func (p *faulty) answer(method string) (Moment, string) {
	switch method {
	case "initialize":
		return InHandshake, p.welcome()
	case "hook/post_user_input":
		return InHook, `{"action":"continue","message":"touched by ` + p.plugin + `"}`
	case "kaged.hook.on_session_start":
		return InHook, `{"inject":"touched by ` + p.plugin + `"}`
	case "tool/execute":
		return InTool, `{"success":true,"result":"made by ` + p.plugin + `"}`
	case p.plugin + ".make":
		return InTool, `"made by ` + p.plugin + `"`
	case "health.check":
		return InHealth, `{}`
	case "shutdown":
		return InShutdown, `{}`
	}
	return "", `{}`
}

func (p *faulty) welcome() string {
	if p.dialect == Kaged {
		return `{"name":"` + p.plugin + `","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}`
	}
	tools := `{"name":"make"}`
	if p.Moment == InHandshake && p.Act == "many-tools" {
		tools = manyTools(tools)
	}
	return `{"name":"` + p.plugin + `","version":"1.0.0","hooks":["post_user_input"],"tools":[` + tools + `]}`
}

// manyTools returns a list of 20,000 tools after a first one.
func manyTools(first string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := range 20_000 {
		fmt.Fprintf(&b, `,{"name":"tool-%d","description":"one of very many","parameters":[{"name":"x","type":"string"}]}`, i)
	}
	return b.String()
}
