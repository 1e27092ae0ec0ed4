package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// places provides the directories that a program expects to have: its home, its temporary directory
// and its working directory.
func (p *planner) places() {
	p.home()
	p.temporaryFiles()
	if p.plan.Dir != p.launch.Dir {
		return // its working directory is its home
	}
	// In its working directory the program sees the files that were granted, and nothing else.
	dir := p.reach(p.launch.Dir)
	if _, err := os.Stat(dir); err == nil { // if it is missing, the start reports it
		p.add("", jail.Mount{Kind: jail.Dir, Target: dir})
	}
}

// home gives the program its own home in the jail's /tmp, and sets HOME to it. The user's home is
// then only a part of the path to files that were granted in it. The jail's home is not put at the
// path of the user's home, because read-only files must not lie within a writable directory (see
// moveOutside).
func (p *planner) home() {
	dir := p.envDir("HOME")
	if dir == "" || p.existsInside(dir) {
		return
	}
	place := p.ownTemporary()
	if place == "" {
		return // the program gets no home
	}
	own := unused(place+"/home", p.taken())
	p.add("", jail.Mount{Kind: jail.Dir, Target: own})
	p.setEnv("HOME", own)
	p.usersHome, p.ownHome = dir, own
	if realPath(p.launch.Dir) == dir {
		p.plan.Dir = own
	}
}

// temporaryFiles sets TMPDIR to a temporary directory of the jail if the directory it names will
// not exist inside.
func (p *planner) temporaryFiles() {
	if dir := p.envDir("TMPDIR"); dir != "" && !p.existsInside(dir) {
		p.setEnv("TMPDIR", cmp.Or(p.ownTemporary(), "/tmp"))
	}
}

// envDir returns the directory that an environment variable names, without links. It returns "" if
// the variable names no absolute path, or if there are no namespaces, since nothing can then be put
// elsewhere. If the operator's own environment has the same value, the links on the way to it are
// recreated inside. A manifest may name another directory. If links lead to it, it must be among
// granted files. Otherwise envDir returns noHome, because the plugin would learn the targets of the
// operator's links.
func (p *planner) envDir(variable string) string {
	dir := program.Getenv(p.plan.Env, variable)
	w := walk(dir)
	switch {
	case !filepath.IsAbs(dir) || p.plan.Simple:
		return ""
	case dir == program.Getenv(p.opts.Environ, variable):
		return p.reach(dir)
	case len(w.links) == 0 || p.granted(w.end):
		return w.end
	}
	return noHome
}

// noHome is the home of accounts that have none.
const noHome = "/nonexistent"

// granted reports whether a path is, or lies in, a file or directory that was granted.
func (p *planner) granted(path string) bool {
	return slices.ContainsFunc(p.opts.Grants, func(g capability.Capability) bool { return isFile(g) && within(path, realPath(g.Path)) })
}

// existsInside reports whether a directory named by the environment will exist inside the jail:
// because it was granted, is a part of the system, or lies in one of the jail's temporary
// directories. In the last case it adds the directory to the plan.
func (p *planner) existsInside(dir string) bool {
	below := func(root string) bool { return within(dir, root) }
	switch {
	case dir == "/", dir == "/usr", p.granted(dir):
		return true
	case slices.ContainsFunc(temporary, below):
		p.add("", jail.Mount{Kind: jail.Dir, Target: dir})
		return true
	}
	return slices.ContainsFunc(slices.Concat(essential, libraryDirs, dataDirs, programDirs), below)
}

// ownTemporary returns one of the jail's temporary directories; "" if all of them are granted.
func (p *planner) ownTemporary() string {
	taken := p.taken()
	for _, dir := range temporary {
		covers := func(path string) bool { return within(dir, path) }
		if realPath(dir) == dir && !slices.ContainsFunc(taken, covers) {
			return dir
		}
	}
	return ""
}

// taken returns the paths that the plugin must see: its program, its own files and everything
// granted by path.
func (p *planner) taken() []string {
	var taken []string
	for _, path := range append([]string{p.launch.Path}, p.opts.Own...) {
		taken = append(taken, realPath(path))
	}
	for _, g := range p.opts.Grants {
		if isFile(g) || g.Kind == capability.Exec {
			taken = append(taken, realPath(g.Path))
		}
	}
	return taken
}

// unused returns path. If path, or something below it, is in taken, unused adds a number.
func unused(path string, taken []string) string {
	for n := 1; ; n++ {
		try := path
		if n > 1 {
			try += "-" + strconv.Itoa(n)
		}
		if !slices.ContainsFunc(taken, func(other string) bool { return within(other, try) }) {
			return try
		}
	}
}

// homeLinks makes links in the program's home to the files that were granted in the user's home, so
// that ~ leads to them.
func (p *planner) homeLinks() {
	if p.ownHome == "" {
		return
	}
	for _, target := range outermost(p.plan.Mounts, func(m jail.Mount) bool {
		return (m.Kind == jail.Bind || m.Kind == jail.Link) && below(m.Target, p.usersHome)
	}) {
		p.add("", jail.Mount{Kind: jail.Link, Source: target, Target: p.ownHome + strings.TrimPrefix(target, p.usersHome)})
	}
}

// outermost returns the targets of the mounts that some selects, without those that lie below
// another of them.
func outermost(mounts []jail.Mount, some func(jail.Mount) bool) []string {
	var all []string
	for _, m := range mounts {
		if some(m) && !slices.Contains(all, m.Target) {
			all = append(all, m.Target)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(target string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return below(target, other) })
	})
}

// setEnv changes a variable of the program's environment, if it is set.
func (p *planner) setEnv(name, value string) {
	p.plan.Env = slices.Clone(p.plan.Env)
	for i, v := range p.plan.Env {
		if strings.HasPrefix(v, name+"=") {
			p.plan.Env[i] = name + "=" + value
		}
	}
}
