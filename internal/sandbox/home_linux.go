package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// places are the directories that a program may expect and that are its own: home, temporary files,
// where it works.
func (p *planner) places() {
	p.home()
	p.temporaryFiles()
	if p.plan.Dir != p.launch.Dir {
		return // at home
	}
	// Where it works it sees what it was granted, and otherwise an empty directory.
	dir := p.reach(p.launch.Dir)
	if _, err := os.Stat(dir); err == nil { // else the start will say so
		p.add("", jail.Mount{Kind: jail.Dir, Target: dir})
	}
}

// home gives the program a home of its own, and tells it where: in the jail's own /tmp. The user's
// home is then no more than a part of the path to what was granted in there, and nothing that may
// only be read lies in a place that may be written (see outside).
func (p *planner) home() {
	dir := p.named("HOME")
	if dir == "" || p.stays(dir) {
		return
	}
	place := p.ownTemporary()
	if place == "" {
		return // it has no home
	}
	own := unused(place+"/home", p.taken())
	p.add("", jail.Mount{Kind: jail.Dir, Target: own})
	p.setEnv("HOME", own)
	p.usersHome, p.ownHome = dir, own
	if realPath(p.launch.Dir) == dir {
		p.plan.Dir = own
	}
}

// temporaryFiles are in a directory that is the jail's own.
func (p *planner) temporaryFiles() {
	if dir := p.named("TMPDIR"); dir != "" && !p.stays(dir) {
		p.setEnv("TMPDIR", cmp.Or(p.ownTemporary(), "/tmp"))
	}
}

// named is the directory that a variable names, without links; empty where it names none, or
// nothing can be put elsewhere. The links on the way to the operator's own are there inside, too. A
// manifest may name another directory. Its links are followed only where it leads to what is
// granted: else the plugin would learn what a link of the operator's says.
func (p *planner) named(variable string) string {
	dir := env(p.plan.Env, variable)
	w := walk(dir)
	switch {
	case !filepath.IsAbs(dir) || p.plan.Simple:
		return ""
	case dir == env(p.opts.Environ, variable):
		return p.reach(dir)
	case len(w.links) == 0 || p.granted(w.end):
		return w.end
	}
	return noHome
}

// noHome is the home of accounts that have none.
const noHome = "/nonexistent"

// granted reports whether a path is, or lies in, something that may be read or changed.
func (p *planner) granted(path string) bool {
	return slices.ContainsFunc(p.opts.Grants, func(g capability.Capability) bool { return isFile(g) && within(path, realPath(g.Path)) })
}

// stays reports whether a directory that the environment names is there: because it is granted, or
// has to be as it is, or lies in one that is the jail's own.
func (p *planner) stays(dir string) bool {
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

// ownTemporary is a temporary directory that is the jail's own; empty where all of them are
// granted.
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

// taken are the paths of what the plugin is to see, as far as they are named.
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

// unused is a path by which none of the others leads, with a number where it has to be.
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

// homeLinks let ~ lead to what was granted in the user's home.
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

// outermost are the targets of some mounts, without those that lie in others of them.
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

// setEnv changes a variable of the program's.
func (p *planner) setEnv(name, value string) {
	p.plan.Env = slices.Clone(p.plan.Env)
	for i, v := range p.plan.Env {
		if strings.HasPrefix(v, name+"=") {
			p.plan.Env[i] = name + "=" + value
		}
	}
}
