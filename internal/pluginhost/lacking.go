package pluginhost

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// What a plugin lacked, if its message does not say which host or which granted path it needs.
const (
	someHost = string(capability.NetHost) + ":HOST:PORT"
	somePath = string(capability.WriteFS) + ":PATH"
)

// mostLacking limits how many capabilities are suggested for one failure.
const mostLacking = 3

// A lackingError is the failure of a confined plugin whose message or stderr names files or
// programs that exist on this machine but not in its sandbox.
type lackingError struct {
	error
	fix string // how to give the plugin the capabilities that would show these to it
}

func (e *lackingError) Unwrap() error { return e.error }

// Error leaves out the fix of the failure itself, which Fix replaces.
func (e *lackingError) Error() string {
	message, _ := splitFix(e.error)
	return message
}

func (e *lackingError) Fix() string { return e.fix }

// lackingFix returns the fix for a failure of a confined plugin with this message. It returns "" if
// the message does not show that the sandbox is the reason.
func (h *Host) lackingFix(e *entry, text string) string {
	grants := h.lacking(e, text)
	if held := e.heldBack(grants); len(held) > 0 {
		return fmt.Sprintf("it declares %s, which you have not trusted yet: patchbay plugin trust %s", strings.Join(held, " and "), e.found.Name)
	}
	return grantFix(grants)
}

// heldBack returns those of the lacking capabilities that the plugin declares, and that are
// withheld because it was recorded without them.
func (e *entry) heldBack(grants []string) []string {
	return slices.DeleteFunc(slices.Clone(e.trust.Withheld), func(held string) bool {
		return !slices.ContainsFunc(grants, func(g string) bool {
			return g == held || isHost(g) && isHost(held) ||
				g == somePath && strings.HasPrefix(held, string(capability.WriteFS)+":")
		})
	})
}

func isHost(grant string) bool { return strings.HasPrefix(grant, string(capability.NetHost)+":") }

// grantFix returns a fix that suggests capabilities, or "" without any.
func grantFix(grants []string) string {
	if len(grants) == 0 {
		return ""
	}
	what, also := "show it", ""
	switch {
	case grants[0] == someHost:
		return "its sandbox has no network; if it may connect to a host, add to its capabilities: " + someHost
	case isHost(grants[0]):
		return "its sandbox does not let it connect to that host; if it may, add to its capabilities: " + grants[0]
	case grants[0] == somePath:
		return "it may write only to /tmp and to granted paths, not to its own directory; if it may write elsewhere, add to its capabilities: " + somePath
	case strings.HasPrefix(grants[0], string(capability.WriteFS)):
		what = "let it write"
	case slices.ContainsFunc(grants, func(g string) bool { return strings.HasPrefix(g, string(capability.ReadFS)) }):
		also = " (write:fs: in place of read:fs: for what it also writes)"
	}
	return fmt.Sprintf("its error names files that its sandbox does not %s; if it may have them, add to its capabilities: %s%s", what, strings.Join(grants, ", "), also)
}

// suggestCapabilities adds to the error of a confined plugin the capabilities that it probably
// lacked.
func (h *Host) suggestCapabilities(e *entry, err error) error {
	failed, ok := errors.AsType[*hook.Error](err)
	if !ok {
		return err
	}
	if fix := h.lackingFix(e, failed.Stderr); fix != "" {
		return &lackingError{err, fix}
	}
	return err
}

// suggestForSteps does the same for the failures in an outcome. A refusal that ends the event is
// left as it is, because the plugin means to refuse, whatever files it names.
func (h *Host) suggestForSteps(out *hook.Outcome) {
	for i := range out.Steps {
		s := &out.Steps[i]
		if s.Err == nil || s.Err.Err == nil || s.Err.Kind == hook.Refused && s.Action != hook.ActionSkip {
			continue
		}
		if fix := h.stepLacks(s); fix != "" {
			s.Err.Err = &lackingError{s.Err.Err, fix}
		}
	}
}

// stepLacks returns the fix for a failed step whose plugin probably lacked capabilities. It judges
// by what the plugin wrote. The messages of other failures are Patchbay's, and name other paths.
func (h *Host) stepLacks(s *hook.Step) string {
	text := s.Err.Stderr
	if s.Err.Kind == hook.Refused || s.Err.Kind == hook.Crash {
		text = s.Err.Cause() + "\n" + text
	}
	for _, e := range h.roster().entries {
		if e.info.Name == s.Plugin && e.found.Dialect == s.Dialect && e.plugin != nil {
			return h.lackingFix(e, text)
		}
	}
	return ""
}

// lacking returns capabilities that a confined plugin probably needs, to judge by one of its
// messages. It returns one for each file and program that the message names, if that exists on this
// machine but not in the sandbox, or if the plugin could not write it. If the message names no file
// or host, it returns somePath or someHost.
func (h *Host) lacking(e *entry, text string) []string {
	if e.policy == nil || text == "" {
		return nil
	}
	found := append(missingPrograms(text, h.setup().Environ), missingFiles(text, h.setup().Environ)...)
	if readOnly.Regexp().MatchString(text) {
		found = unwritable(text)
	}
	var grants []string
	for _, g := range found {
		if !e.shows(g) && !slices.Contains(grants, g.String()) && len(grants) < mostLacking {
			grants = append(grants, g.String())
		}
	}
	if len(grants) == 0 {
		return e.policy.lacksSome(text)
	}
	return grants
}

// lacksSome returns what a plugin lacked, to judge by a message that names no path or host.
func (p *policy) lacksSome(text string) []string {
	if readOnly.Regexp().MatchString(text) {
		return []string{somePath}
	}
	to, named := unreached(text)
	switch {
	case named && p.cutOff(to):
		return []string{to.String()}
	case !p.connects() && noNetwork.Regexp().MatchString(text):
		return []string{someHost}
	}
	return nil
}

// cutOff reports whether the sandbox is the reason why a plugin did not reach a host. If it may
// connect to other hosts, that is certain only for this machine: the address of another host may
// belong to a name that was granted.
func (p *policy) cutOff(to capability.Capability) bool {
	return !p.connects() || local(to) && !slices.ContainsFunc(p.grants, func(g capability.Capability) bool {
		return g.Kind == capability.NetAny || local(g) && (g.AnyPort || g.Port == to.Port)
	})
}

// local reports whether a host is this machine.
func local(c capability.Capability) bool {
	address, err := netip.ParseAddr(c.Host)
	return c.Host == "localhost" || err == nil && address.IsLoopback()
}

// unreached returns the host of the failed connection that a message names.
func unreached(text string) (capability.Capability, bool) {
	match := failedTo.Regexp().FindStringSubmatch(text)
	if match == nil {
		return capability.Capability{}, false
	}
	host := strings.Trim(match[1]+match[3]+match[5], "[]")
	c, err := capability.Parse(string(capability.NetHost) + ":" + net.JoinHostPort(host, match[2]+match[4]+match[6]))
	return c, err == nil
}

// connects reports whether a plugin may connect to any host.
func (p *policy) connects() bool {
	return slices.ContainsFunc(p.grants, func(g capability.Capability) bool {
		return g.Kind == capability.NetHost || g.Kind == capability.NetAny
	})
}

// shows reports whether a plugin can already use the file or program of a capability, at its path
// or at the target of its links.
func (e *entry) shows(g capability.Capability) bool {
	start := g.Kind == capability.Exec && !e.policy.anyProgram
	return e.mounts.show(g.Path, start) || e.mounts.show(realPath(g.Path), start)
}

// ToolFix returns the fix for a tool that failed with this message. It returns "" if the message
// does not show that the plugin's sandbox is the reason.
func (h *Host) ToolFix(tool, message string) string {
	if e := h.roster().toolOwner(tool); e != nil {
		return h.lackingFix(e, message)
	}
	return ""
}

var (
	// notFound matches the messages about a missing program of shells and env ("run: line 3: jq:
	// command not found"), Python, Node, Go and Bun.
	notFound = []pattern.Pattern{
		pattern.New(`(?m)([A-Za-z0-9._+-]+)['"’]?: (?:command )?(?:not found|No such file or directory)\s*$`),
		pattern.New(`No such file or directory: '([A-Za-z0-9._+-]+)'`),
		pattern.New(`spawn ([A-Za-z0-9._+-]+) ENOENT`),
		pattern.New(`exec: "([A-Za-z0-9._+-]+)": executable file not found`),
		pattern.New(`not found in \$PATH: \\?"([A-Za-z0-9._+-]+)\\?"`), // Bun; the quotes may be escaped
	}
	// readOnly matches the messages about a file that could not be written.
	readOnly = pattern.New(`(?i)read-only file ?system|\bEROFS\b`)
	// noNetwork matches the messages of C libraries, Node, Go, curl and Bun about a machine without
	// network, on which nothing listens either.
	noNetwork = pattern.New(`(?i)name resolution|name or service not known|could not resolve|no such host|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b` +
		`|network is unreachable|unable to connect\. is the computer|connection refused|connectionrefused|could(?:n't| not) connect to server`)
	// failedTo matches the messages of Node, Go and curl about a connection that failed, with its
	// address and port.
	failedTo = pattern.New(`\bconnect E[A-Z]+ ([0-9A-Za-z.:-]+):([0-9]+)` +
		`|\bdial (?:tcp|udp)[46]? (\S+):([0-9]+): ` +
		`|\bconnect to (\S+) port ([0-9]+)`)
	// pathNamed matches an absolute path in a message.
	pathNamed = pattern.New(`/[^\s'"‘’:,;()\[\]]+`)
)

// missingPrograms returns the programs that a message calls missing and that are in the operator's
// PATH.
func missingPrograms(text string, environ []string) []capability.Capability {
	var found []capability.Capability
	for _, way := range notFound {
		for _, match := range way.Regexp().FindAllStringSubmatch(text, -1) {
			if path := inPath(match[1], environ); path != "" {
				found = append(found, capability.Capability{Kind: capability.Exec, Binary: match[1], Path: path})
			}
		}
	}
	return found
}

// inPath returns the path of a program in the operator's PATH, or "" if it is not there.
func inPath(name string, environ []string) string {
	for _, dir := range program.SearchPath(environ) {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path
		}
	}
	return ""
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// realPath returns a path with all links followed, or the path itself if that fails.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// missingFiles returns the paths in a message that exist on this machine. A file in the operator's
// PATH is a program, which the plugin most likely wants to start.
func missingFiles(text string, environ []string) []capability.Capability {
	var found []capability.Capability
	for _, path := range namedPaths(text) {
		if slices.Contains(program.SearchPath(environ), filepath.Dir(path)) && isProgram(path) {
			found = append(found, capability.Capability{Kind: capability.Exec, Binary: filepath.Base(path), Path: path})
		} else if _, err := os.Stat(path); err == nil && path != "/" {
			found = append(found, capability.Capability{Kind: capability.ReadFS, Path: path})
		}
	}
	return found
}

// unwritable returns the paths in a message about a file that could not be written. Of a path and
// another below it, it returns the lower one, which grants less.
func unwritable(text string) []capability.Capability {
	var found []capability.Capability
	paths := namedPaths(text)
	for _, path := range paths {
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, strings.TrimSuffix(path, "/")+"/") }) {
			found = append(found, capability.Capability{Kind: capability.WriteFS, Path: path})
		}
	}
	return found
}

// namedPaths returns the absolute paths in a message.
func namedPaths(text string) []string {
	paths := pathNamed.Regexp().FindAllString(text, -1)
	for i, path := range paths {
		paths[i] = filepath.Clean(strings.TrimRight(path, "."))
	}
	return paths
}
