package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

const (
	// Of each of /tmp, /var/tmp and /dev/shm: memory, so not without bound. A file without content
	// takes about 1 KiB.
	tempSize  = 256 << 20
	tempFiles = 1 << 16

	// ownThreads is what pid 1 of a jail needs for itself of the processes its user may have.
	ownThreads = 16
)

// plan is what the jail for one launch is to be. private is a directory for it alone, where there
// can be none in memory.
func (b *Box) plan(l proc.Launch, private string) (*draft, error) {
	p := &planner{launch: l, opts: &b.opts, origins: newOrigins(&b.opts), plan: &draft{Plan: jail.Plan{Path: l.Path, Argv: l.Argv, Env: l.Env, Dir: l.Dir, Files: l.Files}}}
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
	for _, step := range []func() error{p.grants, p.programs, p.own, p.firm, p.guard} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p.bar()
	p.homeLinks()
	p.order()
	p.uncover()
	if !b.opts.ReadAll && !p.plan.Simple {
		p.outside()
	}
	p.plan.NoUnix = p.plan.Simple || b.opts.ReadAll || slices.ContainsFunc(b.opts.Grants, isFile)
	p.plan.trees = p.plan.listTrees()
	if p.plan.Simple {
		p.plan.Attributes = attributesOf(&b.opts)
		p.plan.trees = p.plan.simpleTrees(private)
		p.access(private)
	}
	return p.plan, nil
}

// isFile reports whether a capability is about files of the outside. Sockets may be among them, and
// the kernel cannot yet keep a program from those alone: who has such a capability makes no sockets
// of that kind.
func isFile(g capability.Capability) bool {
	return g.Kind == capability.ReadFS || g.Kind == capability.WriteFS
}

// planner works a plan out.
type planner struct {
	launch proc.Launch
	opts   *Options
	plan   *draft

	origins origins

	startable []string // programs, and directories of which every file is one
	loaders   []string

	usersHome, ownHome string // the real one, and what the program has in its stead; empty: it has no other
}

// firm refuses a plan in which the plugin could change what it consists of: what it runs, the
// libraries it runs with, its own files and so its own manifest. It could put a link in their
// place, and see what it leads to at its next start.
func (p *planner) firm() error {
	if p.opts.ReadAll {
		return nil // what could be seen so can be seen anyway
	}
	if err := p.origins.firm(); err != nil {
		return err
	}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Bind || m.Write {
			continue
		}
		if grant := p.writable(m.Source); grant != "" {
			return &Refusal{Why: fmt.Sprintf("it may change %s, by write:fs:%s: move that out of there, or grant less", m.Source, grant)}
		}
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

// add adds mounts, and says for people why they are there. The links in what is bound are followed
// here: the jail follows none, so that nothing can be put in its place meanwhile.
func (p *planner) add(because string, mounts ...jail.Mount) {
	for _, m := range mounts {
		if m.Kind == jail.Bind {
			m.Source = realPath(m.Source)
		}
		p.plan.Mounts = append(p.plan.Mounts, m)
		p.plan.explain(m, because)
	}
}

// note adds something that is not as the plugin's author may expect.
func (p *planner) note(format string, args ...any) {
	p.plan.notes = append(p.plan.notes, fmt.Sprintf(format, args...))
}

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

// grants are what the plugin may read and change beside its own.
func (p *planner) grants() error {
	for _, g := range p.opts.Grants {
		if !isFile(g) {
			continue
		}
		if err := p.grant(g); err != nil {
			return err
		}
	}
	return nil
}

// grant mounts what may be read or written. What lies within something that may be written is not
// mounted a second time, and no link in there is followed: the plugin could have put it there, to a
// place it may not see.
func (p *planner) grant(g capability.Capability) error {
	w := walk(g.Path)
	if err := p.origins.leaves(g, w); err != nil {
		return err
	}
	if within(w.end, "/proc") || w.passes("/proc") {
		return grantProc(g, w)
	}
	write := g.Kind == capability.WriteFS
	for _, root := range p.origins.writable {
		if within(w.end, root) && (w.end != root || !write) {
			return nil
		}
	}
	if _, theirs := w.through(p.origins.writable); theirs {
		return nil
	}
	p.mountLinks(g.String(), w)
	p.add(g.String(), jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Write: write, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	return nil
}

// grantProc is grant for a path in /proc. The plugin has a /proc of its own, and reads there what
// it was granted to read. The host's would show it every process, and a link in there leads
// elsewhere for each process that follows it.
func grantProc(g capability.Capability, w way) error {
	switch {
	case !within(w.end, "/proc"):
		return &Refusal{Why: fmt.Sprintf("%s leads through /proc, where it means something else to every process: grant the path itself", g)}
	case g.Kind == capability.WriteFS:
		return &Refusal{Why: fmt.Sprintf("%s would change processes of the host: a plugin's /proc is its own; leave it out", g)}
	}
	return nil
}

// reach makes a path reachable under its own name: the links on the way to it are links inside,
// too. It returns where the way ends.
func (p *planner) reach(path string) string {
	w := walk(path)
	p.mountLinks("", w)
	return w.end
}

// visible reports whether a path is, or lies in, something that can be executed already. Of several
// mounts on the way to it the deepest counts.
func (p *planner) visible(path string) bool {
	best := jail.Mount{Kind: jail.Dir}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Dir && within(path, m.Target) && len(m.Target) >= len(best.Target) {
			best = m
		}
	}
	return best.Target == path || best.Kind == jail.Bind && best.Exec
}

// own adds the plugin's own files. They come last, so that what it may write does not hide them.
func (p *planner) own() error {
	for _, path := range p.opts.Own {
		w := walk(path)
		if l, loose := w.through(p.origins.writable); loose && !p.opts.ReadAll {
			return &Refusal{Why: fmt.Sprintf("it may change the link %s, by which its own files are found: grant less for writing", l.at)}
		}
		for _, l := range w.links {
			if !p.visible(l.at) {
				p.add("", jail.Mount{Kind: jail.Link, Source: l.target, Target: l.at})
			}
		}
		if w.exists() { // else the start will say so
			p.add(string(fromOwn), jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: true, Lend: true})
			p.mayStart(w.end)
		}
	}
	return nil
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

// access is the plan in the words of Landlock, for where there are no mounts: the outside itself,
// under its own names. What would be the plugin's own in memory is a directory on disk.
func (p *planner) access(private string) {
	for _, m := range p.plan.Mounts {
		switch m.Kind {
		case jail.Bind:
			p.plan.Access = append(p.plan.Access, access{Path: m.Source, Write: m.Write})
		case jail.Proc: // a link is nothing to be granted, only what it leads to
			p.plan.Access = append(p.plan.Access, access{Path: m.Target})
		}
	}
	for _, name := range nameFiles {
		p.plan.Access = append(p.plan.Access, access{Path: realPath(name)})
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
