package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

const (
	// maxScript limits a script's file.
	maxScript = 1 << 20
	// maxScriptTokens limits its tokens, because some steps of the YAML parser take quadratic time.
	maxScriptTokens = 20_000
	// maxDelay limits the pause before each word, so that a wrong unit is an error.
	maxDelay = 10 * time.Second
)

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

// scriptEntry is a reply in the file.
type scriptEntry struct {
	Text  string `yaml:"text"`
	Tools []struct {
		Name      string         `yaml:"name"`
		Arguments map[string]any `yaml:"arguments"`
	} `yaml:"tools"`
	Delay string `yaml:"delay"`
}

// LoadScript reads a script from a file.
func LoadScript(path string) (Script, error) {
	data, err := plainfile.Read(path, maxScript)
	if err != nil {
		return nil, err
	}
	return ParseScript(path, data)
}

// ParseScript parses a script. Errors begin with name:line:column.
func ParseScript(name string, data []byte) (Script, error) {
	script, err := parseScript(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return script, nil
}

func parseScript(data []byte) (Script, error) {
	if len(data) > maxScript {
		return nil, at(nil, "make it shorter", "a script has at most %d bytes", maxScript)
	}
	if !utf8.Valid(data) {
		return nil, at(nil, "save the file as UTF-8", "a script must be UTF-8")
	}
	list, err := scriptList(string(data))
	if list == nil || err != nil {
		return nil, err
	}
	script := make(Script, 0, len(list.Values))
	for _, node := range list.Values {
		reply, err := scriptedReply(node)
		if err != nil {
			return nil, err
		}
		script = append(script, reply)
	}
	return script, nil
}

// scriptList parses the list of a script. It returns nil if the file is empty.
func scriptList(text string) (*ast.SequenceNode, error) {
	tokens := lexer.Tokenize(text)
	if err := usable(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, located(err)
	}
	var list *ast.SequenceNode
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		case *ast.SequenceNode:
			if list != nil {
				return nil, at(body.GetToken(), "write all replies into one list", "a script is one document, this is a second")
			}
			list = body
		default:
			return nil, at(body.GetToken(), beginReply, "a script is a list of replies")
		}
	}
	return list, nil
}

// usable returns an error for parts of YAML that a script does not need. With aliases a small file
// could unfold to gigabytes.
func usable(tokens token.Tokens) error {
	for i, tk := range tokens {
		switch {
		case i > maxScriptTokens:
			return at(tk, "make it shorter", "the script is too long: more than %d words and signs", maxScriptTokens)
		case tk.Type == token.InvalidType:
			return at(tk, checkYAML, "not valid YAML: %s", cut(tk.Error))
		case tk.Type == token.AnchorType, tk.Type == token.AliasType, tk.Type == token.MergeKeyType:
			return at(tk, "quote a text that begins with & or *", "anchors, aliases and merge keys are not allowed")
		case tk.Type == token.TagType:
			return at(tk, "quote a text that begins with !", "tags are not allowed")
		}
	}
	return nil
}

// scriptedReply parses one reply.
func scriptedReply(node ast.Node) (Scripted, error) {
	entry, ok := node.(*ast.MappingNode)
	if !ok || len(entry.Values) == 0 {
		return Scripted{}, at(node.GetToken(), beginReply, "this is not a reply")
	}
	var e scriptEntry
	if err := yaml.NodeToValue(entry, &e, yaml.Strict()); err != nil {
		return Scripted{}, located(err)
	}
	reply, err := e.reply()
	if err != nil {
		return Scripted{}, placed(entry.Values[0].Key.GetToken(), err)
	}
	return reply, nil
}

func (e *scriptEntry) reply() (Scripted, error) {
	reply := Scripted{Text: e.Text}
	if e.Delay != "" {
		d, err := time.ParseDuration(e.Delay)
		if err != nil || d < 0 || d > maxDelay {
			return reply, &scriptError{fmt.Sprintf("delay: %q is not a time from 0s to %s", cut(e.Delay), maxDelay), "write a number and a unit, as in 20ms"}
		}
		reply.Delay = d
	}
	for _, t := range e.Tools {
		if t.Name == "" {
			return reply, &scriptError{"a tool has no name", "write name: and the tool's name"}
		}
		call := ScriptedCall{Name: t.Name, Arguments: emptyObject}
		if len(t.Arguments) > 0 {
			var err error
			if call.Arguments, err = json.Marshal(t.Arguments); err != nil {
				return reply, fmt.Errorf("arguments of %q: %w", cut(t.Name), err)
			}
		}
		reply.Tools = append(reply.Tools, call)
	}
	return reply, nil
}

// The fixes of more than one mistake.
const (
	beginReply = `begin each reply with "- text: …" or "- tools: …"`
	checkYAML  = "check quotes, brackets and indentation there, and that each key is written once"
)

// A scriptError is a mistake in a script.
type scriptError struct{ problem, fix string }

func (e *scriptError) Error() string { return e.problem + "; " + e.fix }

// Fix tells how to write it.
func (e *scriptError) Fix() string { return e.fix }

// at returns a mistake with the position of a token, or of the file's beginning.
func at(tk *token.Token, fix, format string, args ...any) error {
	return placed(tk, &scriptError{fmt.Sprintf(format, args...), fix})
}

// placed puts the position of a token, or of the file's beginning, before an error.
func placed(tk *token.Token, err error) error {
	line, column := 1, 1
	if tk != nil && tk.Position != nil {
		line, column = max(tk.Position.Line, 1), max(tk.Position.Column, 1)
	}
	return fmt.Errorf("%d:%d: %w", line, column, err)
}

// located returns an error of the YAML library with its position first, and without names of Go
// types.
func located(err error) error {
	var (
		e       yaml.Error
		unknown *yaml.UnknownFieldError
		odd     *yaml.TypeError
	)
	switch {
	case errors.As(err, &unknown):
		return at(unknown.Token, "a reply has text, tools and delay, a tool has name and arguments", "%s", cut(unknown.Message))
	case errors.As(err, &odd) && odd.DstType.Kind() == reflect.String:
		return at(odd.Token, "quote it", "this is not a text")
	case errors.As(err, &e):
		return at(e.GetToken(), checkYAML, "not valid YAML: %s", cut(e.GetMessage()))
	}
	return at(nil, checkYAML, "not valid YAML: %s", cut(err.Error()))
}
