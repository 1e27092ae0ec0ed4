package sandbox

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// outside takes what may only be read out of the directories that may be written: what is granted
// below /tmp, say. A mount that is read-only does not keep a program from writing into a named
// pipe, and Landlock does only where no rule allows it: its rules add up along the path, so what is
// allowed in /tmp is allowed in all that lies there, and no rule takes it back. So nothing that may
// only be read may lie there. It is mounted below /outside instead, and a link leads to it from
// where it was.
//
// Where the whole file system is in sight, there is no place for it: nothing can be added to that.
func (p *planner) outside() {
	if slices.ContainsFunc(p.plan.Mounts, func(m jail.Mount) bool { return m.Kind == jail.Bind && m.Target == "/" }) {
		return
	}
	moved := outermost(p.plan.Mounts, func(m jail.Mount) bool { return m.Kind == jail.Bind && !m.Write && p.inMemory(m.Target) })
	if len(moved) == 0 {
		return
	}
	var taken []string
	for _, m := range p.plan.Mounts {
		taken = append(taken, m.Target)
	}
	place := unused("/outside", taken)
	back := p.linksBack(place, moved)
	for i := range p.plan.Mounts {
		p.plan.Mounts[i].Target = move(p.plan.Mounts[i].Target, place, moved)
	}
	for i, path := range p.plan.Exec {
		p.plan.Exec[i] = move(path, place, moved)
	}
	for _, target := range moved {
		p.add("", jail.Mount{Kind: jail.Link, Source: place + target, Target: target})
	}
	p.add("", back...)
	p.order()
}

// uncover takes those directories in memory out of the plan over which something lies that was
// granted: what may be written is told by its path. One that hides a place of Patchbay's stays.
func (p *planner) uncover() {
	granted := make(map[string]bool)
	for _, m := range p.plan.Mounts {
		granted[m.Target] = granted[m.Target] || m.Kind == jail.Bind
	}
	p.plan.Mounts = slices.DeleteFunc(p.plan.Mounts, func(m jail.Mount) bool { return m.Kind == jail.Temp && granted[m.Target] && !p.isHidden(m.Target) })
}

// inMemory reports whether what lies nearest above a path is a directory in memory.
func (p *planner) inMemory(path string) bool {
	if !slices.ContainsFunc(temporary, func(dir string) bool { return below(path, dir) }) {
		return false
	}
	var nearest jail.Mount
	for _, m := range p.plan.Mounts {
		if (m.Kind == jail.Bind || m.Kind == jail.Temp) && below(path, m.Target) && len(m.Target) >= len(nearest.Target) {
			nearest = m
		}
	}
	return nearest.Kind == jail.Temp
}

// linksBack lead from the new place to what has stayed, so that ".." is as good as before.
func (p *planner) linksBack(place string, moved []string) []jail.Mount {
	var links []jail.Mount
	for _, target := range outermost(p.plan.Mounts, func(m jail.Mount) bool {
		return (m.Kind == jail.Bind || m.Kind == jail.Link) && p.inMemory(m.Target) && move(m.Target, place, moved) == m.Target
	}) {
		links = append(links, jail.Mount{Kind: jail.Link, Source: target, Target: place + target})
	}
	return links
}

// move is where a path leads when what is moved has been.
func move(path, place string, moved []string) string {
	if slices.ContainsFunc(moved, func(target string) bool { return within(path, target) }) {
		return place + path
	}
	return path
}
