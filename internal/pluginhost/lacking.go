package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// mostLacking is how many capabilities are suggested for one failed start.
const mostLacking = 3

// A lackingError is the failure of a confined plugin whose last words name something that is on
// this machine and not in its sandbox.
type lackingError struct {
	error
	grants []string
}

func (e *lackingError) Unwrap() error { return e.error }

// Fix names the capabilities.
func (e *lackingError) Fix() string {
	return fmt.Sprintf("its last words name what its sandbox does not show it; if it may have that, add to its capabilities: %s", strings.Join(e.grants, ", "))
}

// lacking adds to the error of a plugin that failed in its sandbox which capabilities it may have
// lacked.
func (h *Host) lacking(e *entry, err error) error {
	failed, ok := errors.AsType[*hook.Error](err)
	if !ok || e.policy == nil || failed.Stderr == "" {
		return err
	}
	var grants []string
	for _, g := range append(missingPrograms(failed.Stderr, h.setup().Environ), missingFiles(failed.Stderr)...) {
		if !e.mounts.show(g.Path) && !slices.Contains(grants, g.String()) && len(grants) < mostLacking {
			grants = append(grants, g.String())
		}
	}
	if len(grants) == 0 {
		return err
	}
	return &lackingError{err, grants}
}

var (
	// notFound is how a program that is not there is told of, by shells and env ("run: line 3: jq:
	// command not found"), Python, Node and Go.
	notFound = []pattern.Pattern{
		pattern.New(`(?m)([A-Za-z0-9._+-]+)['"’]?: (?:command )?(?:not found|No such file or directory)\s*$`),
		pattern.New(`No such file or directory: '([A-Za-z0-9._+-]+)'`),
		pattern.New(`spawn ([A-Za-z0-9._+-]+) ENOENT`),
		pattern.New(`exec: "([A-Za-z0-9._+-]+)": executable file not found`),
	}
	// pathNamed is an absolute path in a message.
	pathNamed = pattern.New(`/[^\s'"‘’:,;()\[\]]+`)
)

// missingPrograms are the programs of the operator's PATH that a message calls missing.
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

// inPath is where the operator's PATH has a program; empty where it has none of that name.
func inPath(name string, environ []string) string {
	for _, dir := range program.SearchPath(environ) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// missingFiles are the paths in a message at which there is something on this machine.
func missingFiles(text string) []capability.Capability {
	var found []capability.Capability
	for _, path := range pathNamed.Regexp().FindAllString(text, -1) {
		path = filepath.Clean(strings.TrimRight(path, "."))
		if _, err := os.Stat(path); err == nil && path != "/" {
			found = append(found, capability.Capability{Kind: capability.ReadFS, Path: path})
		}
	}
	return found
}
