package sandbox

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// moveOutside moves read-only mounts out of the writable directories in memory, for example a grant
// below /tmp. A read-only mount does not keep a program from writing to a named pipe. Landlock
// does, but its rules add up along the path: a right that is allowed in /tmp is allowed in
// everything below, and no rule takes it back. So moveOutside mounts them below /outside and puts a
// link at their old path.
//
// If the whole file system is mounted, nothing is moved, because nothing can be added to it.
func (p *planner) moveOutside() {
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

// dropCovered removes from the plan the directories in memory that a granted directory covers:
// Landlock rules go by path, and would allow writing to it. A directory that hides one of
// Patchbay's places stays.
func (p *planner) dropCovered() {
	granted := make(map[string]bool)
	for _, m := range p.plan.Mounts {
		granted[m.Target] = granted[m.Target] || m.Kind == jail.Bind
	}
	p.plan.Mounts = slices.DeleteFunc(p.plan.Mounts, func(m jail.Mount) bool { return m.Kind == jail.Temp && granted[m.Target] && !p.isHidden(m.Target) })
}

// inMemory reports whether the nearest mount above a path is a directory in memory.
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

// linksBack returns links from place to the mounts that were not moved, so that ".." in a moved
// path still leads to them.
func (p *planner) linksBack(place string, moved []string) []jail.Mount {
	var links []jail.Mount
	for _, target := range outermost(p.plan.Mounts, func(m jail.Mount) bool {
		return (m.Kind == jail.Bind || m.Kind == jail.Link) && p.inMemory(m.Target) && move(m.Target, place, moved) == m.Target
	}) {
		links = append(links, jail.Mount{Kind: jail.Link, Source: target, Target: place + target})
	}
	return links
}

// move returns where path is found after the trees in moved have been relocated under place.
func move(path, place string, moved []string) string {
	if slices.ContainsFunc(moved, func(target string) bool { return within(path, target) }) {
		return place + path
	}
	return path
}
