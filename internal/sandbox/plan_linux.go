package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

const (
	// Of each of /tmp, /var/tmp and /dev/shm: memory, so not without bound. A file without content takes about 1 KiB.
	tempSize  = 256 << 20
	tempFiles = 1 << 16

	// ownThreads is what pid 1 of a jail needs for itself of the processes its user may have.
	ownThreads = 16
)

// plan is what the jail for one launch is to be. private is a directory for it alone, where there can be none in memory.
func (b *Box) plan(l proc.Launch, private string) (*draft, error) {
	p := &planner{launch: l, opts: &b.opts, plan: &draft{Plan: jail.Plan{Path: l.Path, Argv: l.Argv, Env: l.Env, Dir: l.Dir, Files: l.Files}}}
	p.plan.Simple = b.opts.System.simple()
	p.network()
	p.limits()
	if b.opts.ReadAll {
		p.everything()
	} else {
		p.base()
		p.places()
	}
	p.names()
	if b.opts.AnyProgram {
		p.allPrograms()
	}
	p.grants()
	p.programs(proc.Loads(l.Path, l.Env))
	p.own()
	p.bar()
	p.homeLinks()
	p.order()
	p.uncover()
	if !b.opts.ReadAll && !p.plan.Simple {
		p.outside()
	}
	p.plan.NoUnix = p.plan.Simple || b.opts.ReadAll || slices.ContainsFunc(b.opts.Grants, isFile)
	if err := p.firm(); err != nil {
		return nil, err
	}
	if p.plan.Simple {
		p.plan.Attributes = attributesOf(&b.opts)
		p.access(private)
	}
	return p.plan, nil
}

// isFile reports whether a capability is about files of the outside. Sockets may be among them, and the kernel cannot
// yet keep a program from those alone: who has such a capability makes no sockets of that kind.
func isFile(g capability.Capability) bool {
	return g.Kind == capability.ReadFS || g.Kind == capability.WriteFS
}

// planner works a plan out.
type planner struct {
	launch proc.Launch
	opts   *Options
	plan   *draft
	loose  []string // links within what the plugin may write, on the way to what it runs

	startable []string // programs, and directories of which every file is one
	loaders   []string

	usersHome, ownHome string // the real one, and what the program has in its stead; empty: it has no other
}

// firm refuses a plan in which the plugin could change what it consists of: what it runs, the libraries it runs with, its own
// files and so its own manifest. It could put a link in their place, and see what it leads to at its next start.
func (p *planner) firm() error {
	if p.opts.ReadAll {
		return nil // what could be seen so can be seen anyway
	}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Bind || m.Write {
			continue
		}
		if grant := p.writable(m.Source); grant != "" {
			return fmt.Errorf("it may change %s, by write:fs:%s: move that out of there, or grant less", m.Source, grant)
		}
	}
	if len(p.loose) > 0 {
		return fmt.Errorf("it may change the link %s, by which its program is found: grant less", p.loose[0])
	}
	return nil
}

// writable is the path of the grant by which something may be changed, empty where there is none.
func (p *planner) writable(path string) string {
	for _, g := range p.opts.Grants {
		if g.Kind == capability.WriteFS && within(path, realPath(g.Path)) {
			return g.Path
		}
	}
	return ""
}

// reachOwn is reach for what the plugin runs.
func (p *planner) reachOwn(path string) string {
	end, theirs := p.reach(path)
	if theirs {
		p.loose = append(p.loose, path)
	}
	return end
}

func (p *planner) add(m ...jail.Mount) { p.plan.Mounts = append(p.plan.Mounts, m...) }

// mayExecute adds a file, or a directory with all below.
func (p *planner) mayExecute(path string) {
	if !slices.Contains(p.plan.Exec, path) {
		p.plan.Exec = append(p.plan.Exec, path)
	}
}

// mayStart adds what may be executed as a program, and not only as a loader of others.
func (p *planner) mayStart(path string) {
	p.startable = append(p.startable, path)
	p.mayExecute(path)
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
		*n, p.plan.Loopback = jail.Net{Shared: true}, nil
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
	if isLoopback(g.Host) && !slices.Contains(p.plan.Loopback, port) {
		p.plan.Loopback = append(p.plan.Loopback, port)
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

// grants are what the plugin may read, change and execute beside its own.
func (p *planner) grants() {
	for _, g := range p.opts.Grants {
		switch g.Kind {
		case capability.ReadFS, capability.WriteFS:
			p.grant(g)
		case capability.Exec:
			p.programs(proc.Loads(g.Path, p.launch.Env))
		}
	}
}

// grant mounts what may be read or written. What lies within something that may be written is not mounted a second time, and no
// link in there is followed: the plugin could have put it there, to a place it may not see.
func (p *planner) grant(g capability.Capability) {
	path, theirs := p.reach(g.Path)
	write := g.Kind == capability.WriteFS
	for _, other := range p.opts.Grants {
		root := realPath(other.Path)
		if other.Kind == capability.WriteFS && within(path, root) && (path != root || !write) {
			return
		}
	}
	if !theirs {
		p.add(jail.Mount{Kind: jail.Bind, Source: path, Target: path, Write: write, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	}
}

// maxLinks is how many links in a row are followed, as by the kernel.
const maxLinks = 40

// reach makes a path reachable under its own name: the links on the way to it are links inside, too. It returns where the
// way ends, and whether one of the links lies within what the plugin may write.
func (p *planner) reach(path string) (end string, theirs bool) {
	return follow(path, func(link, target string) bool {
		if !p.visible(link) {
			p.add(jail.Mount{Kind: jail.Link, Source: target, Target: link})
		}
		return slices.ContainsFunc(p.opts.Grants, func(g capability.Capability) bool {
			return g.Kind == capability.WriteFS && g.Path != link && within(link, g.Path)
		})
	})
}

// realPath is where a path ends when all its links are followed; what is not there is as it is written.
func realPath(path string) string {
	end, _ := follow(path, func(string, string) bool { return false })
	return end
}

// follow goes a path from the root on, as the kernel would, and shows each link on the way. It returns where the way ends, and whether
// some link was found to be one of those that are asked about.
func follow(path string, found func(link, target string) bool) (end string, any bool) {
	at, rest := "/", path
	for links := 0; rest != ""; {
		name, after, _ := strings.Cut(rest, "/")
		next := filepath.Join(at, name) // also for "", "." and ".."
		target, err := os.Readlink(next)
		if err != nil || name == "" || name == "." || name == ".." || links == maxLinks {
			at, rest = next, after
			continue
		}
		links++
		any = found(next, target) || any
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = target + "/" + after
	}
	return at, any
}

// programs makes files executable, with the libraries that lie beside them.
func (p *planner) programs(programs, loaders []string) {
	for _, file := range programs {
		p.mayStart(file)
		p.program(file)
	}
	for _, file := range loaders {
		p.loaders = append(p.loaders, file)
		p.mayExecute(file)
		p.program(file)
	}
}

// program makes one file visible, by all the links that lead to it.
func (p *planner) program(file string) {
	for range maxLinks {
		dir := p.reachOwn(filepath.Dir(file))
		file = filepath.Join(dir, filepath.Base(file))
		p.libraries(file)
		target, err := os.Readlink(file)
		if err != nil {
			break
		}
		if p.writable(file) != "" {
			p.loose = append(p.loose, file)
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

// visible reports whether a path is, or lies in, something that can be executed already. Of several mounts on the way to it the
// deepest counts.
func (p *planner) visible(path string) bool {
	best := jail.Mount{Kind: jail.Dir}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Dir && within(path, m.Target) && len(m.Target) >= len(best.Target) {
			best = m
		}
	}
	return best.Target == path || best.Kind == jail.Bind && best.Exec
}

// own are the plugin's own files. They come last, so that what it may write does not hide them.
func (p *planner) own() {
	for _, path := range p.opts.Own {
		real := p.reachOwn(path)
		if _, err := os.Lstat(real); err != nil {
			continue // the start will say so
		}
		p.add(jail.Mount{Kind: jail.Bind, Source: real, Target: real, Exec: true, Lend: true})
		p.mayStart(real)
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
			p.plan.Access = append(p.plan.Access, access{Path: m.Source, Write: m.Write})
		case jail.Proc: // a link is nothing to be granted, only what it leads to
			p.plan.Access = append(p.plan.Access, access{Path: m.Target})
		}
	}
	for _, name := range []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/host.conf"} {
		p.plan.Access = append(p.plan.Access, access{Path: name})
	}
	p.plan.Access = append(p.plan.Access, access{Path: private, Write: true})
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
