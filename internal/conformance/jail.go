package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A jail is the sandbox of the plugin under test, and what it saw of it.
type jail struct {
	mu    sync.Mutex // protects trees
	trees []sandbox.Tree
}

// confined reports whether the plugin runs in a sandbox, and why not where its dialect has one.
func (b *bench) confined() (yes bool, why string) {
	switch {
	case !b.target.confinable() || b.target.Found.Info == nil:
		return false, "its dialect declares nothing"
	case b.opts.Bare:
		return false, "it was tested without one"
	case b.system == nil:
		return false, "there is none here"
	}
	if err := b.system.Possible(); err != nil {
		return false, err.Error()
	}
	return true, ""
}

// box is the sandbox for a process of the plugin; nil: it has none.
func (b *bench) box() proc.Box {
	if yes, _ := b.confined(); !yes {
		return nil
	}
	info := b.target.Found.Info
	return sandbox.New(sandbox.Options{Grants: b.heard(info.Needs), AnyProgram: info.AnyProgram, Own: []string{b.target.Path},
		Environ: b.opts.Environ, Guarded: b.opts.Guarded, System: b.system, Log: b.opts.Log, OnPlan: b.jail.set,
		OnDenied: func(d sandbox.Denial) { b.seen.note(sawDenied, "%s", d.Error()) }})
}

// heard are a plugin's grants, with one of a name that does not exist where it has no network: a
// sandbox without any connection does not hear of those that fail. What the plugin can reach is the
// same.
func (b *bench) heard(grants []capability.Capability) []capability.Capability {
	open := func(c capability.Capability) bool { return c.Kind == capability.NetHost || c.Kind == capability.NetAny }
	if b.system.Namespaces != nil || b.system.Redirect != nil || slices.ContainsFunc(grants, open) {
		return grants
	}
	rest := slices.DeleteFunc(slices.Clone(grants), capability.Capability.Network)
	return append(rest, capability.Capability{Kind: capability.NetHost, Host: "conformance.invalid", Port: 1})
}

func (j *jail) set(trees []sandbox.Tree) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trees = trees
}

// hasPath reports whether a path is there inside.
func (j *jail) hasPath(path string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.trees, func(t sandbox.Tree) bool {
		rel, err := filepath.Rel(t.Path, path)
		return err == nil && filepath.IsLocal(rel) && t.Because != sandbox.BecauseMemory
	})
}

// What a program says of a file that is not there for it, or of a program that it may not start.
var (
	missing = regexp.MustCompile(`(?i)no such file|not found|ENOENT|cannot open|EACCES|permission denied|operation not permitted|can't open|cannot access`)
	paths   = regexp.MustCompile(`/[A-Za-z0-9._+@%-]+(?:/[A-Za-z0-9._+@%-]+)*`)
	words   = regexp.MustCompile(`[A-Za-z0-9._+-]+`)
)

// suspect reads what a plugin says for files that it misses and that are there outside of its
// sandbox. The sandbox itself hears nothing of them: a file that was not granted is not there.
func (b *bench) suspect(text string) {
	if yes, _ := b.confined(); !yes {
		return
	}
	for line := range strings.Lines(text) {
		if !missing.MatchString(line) {
			continue
		}
		if b.missedPath(line) {
			continue
		}
		b.missedProgram(line)
	}
}

// terminal is where a program asks the user. No capability grants it, so nobody forgot to declare
// it: a sandbox has none, and a command that finds none is to manage without.
const terminal = "/dev/tty"

// missedPath notes the files of a line that are there outside, and not inside.
func (b *bench) missedPath(line string) bool {
	found := false
	for _, path := range paths.FindAllString(line, -1) {
		path = outside(filepath.Clean(strings.TrimRight(path, ".:")))
		info, err := os.Stat(path)
		own, _ := filepath.Rel(b.target.Path, path)
		if err != nil || path == "/" || path == terminal || b.jail.hasPath(path) || filepath.IsLocal(own) || strings.HasPrefix(path, b.dir) {
			continue
		}
		found = true
		c := capability.Capability{Kind: capability.ReadFS, Path: path}
		if info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			c = capability.Capability{Kind: capability.Exec, Binary: filepath.Base(path), Path: path}
		}
		b.seen.note(sawDenied, "%s is not there in its sandbox: %s", path, c)
	}
	return found
}

// outside is a path as it is without the sandbox, which shows below /outside what is in a directory
// that is the plugin's own inside, such as /tmp.
func outside(path string) string {
	if rest, ok := strings.CutPrefix(path, "/outside/"); ok {
		return "/" + rest
	}
	return path
}

// missedProgram notes a program of the PATH that a line says is missing.
func (b *bench) missedProgram(line string) {
	if info := b.target.Found.Info; info.AnyProgram {
		return
	}
	for _, word := range words.FindAllString(line, -1) {
		for _, dir := range program.SearchPath(b.env.Vars) {
			path := filepath.Join(dir, word)
			info, err := os.Stat(path)
			if len(word) < 2 || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || !quoted(line, word) {
				continue
			}
			b.seen.note(sawDenied, "the program %s cannot be started in its sandbox: %s", word,
				capability.Capability{Kind: capability.Exec, Binary: word, Path: path})
			return
		}
	}
}

// quoted reports whether a line names a word rather than using it: in quotes, or before a colon.
func quoted(line, word string) bool {
	return strings.Contains(line, `"`+word+`"`) || strings.Contains(line, "'"+word+"'") || strings.Contains(line, word+":")
}
