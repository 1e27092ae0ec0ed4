package program

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
)

// Request is a program as its caller names it, with all that decides what is executed.
type Request struct {
	// Path is the program. With a slash in it, it is a file, relative to Dir; without, it is looked
	// up in the PATH of Env, and nowhere else.
	Path string
	Args []string // without argv[0]
	Name string   // argv[0]; empty: Path
	Dir  string   // working directory; empty: the host's
	Env  []string // the whole environment
}

// Command is a Request made ready for the kernel.
type Command struct {
	Path string   // what to execute
	Argv []string // with argv[0]
	File string   // the program as found from here, for messages

	// Privileged: the kernel gives it more rights than the host has, unless it is held at its start
	// as by a debugger.
	Privileged bool
}

// Ask runs a program, named by its full path, and returns what it wrote to stdout. It fails where
// the program does, and runs the very file: Resolve is not asked again.
type Ask func(ctx context.Context, q Request) (stdout []byte, err error)

// Resolver finds what is to be executed, and remembers what it has learnt about files. It is safe
// for concurrent use.
type Resolver struct {
	ask   Ask
	files files
	shims shims
}

// NewResolver returns a Resolver that asks the tools of shims by ask.
func NewResolver(ask Ask) *Resolver { return &Resolver{ask: ask} }

// Resolve finds the program and looks past shims: where it is one, or a script whose interpreter is
// one, the real interpreter is started with the arguments the kernel would have given it. pyenv's
// shim costs 90 ms a start. Where anything is unclear, the program is started as it is. Where it
// does not exist, the error is a *[StartError].
func (r *Resolver) Resolve(ctx context.Context, q Request) (Command, error) {
	c, err := Find(q)
	if err != nil {
		return Command{}, err
	}
	use := shimUse{shim: c.File, args: q.Args, dir: q.Dir, env: q.Env}
	if !IsShim(c.File) {
		loaded := r.files.look(c.File)
		line := loaded.line
		if line.path != "" { // the kernel loads the interpreter instead
			loaded = r.files.look(line.path)
		}
		c.Privileged = loaded.privileged
		use.shim, use.args = line.find(c.Path, q.Args, q.Env)
	}
	if !IsShim(use.shim) {
		return c, nil
	}
	if real := r.shims.real(ctx, r.ask, use); real != "" {
		c.Path, c.Argv = real, append([]string{real}, use.args...)
		c.Privileged = r.files.look(real).privileged
	}
	return c, nil
}

// Behind returns the program that a shim stands for when it is started with these arguments, in
// this directory and environment. It is empty where that is not certain.
func (r *Resolver) Behind(ctx context.Context, shim string, args []string, dir string, env []string) string {
	return r.shims.real(ctx, r.ask, shimUse{shim: shim, args: args, dir: dir, env: env})
}

// Find is the look-up that a shell would do in the program's environment, and in nothing else.
// Where there is no such program, the error is a *[StartError].
func Find(q Request) (Command, error) {
	name := q.Name
	if name == "" {
		name = q.Path
	}
	c := Command{Path: q.Path, Argv: append([]string{name}, q.Args...), File: q.Path}
	switch {
	case q.Path == "":
		return c, &StartError{Why: "no program is named", Err: fs.ErrInvalid}
	case !hasSlash(q.Path):
		file := inPath(q.Path, q.Env)
		if file == "" {
			return c, notInPath(q.Path, q.Env)
		}
		c.Path, c.File = file, file
	case !filepath.IsAbs(q.Path):
		c.File = filepath.Join(q.Dir, q.Path)
	}
	return c, nil
}

// inPath looks a bare name up in the PATH of env. Relative entries are passed over: they would mean
// a different program from each directory.
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
