package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// maxChain bounds how many programs may start one another at one launch: the interpreter of a
// script, the program that env starts, the interpreter of that one.
const maxChain = 10

// A start is one program in the chain of programs that starts the plugin's code.
type start struct {
	path string   // absolute
	args []string // without argv[0]
	env  []string
	by   string // what names it, for error messages
}

// programs adds the programs that the plugin may execute beside its own files: those that exec:
// capabilities name, and those that the kernel needs to start the plugin itself.
func (p *planner) programs() error {
	var granted []start
	for _, g := range p.opts.Grants {
		if g.Kind != capability.Exec {
			continue
		}
		if err := p.recordExec(g); err != nil {
			return err
		}
		granted = append(granted, start{path: g.Path, env: p.launch.Env, by: g.String()})
	}
	plugin := start{path: p.launch.Path, env: p.launch.Env, by: "its command"}
	if len(p.launch.Argv) > 0 {
		plugin.args = p.launch.Argv[1:]
	}
	for _, s := range append(granted, plugin) {
		if err := p.addChain(s); err != nil {
			return err
		}
	}
	return nil
}

// recordExec records the program that an exec: capability names. A capability cannot name a program
// outside the plugin's own files by a link among them.
func (p *planner) recordExec(g capability.Capability) error {
	w := walk(g.Path)
	if err := p.origins.check(w); err != nil && !p.opts.ReadAll {
		return fmt.Errorf("%s: %w", g, err)
	}
	if w.exists() && !p.origins.leavesOwnFiles(w) && !withinAny(w.end, p.origins.own) {
		p.origins.named = append(p.origins.named, w)
		p.origins.addChosenLinks(w)
	}
	return nil
}

// addChain adds a program, its loader and the interpreter of its #! line, and repeats that for the
// interpreter until a program is not a script.
func (p *planner) addChain(s start) error {
	for range maxChain {
		file, err := p.admit(s)
		if err != nil || file == "" {
			return err
		}
		if err := p.loader(file); err != nil {
			return err
		}
		following, ok, err := p.following(s, file)
		if err != nil || !ok {
			return err
		}
		s = following
	}
	return &Refusal{Why: fmt.Sprintf("%s: too many interpreters, one after the other", p.launch.Path)}
}

// following returns the program that s starts in turn: the interpreter of a script, or the program
// that env is to run.
func (p *planner) following(s start, file string) (following start, ok bool, err error) {
	if isEnv(s.path) {
		return p.throughEnv(s)
	}
	interpreter, arg := program.Interpreter(file)
	if interpreter == "" {
		return start{}, false, nil
	}
	following = start{path: p.absolute(interpreter), args: append([]string{s.path}, s.args...), env: s.env, by: "the #! line of " + s.path}
	if arg != "" {
		following.args = append([]string{arg}, following.args...)
	}
	return following, true, nil
}

// isEnv reports whether a path is that of the system's env. Another program with that name may read
// its arguments in another way.
func isEnv(path string) bool {
	return slices.Contains([]string{"/usr/bin/env", "/bin/env"}, place(path))
}

// throughEnv returns the program that env starts.
func (p *planner) throughEnv(s start) (following start, ok bool, err error) {
	call, err := program.ReadEnv(s.args, s.env)
	if err != nil {
		return start{}, false, &Refusal{Why: fmt.Sprintf("%s: %v", s.by, err)}
	}
	if call.Name == "" {
		return start{}, false, nil
	}
	path, err := p.search(call)
	return start{path: path, args: call.Args, env: call.Env, by: s.by}, err == nil, err
}

// search finds a program by its name as env would find it inside the jail. A program that is
// refused does not exist there, so the search goes on.
func (p *planner) search(call program.EnvCall) (path string, err error) {
	if strings.Contains(call.Name, "/") {
		return p.absolute(call.Name), nil
	}
	for _, dir := range program.SearchPath(call.Env) {
		candidate := filepath.Join(p.absolute(dir), call.Name)
		if info, statErr := os.Stat(candidate); statErr != nil || !isProgram(info) {
			continue
		}
		_, _, refused := p.checkOrigin(start{path: candidate, by: "env"})
		if refused == nil {
			return candidate, nil
		}
		if err == nil {
			err = refused
		}
	}
	if err == nil {
		err = &Refusal{Why: fmt.Sprintf("%s, which env is to start, is not in the PATH %s", call.Name, strings.Join(program.SearchPath(call.Env), ":")),
			OtherFix: "install " + call.Name + ", or extend the PATH given to the plugin"}
	}
	return "", err
}

// absolute returns a path relative to the plugin's working directory as an absolute one.
func (p *planner) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.launch.Dir, path)
}

// loader adds the loader of a dynamically linked program.
func (p *planner) loader(file string) error {
	loader := program.Loader(file)
	if loader == "" {
		return nil
	}
	s := start{path: p.absolute(loader), by: "the ELF header of " + file}
	_, w, err := p.checkOrigin(s)
	if err != nil || !w.exists() {
		return err
	}
	p.loaders = append(p.loaders, w.end)
	_, err = p.mountProgram(s, p.mayExecute)
	return err
}

// admit mounts a program and allows it to be started. It returns the file that is executed in the
// end, or "" if there is none.
func (p *planner) admit(s start) (file string, err error) { return p.mountProgram(s, p.mayStart) }

// checkOrigin returns where a program comes from, or refuses it. A program that the operator's PATH
// finds may also be named by its full path, but not by a link in another directory: the libraries
// beside that link would be mounted too.
func (p *planner) checkOrigin(s start) (from origin, w way, err error) {
	w = walk(s.path)
	if p.opts.ReadAll {
		return fromGrant, w, nil // it may be read and executed anyway
	}
	if err := p.origins.check(w); err != nil {
		return unknown, w, fmt.Errorf("%s: %w", s.by, err)
	}
	from, first := p.origins.originOf(w)
	if from == unknown && !w.exists() {
		return unknown, w, nil // nothing is mounted for it, and the start reports that it is missing
	}
	if from == unknown && filepath.Dir(first) == filepath.Dir(w.end) && !p.origins.passesUnchosenLink(w, first) && p.inPath(w, filepath.Base(s.path), filepath.Base(first)) {
		from = fromOperator
	}
	if from == unknown {
		return unknown, w, &Refusal{Grant: execGrant(first),
			Why: fmt.Sprintf("%s: %s is neither among the plugin's own files, nor a program of the system, nor in your PATH", s.by, w.describe())}
	}
	return from, w, nil
}

// inPath reports whether the operator's PATH finds the file at the end of a way, under one of the
// names.
func (p *planner) inPath(w way, names ...string) bool {
	for _, name := range append(names, filepath.Base(w.end)) {
		for _, dir := range p.origins.path {
			file := filepath.Join(dir, name)
			if realPath(file) == w.end || program.IsShim(file) && realPath(p.shimTarget(file)) == w.end {
				return true
			}
		}
	}
	return false
}

// mountProgram mounts a program, with all the links that lead to it and the libraries beside it,
// and passes its file to allow.
func (p *planner) mountProgram(s start, allow func(path string)) (file string, err error) {
	from, w, err := p.checkOrigin(s)
	if err != nil || !w.exists() {
		return "", err
	}
	because := string(from)
	if from == fromGrant {
		because = s.by
	}
	if from == fromOperator && program.IsShim(place(s.path)) {
		if real := p.shimTarget(place(s.path)); real != "" {
			return p.mountShim(s, real, allow)
		}
	}
	p.mountLinks(because, w)
	p.mountOtherPaths(because, s, w)
	if from != fromOwn {
		p.mountLibraries(w)
	}
	allow(w.end)
	if !p.visible(w.end) && !withinAny(w.end, p.origins.own) {
		p.add(because, jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: true, Lend: true, Missing: true})
	}
	return w.end, nil
}

// mountShim mounts the program that a shim stands for, and puts a link to it at the shim's path, so
// that a search of PATH finds it there. Without namespaces it changes PATH instead.
func (p *planner) mountShim(s start, real string, allow func(path string)) (file string, err error) {
	at, w := place(s.path), walk(real)
	p.mountLinks(string(fromOperator), walk(filepath.Dir(s.path)))
	p.mountLinks(string(fromOperator), w)
	p.mountLibraries(w)
	allow(w.end)
	if !p.visible(w.end) {
		p.add("behind the shim "+at, jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: true, Lend: true, Missing: true})
	}
	if p.plan.Simple {
		p.insteadOfShim(s.path, w.end)
	} else if !p.visible(at) {
		p.add("", jail.Mount{Kind: jail.Link, Source: w.end, Target: at})
	}
	return w.end, nil
}

// insteadOfShim puts the directory of the program first in PATH. If the shim is the command itself,
// it starts the program instead.
func (p *planner) insteadOfShim(shim, file string) {
	p.setEnv("PATH", filepath.Dir(file)+":"+program.Getenv(p.plan.Env, "PATH"))
	if p.plan.Path == shim {
		p.plan.Path, p.plan.Argv = file, slices.Clone(p.plan.Argv)
		p.plan.Argv[0] = file
	}
}

// shimTarget returns the program that a shim of the operator stands for, or "" if that is not
// certain. The program must belong to the same installation as the shim, because a file of the
// plugin may choose the version.
func (p *planner) shimTarget(shim string) string {
	if p.launch.ShimTarget == nil {
		return ""
	}
	real := p.launch.ShimTarget(shim, p.shimEnviron())
	if real == "" || !below(realPath(real), filepath.Dir(filepath.Dir(shim))) || p.origins.check(walk(real)) != nil {
		return ""
	}
	return real
}

// shimEnviron returns the part of the operator's environment that a tool like pyenv needs. The tool
// runs outside the sandbox, in the plugin's directory. So its PATH contains no directory that is
// relative, or that the plugin ships or may change.
func (p *planner) shimEnviron() []string {
	apart := func(dir string) bool { return strings.Contains(dir, ":") } // PATH would split it in two, the second part relative
	needed := []string{"PATH=" + strings.Join(slices.DeleteFunc(slices.Clone(p.origins.path), apart), ":")}
	for _, entry := range p.opts.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if name == "HOME" || strings.HasSuffix(name, "ENV_VERSION") || strings.HasSuffix(name, "ENV_ROOT") {
			needed = append(needed, entry)
		}
	}
	return needed
}

// mountLinks recreates the links on a way inside the jail. Links among the plugin's own files are
// mounted with those files.
func (p *planner) mountLinks(because string, w way) {
	for _, l := range w.links {
		if !p.visible(l.at) && !withinAny(l.at, p.origins.own) {
			p.add(because, jail.Mount{Kind: jail.Link, Source: l.target, Target: l.at})
		}
	}
}

// mountLibraries mounts the libraries of a program with its own installation directory, such as an
// interpreter in a user's home: the lib directories beside its bin. It does so for each link to the
// program too, because a link may belong to another installation, as in a virtual environment.
func (p *planner) mountLibraries(w way) {
	_, at := p.origins.originOf(w)
	for range maxLinks {
		if !withinAny(at, p.origins.own) {
			p.librariesOf(at)
		}
		to, ok := next(at)
		if !ok {
			return
		}
		at = to
	}
}

func (p *planner) librariesOf(file string) {
	bin := filepath.Dir(file)
	prefix := filepath.Dir(bin)
	if filepath.Base(bin) != "bin" || p.shared(prefix) {
		return
	}
	for _, name := range []string{"lib", "lib64", "pyvenv.cfg"} {
		path := filepath.Join(prefix, name)
		if _, err := os.Lstat(path); err == nil && !p.visible(path) {
			p.add("libraries of "+file, jail.Mount{Kind: jail.Bind, Source: path, Target: path, Exec: true, Missing: true})
		}
	}
}

// shared reports whether a directory holds more than one installation: a directory of the system,
// or one that contains the user's home.
func (p *planner) shared(prefix string) bool {
	home := realPath(program.Getenv(p.opts.Environ, "HOME"))
	return slices.Contains([]string{"/", "/usr", "/usr/local"}, prefix) || within(home, prefix) && home != "/"
}
