//go:build linux

package plugtest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Faulty plugins of the two dialects that start a process for each call.

// once serves the only call of this process.
func (p *faulty) once() {
	if p.is(AtStart) {
		p.act(nil)
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault: stdin:", err)
		quit(9)
	}
	moment, result := p.invocation(stdin)
	if moment == InShutdown {
		p.note(endWord + " " + p.plugin)
	}
	s := &faultyCall{result: result}
	if p.is(moment) {
		p.act(s)
	} else {
		fmt.Println(s.reply())
	}
	if moment == InHook && p.is(AfterHook) {
		p.act(nil)
	}
}

// invocation returns the moment of this call, and the answer of a plugin that behaves.
func (p *faulty) invocation(stdin []byte) (Moment, string) {
	if p.dialect == Dotagent {
		return p.verb(os.Args[len(os.Args)-1])
	}
	var in struct{ Type, Event string }
	if err := json.Unmarshal(stdin, &in); err != nil {
		fmt.Fprintln(os.Stderr, "fault: the host sent garbage:", err)
		quit(9)
	}
	switch in.Type + " " + in.Event {
	case "lifecycle init":
		return InHandshake, `{"status":"ok"}`
	case "lifecycle health":
		return InHealth, `{"status":"ok"}`
	case "lifecycle shutdown":
		return InShutdown, `{"status":"ok"}`
	}
	return InHook, `{"status":"ok","context":{"flags":{"touched":"by ` + p.plugin + `"}}}`
}

func (p *faulty) verb(verb string) (Moment, string) {
	switch verb {
	case "info":
		return InHandshake, `{"name":"` + p.plugin + `","version":"1.0.0","kinds":["preflight"]}`
	case "validate":
		return AfterHandshake, `{"ok":true}`
	}
	return InHook, `{"ok":true}`
}
