package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// Only this file and yaml_limits.go, which guards it, use the YAML library.
//
//	YAML
//	  misshapen     refuses data that is not safe for the lexer
//	  usableTokens  refuses tokens that such a file may not have, and deep nesting
//	  yamlReader    converts the library's tree: duplicate keys, scalars, positions

// maxForeign limits how much of the library's message, which repeats the file, is shown.
const maxForeign = 200

// checkSyntax is the fix of an error of the library.
const checkSyntax = "check quotes, brackets and indentation there"

// YAML parses a manifest, which is one mapping, and returns its top table. If data is not one
// mapping, the error has all reasons. Lesser problems, such as a repeated key, are among the
// problems of the table.
func YAML(path string, data []byte) (*Table, error) {
	r := newYAMLReader(path, "manifest")
	r.root = r.read(data)
	switch {
	case r.root == nil && len(r.problems) == 0:
		r.problemAt(Position{1, 1}, "", "the manifest is empty")
	case r.root != nil && r.root.kind != Map:
		r.problemAt(r.root.at, "", "the manifest must be a mapping of fields, got %s", r.root.name(yamlFormat))
		r.root = nil
	}
	return r.result()
}

// YAMLList parses a file that is one list, such as a script, and returns it as the Self of a table.
// what is the word for the file in messages. A file without content, or with null, is an empty
// list.
func YAMLList(path, what string, data []byte) (*Table, error) {
	r := newYAMLReader(path, what)
	r.root = r.read(data)
	switch {
	case len(r.problems) == 0 && (r.root == nil || r.root.kind == Null):
		r.root = &node{kind: List}
	case r.root != nil && r.root.kind != List:
		r.complain(r.root.at, "", fmt.Sprintf("the %s must be a list, got %s", what, r.root.name(yamlFormat)), `begin each item with "- "`)
		r.root = nil
	}
	return r.result()
}

// A yamlReader converts the library's tree to nodes.
type yamlReader struct {
	*reading
	what  string   // the word for the file in messages
	lines [][]byte // of the file, for positions
	depth int
}

func newYAMLReader(path, what string) *yamlReader {
	return &yamlReader{reading: &reading{file: path, format: yamlFormat}, what: what}
}

// result returns the table of the root, or all problems if there is no root.
func (r *yamlReader) result() (*Table, error) {
	if r.root == nil {
		return nil, &Error{Problems: inOrder(r.problems)}
	}
	return r.top(), nil
}

func (r *yamlReader) problemAt(at Position, field, format string, args ...any) {
	Value{reading: r.reading, path: field, at: at}.Bad("", format, args...)
}

// read returns the value of the whole file, or nil. The callers decide whether a file without a
// value is a problem.
func (r *yamlReader) read(data []byte) *node {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark
	if len(data) > MaxSize {
		r.problemAt(Position{1, 1}, "", "the %s has more than %d bytes", r.what, MaxSize)
		return nil
	}
	if why, at := misshapen(data); why != "" {
		r.problemAt(at, "", "the %s %s", r.what, why)
		return nil
	}
	r.lines = bytes.Split(data, []byte("\n"))
	body := r.parse(data)
	if body == nil {
		return nil
	}
	return r.node(body, Position{1, 1}, "")
}

// parse returns the body of the file's one document, or nil.
func (r *yamlReader) parse(data []byte) ast.Node {
	tokens := r.usableTokens(lexer.Tokenize(string(data)))
	if tokens == nil {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // node reports all duplicates
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body == nil:
			body = doc.Body
		default:
			r.problemAt(r.at(doc.Body), "", "a %s is one document, this is a second", r.what)
			return nil
		}
	}
	return body
}

// syntax reports an error of the library's parser.
func (r *yamlReader) syntax(err error) {
	at, message := Position{1, 1}, err.Error()
	var located interface { // all errors of the library have these methods
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &located) {
		message = located.GetMessage()
		if tk := located.GetToken(); tk != nil {
			at = r.position(tk)
		}
	}
	r.notYAML(at, message)
}

// notYAML reports an error in the library's words, with a fix for the mistake that authors most
// likely made.
func (r *yamlReader) notYAML(at Position, message string) {
	fix := checkSyntax
	switch {
	case strings.Contains(message, "'\t'"):
		message, fix = strings.ReplaceAll(message, "\t", `\t`), "write spaces in place of the tab"
	case strings.Contains(message, "not allowed in this context"):
		fix = `begin the keys of a mapping in the same column, and quote a text with ": " in it`
	}
	r.complain(at, "", "not valid YAML: "+excerpt.Of(message, maxForeign), fix)
}

// usableTokens removes comments and reports what the file may not have. It returns nil if the rest
// must not be parsed, or is empty.
func (r *yamlReader) usableTokens(all token.Tokens) token.Tokens {
	before := len(r.problems)
	for len(all) > 1 && slices.Contains([]token.Type{token.DocumentHeaderType, token.CommentType}, all[len(all)-1].Type) {
		all = all[:len(all)-1] // "---" at the end begins no second document
	}
	var tokens token.Tokens
	for _, tk := range all {
		if tk.Type == token.CommentType {
			continue
		}
		if tk.Type == token.InvalidType {
			r.notYAML(r.position(tk), tk.Error)
		} else if why, fix := r.forbidden(tk, len(tokens) > 0); why != "" {
			r.complain(r.position(tk), "", why, fix)
		}
		tokens = append(tokens, tk)
		if len(tokens) > maxTokens {
			r.problemAt(r.position(tk), "", "the %s is too long: more than %d words and signs", r.what, maxTokens)
			return nil
		}
	}
	if tk := tooDeep(tokens); tk != nil {
		r.problemAt(r.position(tk), "", "nested too deep: more than %d levels", maxDepth)
	}
	if tk := tooLong(tokens); tk != nil {
		r.problemAt(r.position(tk), "", "a key of more than %d characters", maxKeyLength)
	}
	r.emptyEntries(tokens)
	if len(r.problems) > before {
		return nil
	}
	return tokens
}

// forbidden returns why the file may not have a token, and what to do about it. Aliases could
// expand a file to gigabytes. The others have no use in such files.
func (r *yamlReader) forbidden(tk *token.Token, content bool) (why, fix string) {
	switch tk.Type {
	case token.AnchorType:
		return "anchors are not allowed in a " + r.what, `quote a text that begins with "&"`
	case token.AliasType:
		return "aliases are not allowed in a " + r.what, `quote a text that begins with "*"`
	case token.MergeKeyType:
		return "merge keys are not allowed in a " + r.what, ""
	case token.TagType:
		return "tags are not allowed in a " + r.what, `quote a text that begins with "!"`
	case token.DirectiveType:
		return "YAML directives are not allowed in a " + r.what, ""
	case token.DocumentHeaderType:
		if content {
			return "a " + r.what + " is one document, this begins a second", ""
		}
	}
	return "", ""
}

// emptyEntries reports a list entry without a value that is followed by a key in the same column.
// The parser takes that key for the entry's value, so such lines would nest without limit.
func (r *yamlReader) emptyEntries(tokens token.Tokens) {
	for i := 1; i < len(tokens); i++ {
		entry, next := tokens[i-1], tokens[i]
		if entry.Type != token.SequenceEntryType || next.Type == token.SequenceEntryType {
			continue
		}
		if next.Position.Line > entry.Position.Line && next.Position.Column == entry.Position.Column {
			r.problemAt(r.position(entry), "", "a list entry without a value")
		}
	}
}

// node converts a value. at is the place of its key, for a value that is left out.
func (r *yamlReader) node(n ast.Node, at Position, field string) *node {
	made := r.value(n, at, field)
	made.key = at
	return made
}

func (r *yamlReader) value(n ast.Node, at Position, field string) *node {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		r.problemAt(r.at(n), field, "nested too deep: more than %d levels", maxDepth)
		return scalar(nil, at, at)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n, field)
	case *ast.SequenceNode:
		return r.list(n, field)
	case *ast.LiteralNode:
		return scalar(n.Value.Value, at, r.at(n))
	default:
		return r.scalar(n, at, field)
	}
}

func (r *yamlReader) mapping(n *ast.MappingNode, field string) *node {
	m := &node{kind: Map, at: r.at(n)}
	seen := make(map[string]Position, len(n.Values))
	for _, v := range n.Values {
		name, ok := keyText(v.Key)
		at, path := r.at(v.Key), schema.FieldPath(field, name)
		if !ok {
			r.problemAt(at, field, "a key must be a word or a quoted text")
			continue
		}
		if first, twice := seen[name]; twice {
			r.problemAt(at, path, "the key occurs twice, first in line %d", first.Line)
			continue
		}
		seen[name] = at
		m.add(name, r.node(v.Value, at, path))
	}
	return m
}

// keyText returns a key as JSON would have it. It returns false for null and for keys that are not
// scalars.
func keyText(key ast.Node) (string, bool) {
	switch key := key.(type) {
	case *ast.MappingKeyNode: // "? key"
		return keyText(key.Value)
	case *ast.StringNode:
		return key.Value, true
	case *ast.LiteralNode:
		return key.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return key.GetToken().Value, true
	}
	return "", false
}

func (r *yamlReader) list(n *ast.SequenceNode, field string) *node {
	l := &node{kind: List, at: r.at(n)}
	for i, v := range n.Values {
		at := l.at
		if i < len(n.Entries) && n.Entries[i].Start != nil {
			at = r.position(n.Entries[i].Start) // its dash, or the comma before it
		}
		l.items = append(l.items, r.node(v, at, itemPath(field, i)))
	}
	return l
}

func (r *yamlReader) scalar(n ast.Node, at Position, field string) *node {
	tk := n.GetToken()
	if tk == nil || tk.Type == token.ImplicitNullType {
		return scalar(nil, at, at)
	}
	switch tk.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		return scalar(tk.Value, at, r.at(n))
	}
	v := plainScalar(tk.Value)
	if number, ok := v.(digits); ok {
		if why := badNumber(string(number)); why != "" {
			r.problemAt(r.at(n), field, "%s", why)
			v = digits("0")
		}
	}
	made := scalar(v, at, r.at(n))
	made.plain = tk.Value
	return made
}

func (r *yamlReader) at(n ast.Node) Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // the library places it at the first colon
	}
	if tk := n.GetToken(); tk != nil {
		return r.position(tk)
	}
	return Position{1, 1}
}

// maxTabLine limits the lines that are searched for a token.
const maxTabLine = 400

// position returns where a token begins. The library does not count some tabs, so in a line with
// tabs the token's text is searched for.
func (r *yamlReader) position(tk *token.Token) Position {
	at := Position{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
	if at.Line > len(r.lines) {
		return at
	}
	text := r.lines[at.Line-1]
	if len(text) > maxTabLine || bytes.IndexByte(text, '\t') < 0 {
		return at
	}
	line := []rune(string(text))
	begin, _, _ := strings.Cut(strings.TrimSpace(tk.Origin), "\n")
	for column := at.Column; begin != "" && column <= len(line); column++ {
		if strings.HasPrefix(string(line[column-1:]), begin) {
			return Position{at.Line, column}
		}
	}
	return at
}
