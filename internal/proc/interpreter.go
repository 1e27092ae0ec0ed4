package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// headSize is how much of a file the kernel looks at to tell what it is, and the longest #! line it knows
// (BINPRM_BUF_SIZE).
const headSize = 256

// command is a Spec made ready for the kernel.
type command struct {
	path string   // what to execute
	argv []string // with argv[0]
	file string   // the program as found from here, for messages
	free bool     // it must not be held at its start: the kernel gives it more rights than the host has
}

// resolve finds the program and looks past shims: where it is one, or a script whose interpreter is one, the real
// interpreter is started with the arguments the kernel would have given it. pyenv's shim costs 90 ms a start. Where
// anything is unclear, the program is started as it is. So is a program in a box: what its files say must not make the host run anything
// outside of it. The box looks past the shims of the operator itself.
func (g *Group) resolve(ctx context.Context, s Spec) (command, error) {
	c, err := find(s)
	if err != nil {
		return command{}, err
	}
	if s.Box != nil {
		return c, nil
	}
	use := shimUse{shim: c.file, args: s.Args, spec: s}
	if !isShim(c.file) {
		loaded := g.programs.look(c.file)
		line := loaded.line
		if line.path != "" { // the kernel loads the interpreter instead
			loaded = g.programs.look(line.path)
		}
		c.free = loaded.privileged
		use.shim, use.args = line.find(c.path, s.Args, s.Env)
	}
	if !isShim(use.shim) {
		return c, nil
	}
	if real := g.shims.real(ctx, g, use); real != "" {
		c.path, c.argv = real, append([]string{real}, use.args...)
		c.free = g.programs.look(real).privileged
	}
	return c, nil
}

// find is the look-up that a shell would do in the child's environment, and in nothing else.
func find(s Spec) (command, error) {
	name := s.Name
	if name == "" {
		name = s.Path
	}
	c := command{path: s.Path, argv: append([]string{name}, s.Args...), file: s.Path}
	switch {
	case s.Path == "":
		return c, &StartError{Why: "no program is named", Err: fs.ErrInvalid}
	case !hasSlash(s.Path):
		file := inPath(s.Path, s.Env)
		if file == "" {
			return c, notInPath(s.Path, s.Env)
		}
		c.path, c.file = file, file
	case !filepath.IsAbs(s.Path):
		c.file = filepath.Join(s.Dir, s.Path)
	}
	return c, nil
}

// inPath looks a bare name up in the PATH of env. Relative entries are passed over: they would mean a different program
// from each directory.
func inPath(name string, env []string) string {
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, candidate := range candidates(name, env) {
			if file := filepath.Join(dir, candidate); executable(file) {
				return file
			}
		}
	}
	return ""
}

// lookup is getenv on a list: the first entry counts, as in C.
func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// readHead reads the first bytes of a file; none, where it cannot be read.
func readHead(file string) []byte {
	f, err := openRegular(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return head[:n]
}

// openRegular opens a file to read it. Anything but a regular file is an error, at once: a named pipe must not make the host wait.
func openRegular(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: file, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hashBang is what a #! line says.
type hashBang struct {
	path string // the interpreter that the kernel starts
	arg  string // its one argument, before the script; empty: none
}

// interpreterLine reads the #! line of a file's head. Everything after the interpreter is one argument, by the kernel's rule.
// The zero value stands for no such line, and for one that does not end within the head.
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

// throughEnv returns what env starts, where env is the interpreter of a script. ok is false where it is not, or where it would do more than
// start a program by its name.
func (h hashBang) throughEnv(script string, args, env []string) (call EnvCall, ok bool) {
	if filepath.Base(h.path) != "env" {
		return EnvCall{}, false
	}
	call, err := ReadEnv(h.args(script, args), env)
	return call, err == nil && call.Name != script && call.Dir == "" && slices.Equal(call.Env, env)
}

// find returns the interpreter that a script ends up with and the arguments it gets; empty where that is unclear.
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
