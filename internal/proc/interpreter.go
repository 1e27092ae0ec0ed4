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
// anything is unclear, the program is started as it is.
func (g *Group) resolve(ctx context.Context, s Spec) (command, error) {
	c, err := find(s)
	if err != nil {
		return command{}, err
	}
	use := shimUse{shim: c.file, args: s.Args, spec: s}
	if !isShim(c.file) {
		loaded := g.programs.look(c.file)
		line := loaded.line
		if line.path != "" { // the kernel loads the interpreter instead
			loaded = g.programs.look(line.path)
		}
		c.free = loaded.privileged
		use.shim = line.find(s.Env)
		use.args = slices.Concat(line.args, []string{c.path}, s.Args)
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

// readHead reads the first bytes of a file; none, where it cannot be read. A pipe in its place must not make us wait.
func readHead(file string) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return head[:n]
}

// hashBang is what a #! line says.
type hashBang struct {
	path string   // the interpreter the kernel starts
	via  string   // the program that env is asked to find, where path is env; else empty
	args []string // what follows the interpreter, before the script
}

// interpreterLine reads the #! line of a file's head. Everything after the interpreter is one argument, by the kernel's rule.
// The zero value stands for no such line, one that does not end within the head, or one that env reads in a way
// not repeated here.
func interpreterLine(head []byte) hashBang {
	text, ok := bytes.CutPrefix(head, []byte("#!"))
	line, _, ended := bytes.Cut(text, []byte{'\n'})
	if !ok || !ended && len(head) == headSize {
		return hashBang{}
	}
	path, arg, _ := strings.Cut(strings.Trim(string(line), " \t"), " ")
	path, tabbed, _ := strings.Cut(path, "\t")
	arg = strings.Trim(tabbed+" "+arg, " \t")
	h := hashBang{path: path}
	switch {
	case filepath.Base(path) == "env":
		return h.throughEnv(arg)
	case arg != "":
		h.args = []string{arg}
	}
	return h
}

// throughEnv reads "env X" and "env -S X ARG …". Quotes, variables, assignments and other options are env's business.
func (h hashBang) throughEnv(arg string) hashBang {
	words := []string{arg}
	if rest, ok := strings.CutPrefix(arg, "-S"); ok {
		words = strings.Fields(rest)
	}
	if len(words) == 0 || words[0] == "" || words[0][0] == '-' || strings.ContainsAny(arg, "\"'\\$#=") {
		return hashBang{path: h.path}
	}
	h.via, h.args = words[0], words[1:]
	return h
}

// find is the file of the interpreter, empty where there is none.
func (h hashBang) find(env []string) string {
	switch {
	case h.via == "":
		return h.path
	case hasSlash(h.via):
		return h.via
	}
	return inPath(h.via, env)
}
