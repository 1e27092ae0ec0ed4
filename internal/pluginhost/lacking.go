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

// mostLacking limits how many capabilities are suggested for one failed start.
const mostLacking = 3

// A lackingError is the failure of a confined plugin whose stderr names files or programs that
// exist on this machine but not in its sandbox.
type lackingError struct {
	error
	grants []string
}

func (e *lackingError) Unwrap() error { return e.error }

// Fix suggests the capabilities that would show them to the plugin.
func (e *lackingError) Fix() string {
	return fmt.Sprintf("its stderr names files that its sandbox does not show it; if it may have them, add to its capabilities: %s", strings.Join(e.grants, ", "))
}

// suggestCapabilities adds to the error of a confined plugin the capabilities that it probably
// lacked.
func (h *Host) suggestCapabilities(e *entry, err error) error {
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
	// notFound matches the messages about a missing program of shells and env ("run: line 3: jq:
	// command not found"), Python, Node and Go.
	notFound = []pattern.Pattern{
		pattern.New(`(?m)([A-Za-z0-9._+-]+)['"’]?: (?:command )?(?:not found|No such file or directory)\s*$`),
		pattern.New(`No such file or directory: '([A-Za-z0-9._+-]+)'`),
		pattern.New(`spawn ([A-Za-z0-9._+-]+) ENOENT`),
		pattern.New(`exec: "([A-Za-z0-9._+-]+)": executable file not found`),
	}
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
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// missingFiles returns the paths in a message that exist on this machine.
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
