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
	// tempSize and tempFiles bound each of /tmp, /var/tmp and /dev/shm, since they use memory. A
	// file without content takes about 1 KiB.
	tempSize  = 256 << 20
	tempFiles = 1 << 16

	// ownThreads is the number of threads that pid 1 of a jail uses itself. They count against the
	// limit on processes.
	ownThreads = 16
)

// plan returns the plan of the jail for one launch. private is a directory for this launch alone.
// It is used where the jail can have no directories in memory.
func (b *Box) plan(l proc.Launch, private string) (*draft, error) {
	p := &planner{launch: l, opts: &b.opts, origins: newOrigins(&b.opts), plan: &draft{Plan: jail.Plan{Path: l.Path, Argv: l.Argv, Env: l.Env, Dir: l.Dir, Files: l.Files}}}
	p.plan.Simple = b.opts.System.simple()
	p.network()
	p.limits()
	if b.opts.ReadAll {
		p.mountEverything()
	} else {
		p.base()
		p.places()
	}
	p.provideNameFiles()
	if b.opts.AnyProgram {
		p.allPrograms()
	}
	for _, step := range []func() error{p.grants, p.programs, p.own, p.refuseSelfChange, p.guard} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p.barLoaders()
	p.homeLinks()
	p.order()
	p.dropCovered()
	if !b.opts.ReadAll && !p.plan.Simple {
		p.moveOutside()
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

// isFile reports whether a capability grants files outside the jail. Sockets may be among those
// files, and the kernel cannot yet refuse just these, so a plugin with such a capability may not
// create Unix sockets other than pairs, which are connected only to each other.
func isFile(g capability.Capability) bool {
	return g.Kind == capability.ReadFS || g.Kind == capability.WriteFS
}

// A planner builds the plan of one launch.
type planner struct {
	launch proc.Launch
	opts   *Options
	plan   *draft

	origins origins

	startable []string // programs that may be started, and directories in which every file may be
	loaders   []string

	usersHome, ownHome string // the user's home, and the home that the program gets instead; empty if it gets none
}

// refuseSelfChange refuses a plan in which the plugin could change the files that its sandbox is
// built from: its program, its libraries, and its own files with its manifest. Otherwise the plugin
// could replace one of them with a link and see the link's target at its next start.
func (p *planner) refuseSelfChange() error {
	if p.opts.ReadAll {
		return nil // it may read everything anyway
	}
	if err := p.origins.refuseWritableLinks(); err != nil {
		return err
	}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Bind || m.Write {
			continue
		}
		if grant := p.writable(m.Source); grant != "" {
			return &Refusal{Why: fmt.Sprintf("it may change %s, by write:fs:%s: move it out of that directory, or grant less", m.Source, grant)}
		}
	}
	return nil
}

// writable returns the path of the write:fs: grant that covers path, or "" if none does.
func (p *planner) writable(path string) string {
	for _, g := range p.opts.Grants {
		if g.Kind == capability.WriteFS && within(path, realPath(g.Path)) {
			return g.Path
		}
	}
	return ""
}

// add adds mounts to the plan and records the reason for people. It resolves the links in the
// source of a bind mount, because the jail follows none. So the source cannot be redirected between
// plan and mount.
func (p *planner) add(because string, mounts ...jail.Mount) {
	for _, m := range mounts {
		if m.Kind == jail.Bind {
			m.Source = realPath(m.Source)
		}
		p.plan.Mounts = append(p.plan.Mounts, m)
		p.plan.explain(m, because)
	}
}

// mayExecute allows a file, or a directory with everything below it, to be executed.
func (p *planner) mayExecute(path string) {
	if !slices.Contains(p.plan.Exec, path) {
		p.plan.Exec = append(p.plan.Exec, path)
	}
}

// mayStart allows path to be started as a program. A path that was passed only to mayExecute can be
// started too, unless it is a loader: barLoaders keeps that from being started directly.
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

// port adds the port of a granted host to the plan.
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

// limits adds the resource limits to the plan. They are set inside the jail, where the user's
// processes are counted from zero.
func (p *planner) limits() {
	running := ownThreads
	if p.plan.Simple {
		running = -1
	}
	for _, l := range p.launch.Limits.Rlimits(running) {
		p.plan.Limits = append(p.plan.Limits, jail.Limit{Resource: l.Resource, Cur: l.Cur, Max: l.Max})
	}
}

// grants mounts the files that were granted.
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

// grant mounts the files of one grant. A path within something that may be written is not mounted a
// second time, and no link in there is followed: the plugin could have put the link there, to see
// its target.
func (p *planner) grant(g capability.Capability) error {
	w := walk(g.Path)
	if err := p.origins.checkGrant(g, w); err != nil {
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
	if !write && !w.exists() {
		p.plan.absent = append(p.plan.absent, Tree{g.Path, Absent, g.String()})
	}
	p.mountLinks(g.String(), w)
	p.add(g.String(), jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Write: write, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	return nil
}

// grantProc checks a grant of a path in /proc. The plugin has its own /proc and reads the granted
// path there. The host's /proc would show it every process, and the links in there lead elsewhere
// for each process that follows them.
func grantProc(g capability.Capability, w way) error {
	switch {
	case !within(w.end, "/proc"):
		return &Refusal{Why: fmt.Sprintf("%s leads through /proc, whose links lead elsewhere for each process: grant the path itself", g)}
	case g.Kind == capability.WriteFS:
		return &Refusal{Why: fmt.Sprintf("%s would change processes of the host: a plugin's /proc is its own; leave it out", g)}
	}
	return nil
}

// reach recreates the links on the way to a path inside the jail, so that the path works there. It
// returns the path without links.
func (p *planner) reach(path string) string {
	w := walk(path)
	p.mountLinks("", w)
	return w.end
}

// visible reports whether a path is already mounted: as itself, or within a bind mount that allows
// execution. The deepest mount on the way to it counts.
func (p *planner) visible(path string) bool {
	best := jail.Mount{Kind: jail.Dir}
	for _, m := range p.plan.Mounts {
		if m.Kind != jail.Dir && within(path, m.Target) && len(m.Target) >= len(best.Target) {
			best = m
		}
	}
	return best.Target == path || best.Kind == jail.Bind && best.Exec
}

// own adds the plugin's own files. They are added last, so that a writable grant does not hide
// them.
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
		if w.exists() { // if it is missing, the start reports it
			p.add(string(fromOwn), jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: true, Lend: true})
			p.mayStart(w.end)
		}
	}
	return nil
}

// order sorts the mounts by depth, because a mount must follow the mounts above it. Mounts of the
// same depth keep their order, and the later one covers the earlier one. Repeated mounts, and
// repeated links at one path, are removed.
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

// access translates the mounts into Landlock rules, for a sandbox without namespaces. There the
// plugin uses the machine's own paths, and the directory private takes the place of the directories
// in memory.
func (p *planner) access(private string) {
	for _, m := range p.plan.Mounts {
		switch m.Kind {
		case jail.Bind:
			p.plan.Access = append(p.plan.Access, access{Path: m.Source, Write: m.Write})
		case jail.Proc: // links need no rule; their targets have one
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

// without returns an environment without the named variables.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}
