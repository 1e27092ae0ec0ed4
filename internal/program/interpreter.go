package program

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// Interpreter returns the interpreter that the #! line of a script names, and the one argument that
// the kernel passes on to it. Both are empty for a file that is no script.
func Interpreter(file string) (path, arg string) {
	line := interpreterLine(Head(file))
	return line.path, line.arg
}

// hashBang is what a #! line says.
type hashBang struct {
	path string // the interpreter that the kernel starts
	arg  string // its one argument, before the script; empty: none
}

// interpreterLine reads the #! line of a file's head. Everything after the interpreter is one
// argument, by the kernel's rule. The zero value stands for no such line, and for one that does not
// end within the head.
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

// args are the arguments that the interpreter of a script gets.
func (h hashBang) args(script string, args []string) []string {
	if h.arg == "" {
		return append([]string{script}, args...)
	}
	return append([]string{h.arg, script}, args...)
}

// throughEnv returns what env starts, where env is the interpreter of a script. ok is false where
// it is not, or where it would do more than start a program by its name.
func (h hashBang) throughEnv(script string, args, env []string) (call EnvCall, ok bool) {
	if filepath.Base(h.path) != "env" {
		return EnvCall{}, false
	}
	call, err := ReadEnv(h.args(script, args), env)
	return call, err == nil && call.Name != script && call.Dir == "" && slices.Equal(call.Env, env)
}

// find returns the interpreter that a script ends up with and the arguments it gets; empty where
// that is unclear.
func (h hashBang) find(script string, args, env []string) (interpreter string, its []string) {
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
