package model

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// maxDelay limits the pause before each word, so that a wrong unit is an error.
const maxDelay = 10 * time.Second

// A Script lists the replies of the offline model. As a file it is a YAML list:
//
//	[
//	  {text: Let me look., tools: [{name: read_file, arguments: {path: go.mod}}]},
//	  {text: It is a Go module., delay: 20ms},
//	]
//
// or the same with dashes.
type Script []Scripted

// Scripted is one reply of a script.
type Scripted struct {
	Text  string
	Tools []ScriptedCall
	Delay time.Duration // before each word; 0: none
}

// A ScriptedCall is one tool call of a scripted reply.
type ScriptedCall struct {
	Name      string
	Arguments json.RawMessage // an object
}

// loadScript reads a script from a file.
func loadScript(path string) (Script, error) {
	data, err := plainfile.Read(path, document.MaxSize)
	if err != nil {
		return nil, err
	}
	return ParseScript(path, data)
}

// ParseScript parses a script. All its mistakes are in one [*document.Error].
func ParseScript(name string, data []byte) (Script, error) {
	file, err := document.YAMLList(name, "script", data)
	if err != nil {
		return nil, err
	}
	var script Script
	for _, item := range file.Self.Items() {
		script = append(script, scripted(item))
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	return script, nil
}

// scripted reads one reply.
func scripted(item document.Value) Scripted {
	const begin = `begin each reply with "- text: …" or "- tools: …"`
	if item.Kind() != document.Map || item.Len() == 0 {
		item.Bad(begin, "this is not a reply")
		return Scripted{}
	}
	t := &document.Table{Self: item}
	reply := Scripted{Text: t.Value("text").Words(), Delay: delay(t.Value("delay"))}
	if tools := t.Value("tools"); tools.Kind() != document.Null {
		reply.Tools = document.Each(tools, "", scriptedCall)
	}
	t.End()
	return reply
}

func delay(v document.Value) time.Duration {
	text := v.Words()
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDelay {
		v.Bad("write a number and a unit, as in 20ms", "%q is not a time from 0s to %s", document.Cut(text), maxDelay)
		return 0
	}
	return d
}

// scriptedCall reads one tool call of a reply.
func scriptedCall(item document.Value) (ScriptedCall, bool) {
	t, ok := item.Table("")
	if !ok {
		return ScriptedCall{}, false
	}
	call := ScriptedCall{Name: t.Value("name").Words(), Arguments: emptyObject}
	if kind := t.Value("name").Kind(); call.Name == "" && (kind == document.Null || kind == document.String) {
		t.Missing("name", "and the tool's name")
	}
	if arguments := t.Value("arguments"); arguments.Kind() != document.Null && arguments.Is(document.Map, "") {
		call.Arguments = arguments.JSON()
	}
	t.End()
	return call, true
}
