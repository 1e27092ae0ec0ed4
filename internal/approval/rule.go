package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Rule lets commands run without a question: one exact line, or all lines that begin with certain
// words.
type Rule struct {
	Exact  string    `json:"exact,omitempty"`  // only this command line
	Prefix []string  `json:"prefix,omitempty"` // the first words of a simple command
	Any    bool      `json:"any,omitempty"`    // any arguments may follow the prefix, even if programs.go does not list them
	Added  time.Time `json:"added"`
}

// String returns the rule as a user reads and types it; … stands for what may follow.
func (r Rule) String() string {
	if len(r.Prefix) == 0 {
		return r.Exact
	}
	return Join(r.Prefix) + " …"
}

// Called reports whether text names the rule: as [Rule.String] returns it, with or without the … at
// its end.
func (r Rule) Called(text string) bool {
	return text == r.String() || len(r.Prefix) > 0 && text == Join(r.Prefix)
}

// Same reports whether two rules allow the same commands.
func (r Rule) Same(other Rule) bool {
	return r.Exact == other.Exact && slices.Equal(r.Prefix, other.Prefix) && r.Any == other.Any
}

// valid checks a rule that comes from the file or from a caller.
func (r Rule) valid() error {
	switch {
	case (r.Exact == "") == (len(r.Prefix) == 0):
		return errors.New("a rule has either exact or prefix")
	case len(r.Prefix) > 0 && r.Prefix[0] == "":
		return errors.New("the first word of a prefix is empty")
	case len(r.Exact) > maxLine:
		return fmt.Errorf("a command line of a rule has at most %d bytes", maxLine)
	}
	return nil
}

// Allows reports whether a command line needs no question.
func (r Rule) Allows(line string) bool {
	if r.valid() != nil {
		return false
	}
	if r.Exact != "" {
		return line == r.Exact
	}
	words, ok := shellWords(line)
	if !ok || len(words) < len(r.Prefix) || !slices.Equal(words[:len(r.Prefix)], r.Prefix) {
		return false
	}
	if r.Any {
		return true
	}
	p, known := programs()[r.Prefix[0]]
	return known && p.prefix(words) == len(r.Prefix) && p.allows(words, len(r.Prefix))
}

// Offer returns the rule that a user could make of a command line. It is a prefix if programs.go
// lists the program and lets the other words follow; otherwise it is the whole line. ok is false if
// the line cannot be approved.
func Offer(line string) (r Rule, ok bool) {
	if len(line) > maxLine || strings.TrimSpace(line) == "" {
		return Rule{}, false
	}
	if words, ok := shellWords(line); ok {
		if p, known := programs()[words[0]]; known {
			if n := p.prefix(words); n > 0 && p.allows(words, n) {
				return Rule{Prefix: words[:n]}, true
			}
		}
	}
	return Rule{Exact: line}, true
}

// Typed returns the rule for a prefix that a user has typed, with any arguments after it.
func Typed(words []string) (Rule, error) {
	if len(words) == 0 || words[0] == "" || strings.Contains(words[0], "=") {
		return Rule{}, errors.New("a prefix begins with the name of a program")
	}
	if strings.ContainsAny(words[0], " \t\n;&|<>$`\\\"'()*?[]{}~#!") {
		return Rule{}, fmt.Errorf("%q is not the name of a program: a prefix is the words of one simple command", words[0])
	}
	if launches(words[0]) {
		return Rule{}, fmt.Errorf("%s runs other programs: with it as a prefix, every command would be allowed", words[0])
	}
	return Rule{Prefix: words, Any: true}, nil
}

// shellWords is [Words] if the shell tool runs /bin/sh. The shell of Windows has other rules, so no
// prefix matches there.
func shellWords(line string) ([]string, bool) {
	if runtime.GOOS == "windows" {
		return nil, false
	}
	return Words(line)
}

// Command returns the command line in the arguments of a call of the shell tool. ok is true only if
// exactly one argument is named cmd. Upper and lower case count as the same, as for the tool, which
// would use the last of several.
func Command(arguments json.RawMessage) (line string, ok bool) {
	n, fields := 0, rawjson.Fields(arguments, rawjson.Space(arguments, 0))
	for fields.Next() {
		if strings.EqualFold(fields.Name, "cmd") {
			n++
		}
	}
	var args struct {
		Cmd string `json:"cmd"`
	}
	if n != 1 || json.Unmarshal(arguments, &args) != nil {
		return "", false
	}
	return args.Cmd, true
}

// Join writes words as a shell reads them.
func Join(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || i == 0 && strings.Contains(w, "=") || strings.IndexFunc(w, func(r rune) bool { return r > '~' || !bare(byte(r)) }) >= 0 {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
