package newplugin

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// A Request describes the plugin to make.
type Request struct {
	Name     string `json:"name"`
	Dialect  string `json:"dialect"`
	Language string `json:"language"`
}

// A File is one file of a plugin.
type File struct {
	Path string // below the plugin's directory, with slashes
	Text string
	Mode fs.FileMode
}

// A Step is a command to type next.
type Step struct {
	Does    string `json:"does"`
	Command string `json:"command"`
}

// A Plan is a plugin that is not written yet.
type Plan struct {
	Request
	Files []File
	Next  []Step
}

// A Choice is one of several words, and what it means.
type Choice struct{ Word, Means string }

// The languages.
const (
	golang     = "go"
	python     = "python"
	javascript = "javascript"
	bash       = "bash"
)

// Dialects lists the protocols that plugins can be made for, the easiest one first.
func Dialects() []Choice {
	return []Choice{
		{"scaffold", "hooks of an agent's turn, and tools: a program that keeps running"},
		{"kaged", "tools, storage, session hooks: with a manifest, in a sandbox"},
		{"mine", "hooks of commands: a program that is started for each call"},
		{"dotagent", "sinks, preflights and notifiers of scheduled agents"},
		{"python", "hooks of an agent's turn: one Python file with decorators"},
		{"mcp", "tools: a server for any MCP client"},
	}
}

// Languages lists the languages for a dialect; "" asks for those of any dialect.
func Languages(dialect string) []Choice {
	all := []Choice{
		{golang, "with the Go SDK"},
		{python, "with the Python SDK"},
		{javascript, "for Node, typed through JSDoc"},
		{bash, "Bash alone: not even jq"},
	}
	if dialect == "python" {
		return []Choice{{python, "the dialect is made of Python functions"}}
	}
	return all
}

// DialectsOf lists the dialects for a language; "" asks for all.
func DialectsOf(language string) []Choice {
	return slices.DeleteFunc(Dialects(), func(d Choice) bool { return language != "" && !slices.Contains(Words(Languages(d.Word)), language) })
}

// Words returns the words of choices.
func Words(choices []Choice) []string {
	var out []string
	for _, c := range choices {
		out = append(out, c.Word)
	}
	return out
}

// An Error is a request that cannot be met, and what to ask for instead.
type Error struct{ Message, Fix string }

func (e *Error) Error() string { return e.Message }

// Make plans a plugin. It returns an [*Error] if the request is wrong.
func Make(r Request) (*Plan, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	files, err := files(r)
	if err != nil {
		return nil, err
	}
	return &Plan{Request: r, Files: files, Next: next(r)}, nil
}

// check checks the pair, then the name.
func check(r Request) error {
	if r.Dialect == "" || r.Language == "" {
		return &Error{"the dialect or the language is missing", "these are possible: " + pairs()}
	}
	if err := CheckPair(r); err != nil {
		return err
	}
	return CheckName(r)
}

// CheckPair checks the dialect and the language, as far as they are given.
func CheckPair(r Request) error {
	if err := known("dialect", r.Dialect, Words(Dialects())); err != nil {
		return err
	}
	if err := known("language", r.Language, Words(Languages(""))); err != nil {
		return err
	}
	if r.Language != "" && !slices.Contains(Words(Languages(r.Dialect)), r.Language) {
		return &Error{fmt.Sprintf("a plugin of the %s dialect cannot be written in %s", r.Dialect, r.Language), "these are possible: " + pairs()}
	}
	return nil
}

// known checks a word, unless it is empty.
func known(what, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	fix := "one of " + strings.Join(words, ", ")
	if near := meant(word, words); near != "" {
		fix = "did you mean " + near + "? It is " + fix
	}
	return &Error{fmt.Sprintf("there is no %s %q", what, word), fix}
}

// meant returns the word that was probably meant: a usual name of the same thing, or a similar
// word.
func meant(word string, words []string) string {
	also := map[string]string{"js": javascript, "node": javascript, "typescript": javascript, "ts": javascript, "py": python, "python3": python,
		"golang": golang, "sh": bash, "shell": bash}
	if same := also[strings.ToLower(word)]; slices.Contains(words, same) {
		return same
	}
	return nearest.Word(word, words)
}

// pairs lists the possible pairs, the dialects with the same languages together.
func pairs() string {
	var order []string
	dialects := make(map[string][]string)
	for _, d := range Dialects() {
		languages := strings.Join(Words(Languages(d.Word)), ", ")
		if dialects[languages] == nil {
			order = append(order, languages)
		}
		dialects[languages] = append(dialects[languages], d.Word)
	}
	for i, languages := range order {
		order[i] = strings.Join(dialects[languages], ", ") + " in " + languages
	}
	return strings.Join(order, "; ")
}
