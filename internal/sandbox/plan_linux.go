package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

const (
	tempSize = 256 << 20 // of /tmp and of /dev/shm: memory, so not without bound
	homeSize = 64 << 20

	// ownThreads is what pid 1 of a jail needs for itself of the processes its user may have.
	ownThreads = 16
)

// plan is what the jail for one launch is to be. private is a directory for it alone, where there can be none in memory.
func (b *Box) plan(l proc.Launch, private string) *jail.Plan {
	p := &planner{launch: l, opts: &b.opts, plan: &jail.Plan{Path: l.Path, Argv: l.Argv, Env: l.Env, Dir: l.Dir, Files: l.Files}}
	p.plan.Simple = b.opts.System.simple()
	p.network()
	p.limits()
	if b.opts.ReadAll {
		p.everything()
	} else {
		p.base()
		p.places()
	}
	if b.opts.AnyProgram {
		p.allPrograms()
	}
	p.grants()
	p.programs(proc.Loads(l.Path, l.Env))
	p.own()
	p.order()
	if p.plan.Simple {
		p.access(private)
	}
	return p.plan
}

// planner works a plan out.
type planner struct {
	launch proc.Launch
	opts   *Options
	plan   *jail.Plan
}

func (p *planner) add(m ...jail.Mount) { p.plan.Mounts = append(p.plan.Mounts, m...) }

// mayExecute adds a file, or a directory with all below.
func (p *planner) mayExecute(path string) {
	if !slices.Contains(p.plan.Exec, path) {
		p.plan.Exec = append(p.plan.Exec, path)
	}
}

func (p *planner) network() {
	n := &p.plan.Net
	for _, g := range p.opts.Grants {
		switch g.Kind {
		case capability.NetAny:
			n.Shared = true
		case capability.NetHost:
			n.Broker = true
			p.port(g)
		}
	}
	if n.Shared {
		*n = jail.Net{Shared: true}
	}
	p.plan.Sockets = n.Shared || n.Broker
}

// port notes the port of a grant.
func (p *planner) port(g capability.Capability) {
	n := &p.plan.Net
	port := uint16(g.Port)
	n.AllPorts = n.AllPorts || g.AnyPort
	if !slices.Contains(n.Ports, port) && !g.AnyPort {
		n.Ports = append(n.Ports, port)
	}
	if isLoopback(g.Host) && !slices.Contains(n.Loopback, port) {
		n.Loopback = append(n.Loopback, port)
	}
}

// limits are set inside, where the user's processes are counted from zero.
func (p *planner) limits() {
	running := ownThreads
	if p.plan.Simple {
		running = -1
	}
	for _, l := range p.launch.Limits.Rlimits(running) {
		p.plan.Limits = append(p.plan.Limits, jail.Limit{Resource: l.Resource, Cur: l.Cur, Max: l.Max})
	}
}

// places are the directories that a program may expect and that are its own: home, temporary files, where it works.
func (p *planner) places() {
	if home := env(p.launch.Env, "HOME"); suitable(home) {
		p.add(jail.Mount{Kind: jail.Temp, Target: filepath.Clean(home), Size: homeSize})
	}
	if tmp := env(p.launch.Env, "TMPDIR"); suitable(tmp) {
		kind := jail.Temp
		if within(tmp, "/tmp") {
			kind = jail.Dir // in the jail's own
		}
		p.add(jail.Mount{Kind: kind, Target: filepath.Clean(tmp), Size: tempSize})
	}
	// Where it works it sees what it was granted, and otherwise an empty directory.
	p.add(jail.Mount{Kind: jail.Dir, Target: p.launch.Dir})
}

// suitable reports whether a directory named in the environment can be replaced by an empty one.
func suitable(dir string) bool {
	return filepath.IsAbs(dir) && filepath.Clean(dir) != "/" && !slices.Contains(essential, filepath.Clean(dir)) && filepath.Clean(dir) != "/tmp"
}

// grants are what the plugin may read, change and execute beside its own.
func (p *planner) grants() {
	for _, g := range p.opts.Grants {
		switch {
		case p.covered(g):
		case g.Kind == capability.ReadFS:
			p.add(jail.Mount{Kind: jail.Bind, Source: g.Path, Target: g.Path, Lend: true, Missing: true})
		case g.Kind == capability.WriteFS:
			p.add(jail.Mount{Kind: jail.Bind, Source: g.Path, Target: g.Path, Write: true, Lend: true, Missing: true})
		case g.Kind == capability.Exec:
			p.programs(proc.Loads(g.Path, p.launch.Env))
		}
	}
}

// covered reports whether a path lies within another that may be written. It is not mounted a second time: the plugin could
// have put a link there, to a place it may not see.
func (p *planner) covered(g capability.Capability) bool {
	if g.Kind != capability.ReadFS && g.Kind != capability.WriteFS {
		return false
	}
	for _, other := range p.opts.Grants {
		if other.Kind == capability.WriteFS && other.Path != g.Path && within(g.Path, other.Path) {
			return true
		}
	}
	return false
}

// programs makes files executable, with the libraries that lie beside them.
func (p *planner) programs(files []string) {
	for _, file := range files {
		p.mayExecute(file)
		p.program(file)
	}
}

// maxLinks is how many links in a row are followed, as by the kernel.
const maxLinks = 40

// program makes one file visible, by all the links that lead to it.
func (p *planner) program(file string) {
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil {
			return // it is not there: the start will say so
		}
		p.linked(filepath.Dir(file), dir)
		file = filepath.Join(dir, filepath.Base(file))
		p.libraries(file)
		target, err := os.Readlink(file)
		if err != nil {
			break
		}
		if !p.visible(file) {
			p.add(jail.Mount{Kind: jail.Link, Source: target, Target: file})
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		file = target
	}
	p.mayExecute(file)
	if !p.visible(file) {
		p.add(jail.Mount{Kind: jail.Bind, Source: file, Target: file, Exec: true, Lend: true, Missing: true})
	}
}

// linked makes a directory reachable under the name by which it was asked for, where that goes through links.
func (p *planner) linked(name, real string) {
	if name == real || p.visible(name) {
		return
	}
	for at := name; at != "/"; at = filepath.Dir(at) {
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if !p.visible(at) {
			p.add(jail.Mount{Kind: jail.Link, Source: target, Target: at})
		}
		return
	}
}

// libraries are what belongs to a program that was installed in a place of its own, such as an interpreter in a user's home:
// what lies in lib beside its bin.
func (p *planner) libraries(file string) {
	bin := filepath.Dir(file)
	prefix := filepath.Dir(bin)
	if filepath.Base(bin) != "bin" || prefix == "/" || prefix == "/usr" || prefix == "/usr/local" {
		return // those are everybody's
	}
	for _, name := range []string{"lib", "lib64", "pyvenv.cfg"} {
		path := filepath.Join(prefix, name)
		if _, err := os.Lstat(path); err == nil && !p.visible(path) {
			p.add(jail.Mount{Kind: jail.Bind, Source: path, Target: path, Exec: true, Missing: true})
		}
	}
}

// visible reports whether a path is, or lies in, something that can be executed already.
func (p *planner) visible(path string) bool {
	return slices.ContainsFunc(p.plan.Mounts, func(m jail.Mount) bool {
		return m.Target == path && m.Kind != jail.Dir || m.Kind == jail.Bind && m.Exec && within(path, m.Target)
	})
}

// own are the plugin's own files. They come last, so that what it may write does not hide them.
func (p *planner) own() {
	for _, path := range p.opts.Own {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // the start will say so
		}
		p.linked(path, real)
		p.add(jail.Mount{Kind: jail.Bind, Source: real, Target: real, Exec: true, Lend: true})
		p.mayExecute(real)
	}
}

// order puts what lies deeper later; otherwise the order stays, and the later one lies on top.
func (p *planner) order() {
	depth := func(m jail.Mount) int { return strings.Count(strings.TrimSuffix(m.Target, "/"), "/") }
	slices.SortStableFunc(p.plan.Mounts, func(a, b jail.Mount) int { return cmp.Compare(depth(a), depth(b)) })
	p.plan.Mounts = slices.CompactFunc(p.plan.Mounts, func(a, b jail.Mount) bool { return a == b })
	seen := make(map[string]bool)
	p.plan.Mounts = slices.DeleteFunc(p.plan.Mounts, func(m jail.Mount) bool {
		if m.Kind != jail.Link {
			return false
		}
		again := seen[m.Target]
		seen[m.Target] = true
		return again
	})
}

// access is the plan in the words of Landlock, for where there are no mounts: the outside itself, under its own names. What would
// be the plugin's own in memory is a directory on disk.
func (p *planner) access(private string) {
	for _, m := range p.plan.Mounts {
		switch m.Kind {
		case jail.Bind:
			p.plan.Access = append(p.plan.Access, jail.Access{Path: m.Source, Write: m.Write})
		case jail.Link, jail.Proc:
			p.plan.Access = append(p.plan.Access, jail.Access{Path: m.Target})
		}
	}
	for _, name := range []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/host.conf"} {
		p.plan.Access = append(p.plan.Access, jail.Access{Path: name})
	}
	p.plan.Access = append(p.plan.Access, jail.Access{Path: private, Write: true})
	p.plan.Env = append([]string{"HOME=" + private, "TMPDIR=" + private}, without(p.plan.Env, "HOME", "TMPDIR")...)
	p.plan.Mounts = nil
}

// without is an environment less some variables.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}

// env is a variable's value; the first counts.
func env(list []string, name string) string {
	for _, v := range list {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// within reports whether a path is a directory or lies below it.
func within(path, dir string) bool {
	if dir == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(filepath.Clean(path), dir)
	return ok && (rest == "" || rest[0] == '/')
}
