package program

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// Interpreter returns the interpreter that the #! line of a script names, and the one argument that
// the kernel passes to it. Both are empty for a file that is not a script.
func Interpreter(file string) (path, arg string) {
	line := interpreterLine(Head(file))
	return line.path, line.arg
}

// A hashBang holds the parts of a #! line.
type hashBang struct {
	path string // the interpreter that the kernel starts
	arg  string // its one argument before the script; may be empty
}

// interpreterLine parses the #! line in the head of a file. As in the kernel, everything after the
// interpreter is one argument. It returns the zero value if there is no such line, or if the line
// does not end within the head.
func interpreterLine(head []byte) hashBang {
	text, ok := bytes.CutPrefix(head, []byte("#!"))
	line, _, ended := bytes.Cut(text, []byte{'\n'})
	if !ok || !ended && len(head) == headSize {
		return hashBang{}
	}
	path, arg, _ := strings.Cut(strings.Trim(string(line), " \t"), " ")
	path, tabbed, _ := strings.Cut(path, "\t")
	return hashBang{path: path, arg: strings.Trim(tabbed+" "+arg, " \t")}
}

// args returns the arguments that the interpreter of a script gets.
func (h hashBang) args(script string, args []string) []string {
	if h.arg == "" {
		return append([]string{script}, args...)
	}
	return append([]string{h.arg, script}, args...)
}

// throughEnv returns the program that env starts, if env is the interpreter of a script. ok is
// false if it is not, or if env would do more than start a program by its name.
func (h hashBang) throughEnv(script string, args, env []string) (call EnvCall, ok bool) {
	if filepath.Base(h.path) != "env" {
		return EnvCall{}, false
	}
	call, err := ReadEnv(h.args(script, args), env)
	return call, err == nil && call.Name != script && call.Dir == "" && slices.Equal(call.Env, env)
}

// find returns the interpreter that finally runs a script, and its arguments. They are empty if
// that is unclear.
func (h hashBang) find(script string, args, env []string) (interpreter string, arguments []string) {
	if filepath.Base(h.path) != "env" {
		return h.path, h.args(script, args)
	}
	call, ok := h.throughEnv(script, args, env)
	switch {
	case !ok:
		return "", nil
	case hasSlash(call.Name):
		return call.Name, call.Args
	}
	return inPath(call.Name, env), call.Args
}
