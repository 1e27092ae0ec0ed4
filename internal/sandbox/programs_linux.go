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

// maxChain bounds how many programs may follow each other at one start: the interpreter of a
// script, what env starts, the interpreter of that.
const maxChain = 10

// start is one program on the way to the plugin's code.
type start struct {
	path string   // absolute
	args []string // without argv[0]
	env  []string
	by   string // what names it, for messages
}

// programs adds what the plugin may execute beside its own files: what exec: capabilities name, and
// what the kernel needs to start the plugin itself.
func (p *planner) programs() error {
	var granted []start
	for _, g := range p.opts.Grants {
		if g.Kind != capability.Exec {
			continue
		}
		if err := p.name(g); err != nil {
			return err
		}
		granted = append(granted, start{path: g.Path, env: p.launch.Env, by: g.String()})
	}
	plugin := start{path: p.launch.Path, env: p.launch.Env, by: "its command"}
	if len(p.launch.Argv) > 0 {
		plugin.args = p.launch.Argv[1:]
	}
	for _, s := range append(granted, plugin) {
		if err := p.chain(s); err != nil {
			return err
		}
	}
	return nil
}

// name notes the program that an exec: capability names. A link among the plugin's own files names
// nothing outside of them.
func (p *planner) name(g capability.Capability) error {
	w := walk(g.Path)
	if err := p.origins.check(w); err != nil && !p.opts.ReadAll {
		return fmt.Errorf("%s: %w", g, err)
	}
	switch {
	case !w.exists():
		p.note("%s: there is no such program; the plugin runs without it", g)
	case !p.origins.ships(w) && !withinAny(w.end, p.origins.own):
		p.origins.named = append(p.origins.named, w)
		p.origins.choose(w)
	}
	return nil
}

// chain adds a program, its loader, the interpreter of its #! line, and so on to the one that is no
// script.
func (p *planner) chain(s start) error {
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

// following is the program that another one starts as soon as it is started: a script its
// interpreter, env what it is asked for.
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

// isEnv reports whether a path is that of the system's env. Any other program of that name reads
// its arguments as it likes.
func isEnv(path string) bool {
	return slices.Contains([]string{"/usr/bin/env", "/bin/env"}, place(path))
}

// throughEnv is what env starts.
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

// search finds a program by its name as env would find it inside: what is refused is not there, and
// the search goes on.
func (p *planner) search(call program.EnvCall) (path string, err error) {
	if strings.Contains(call.Name, "/") {
		return p.absolute(call.Name), nil
	}
	for _, dir := range program.SearchPath(call.Env) {
		candidate := filepath.Join(p.absolute(dir), call.Name)
		if info, statErr := os.Stat(candidate); statErr != nil || !isProgram(info) {
			continue
		}
		_, _, refused := p.judge(start{path: candidate, by: "env"})
		if refused == nil {
			return candidate, nil
		}
		if err == nil {
			err = refused
		}
	}
	if err == nil {
		err = &Refusal{Why: fmt.Sprintf("%s, which env is to start, is not in the PATH %s", call.Name, strings.Join(program.SearchPath(call.Env), ":")),
			Mend: "install " + call.Name + ", or extend the PATH given to the plugin"}
	}
	return "", err
}

// absolute is a path as the program would see it that starts in the plugin's working directory.
func (p *planner) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.launch.Dir, path)
}

// loader adds the loader of a program that is linked dynamically.
func (p *planner) loader(file string) error {
	loader := program.Loader(file)
	if loader == "" {
		return nil
	}
	s := start{path: p.absolute(loader), by: "the ELF header of " + file}
	_, w, err := p.judge(s)
	if err != nil || !w.exists() {
		return err
	}
	p.loaders = append(p.loaders, w.end)
	_, err = p.mountProgram(s, p.mayExecute)
	return err
}

// admit makes a program visible and startable, if it may be, and returns the file that is executed
// in the end; empty where there is none.
func (p *planner) admit(s start) (file string, err error) { return p.mountProgram(s, p.mayStart) }

// judge says where a program comes from, or refuses it. A program that the operator's PATH finds
// may be named by its full path, too, but not by a link that lies elsewhere: the libraries beside
// that link would come along.
func (p *planner) judge(s start) (from origin, w way, err error) {
	w = walk(s.path)
	if p.opts.ReadAll {
		return fromGrant, w, nil // it can be read and executed anyway
	}
	if err := p.origins.check(w); err != nil {
		return unknown, w, fmt.Errorf("%s: %w", s.by, err)
	}
	from, first := p.origins.of(w)
	if from == unknown && !w.exists() {
		return unknown, w, nil // nothing is mounted for it, and the start says that it is missing
	}
	if from == unknown && filepath.Dir(first) == filepath.Dir(w.end) && !p.origins.guessed(w, first) && p.inPath(w, filepath.Base(s.path), filepath.Base(first)) {
		from = fromOperator
	}
	if from == unknown {
		return unknown, w, &Refusal{Grant: execGrant(first),
			Why: fmt.Sprintf("%s: %s is neither among the plugin's own files, nor a program of the system, nor in your PATH", s.by, w.named())}
	}
	return from, w, nil
}

// inPath reports whether the operator's PATH finds the file at the end of a way, under one of some
// names.
func (p *planner) inPath(w way, names ...string) bool {
	for _, name := range append(names, filepath.Base(w.end)) {
		for _, dir := range p.origins.path {
			file := filepath.Join(dir, name)
			if realPath(file) == w.end || program.IsShim(file) && realPath(p.behind(file)) == w.end {
				return true
			}
		}
	}
	return false
}

// mountProgram makes a program visible, by all the links that lead to it, with the libraries that
// lie beside it.
func (p *planner) mountProgram(s start, allow func(path string)) (file string, err error) {
	from, w, err := p.judge(s)
	if err != nil || !w.exists() {
		return "", err
	}
	because := string(from)
	if from == fromGrant {
		because = s.by
	}
	if from == fromOperator && program.IsShim(place(s.path)) {
		if real := p.behind(place(s.path)); real != "" {
			return p.mountShim(s, real, allow)
		}
	}
	p.mountLinks(because, w)
	p.mountTwins(because, s, w)
	if from != fromOwn {
		p.mountLibraries(w)
	}
	allow(w.end)
	if !p.visible(w.end) && !withinAny(w.end, p.origins.own) {
		p.add(because, jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: true, Lend: true, Missing: true})
	}
	return w.end, nil
}

// mountShim puts the program behind a shim in the shim's place, so that whoever looks in the PATH
// finds it there. Where nothing can be put anywhere, the PATH leads to it.
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

// insteadOfShim has the program started where its shim would be: as the command itself, and by its
// name.
func (p *planner) insteadOfShim(shim, program string) {
	p.setEnv("PATH", filepath.Dir(program)+":"+env(p.plan.Env, "PATH"))
	if p.plan.Path == shim {
		p.plan.Path, p.plan.Argv = program, slices.Clone(p.plan.Argv)
		p.plan.Argv[0] = program
	}
}

// behind is the program behind a shim of the operator's, empty where that is not certain. It must
// belong to the same installation: the version that is asked for may come from a file of the
// plugin's.
func (p *planner) behind(shim string) string {
	if p.launch.Behind == nil {
		return ""
	}
	real := p.launch.Behind(shim, p.shimEnviron())
	if real == "" || !below(realPath(real), filepath.Dir(filepath.Dir(shim))) || p.origins.check(walk(real)) != nil {
		return ""
	}
	return real
}

// shimEnviron is what a tool like pyenv needs of the operator's environment. It runs outside, in
// the plugin's directory, so its PATH has no place that the plugin ships or may change, nor any
// that is relative.
func (p *planner) shimEnviron() []string {
	apart := func(dir string) bool { return strings.Contains(dir, ":") } // it would be two entries, the second one relative
	needed := []string{"PATH=" + strings.Join(slices.DeleteFunc(slices.Clone(p.origins.path), apart), ":")}
	for _, entry := range p.opts.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if name == "HOME" || strings.HasSuffix(name, "ENV_VERSION") || strings.HasSuffix(name, "ENV_ROOT") {
			needed = append(needed, entry)
		}
	}
	return needed
}

// mountLinks lets the links on a way be links inside, too. Those among the plugin's own files come
// with these.
func (p *planner) mountLinks(because string, w way) {
	for _, l := range w.links {
		if !p.visible(l.at) && !withinAny(l.at, p.origins.own) {
			p.add(because, jail.Mount{Kind: jail.Link, Source: l.target, Target: l.at})
		}
	}
}

// mountLibraries adds the libraries of a program that was installed in a place of its own, such as
// an interpreter in a user's home: what lies in lib beside its bin. A link to the program may be
// part of such a place as well, as in a virtual environment.
func (p *planner) mountLibraries(w way) {
	_, at := p.origins.of(w)
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

// shared reports whether a directory is more than the place of one installation: the system's, or a
// whole home.
func (p *planner) shared(prefix string) bool {
	home := realPath(env(p.opts.Environ, "HOME"))
	return slices.Contains([]string{"/", "/usr", "/usr/local"}, prefix) || within(home, prefix) && home != "/"
}
