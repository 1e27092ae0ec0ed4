package program

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
)

// A Request is a program as its caller names it, with everything that decides which file is
// executed.
type Request struct {
	// Path is the program. With a slash it is a file, relative to Dir. Without one it is looked up
	// in the PATH of Env, and nowhere else.
	Path string
	Args []string // without argv[0]
	Name string   // argv[0]; Path if empty
	Dir  string   // working directory; the host's if empty
	Env  []string // the whole environment
}

// A Command is a Request in the form that the kernel needs.
type Command struct {
	Path string   // the file to execute
	Argv []string // with argv[0]
	File string   // the program as found, for messages

	// Privileged says that the kernel gives it more rights than the host has. A program that is
	// traced from its start, as by a debugger, does not get them.
	Privileged bool
}

// Ask runs a program, named by its full path, and returns its stdout. It fails if the program does.
// It runs exactly this file, without Resolve.
type Ask func(ctx context.Context, q Request) (stdout []byte, err error)

// A Resolver finds the file to execute, and caches data about files. It is safe for concurrent use.
type Resolver struct {
	ask   Ask
	files files
	shims shims
}

// NewResolver returns a Resolver that runs the tools of shims through ask.
func NewResolver(ask Ask) *Resolver { return &Resolver{ask: ask} }

// Resolve finds the program and replaces shims: if the program is a shim, or a script whose
// interpreter is one, the real interpreter is started with the arguments that the kernel would have
// given it. A shim of pyenv costs 90 ms a start. If anything is unclear, the program is started as
// it is. If it does not exist, the error is a *[StartError].
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
	if !IsShim(use.shim) || !executable(c.File) { // no shim, or a script that is not executable, which the kernel must refuse
		return c, nil
	}
	if real := r.shims.real(ctx, r.ask, use); real != "" {
		c.Path, c.Argv = real, append([]string{real}, use.args...)
		c.Privileged = r.files.look(real).privileged
	}
	return c, nil
}

// ShimTarget returns the program that a shim stands for if it is started with these arguments, in
// this directory and environment. It returns "" if that is not certain.
func (r *Resolver) ShimTarget(ctx context.Context, shim string, args []string, dir string, env []string) string {
	return r.shims.real(ctx, r.ask, shimUse{shim: shim, args: args, dir: dir, env: env})
}

// Find looks the program up as a shell would in the program's own environment. If there is no such
// program, the error is a *[StartError].
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
	case !filepath.IsAbs(q.Path) && q.Dir != "":
		c.File = filepath.Join(q.Dir, q.Path)
	}
	return c, nil
}

// inPath looks a bare name up in the PATH of env. It skips relative entries, which would mean a
// different program in each directory.
func inPath(name string, env []string) string {
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
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

// Getenv returns the value of a variable. If it is set twice, the first one counts, as in C.
func Getenv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
