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

// A jail is the sandbox of the tested plugin, and what the sandbox saw.
type jail struct {
	mu    sync.Mutex // protects trees
	trees []sandbox.Tree
}

// confined reports whether the plugin runs in a sandbox. If it does not, why is the reason.
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

// box returns the sandbox for a process of the plugin; nil: it has none.
func (b *bench) box() proc.Box {
	if yes, _ := b.confined(); !yes {
		return nil
	}
	info := b.target.Found.Info
	return sandbox.New(sandbox.Options{Grants: b.withNetwork(info.Needs), AnyProgram: info.AnyProgram, Own: []string{b.target.Path},
		Environ: b.opts.Environ, Guarded: b.opts.Guarded, System: b.system, Log: b.opts.Log, OnPlan: b.jail.set,
		OnDenied: func(d sandbox.Denial) { b.seen.note(sawDenied, "%s", d.Error()) }})
}

// withNetwork returns a plugin's grants. A sandbox without any network reports no failed
// connections. So if no grant is for the network, withNetwork adds one for a name that does not
// exist. The plugin can reach no more than before.
func (b *bench) withNetwork(grants []capability.Capability) []capability.Capability {
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

// hasPath reports whether a path exists inside the sandbox.
func (j *jail) hasPath(path string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.trees, func(t sandbox.Tree) bool {
		rel, err := filepath.Rel(t.Path, path)
		return err == nil && filepath.IsLocal(rel) && t.Because != sandbox.BecauseMemory
	})
}

// onePath matches an absolute path in a message.
const onePath = `/[A-Za-z0-9._+@%-]+(?:/[A-Za-z0-9._+@%-]+)*`

// The words in which programs report a missing or read-only file, or a program that they may not
// start.
var (
	missing  = regexp.MustCompile(`(?i)no such file|not found|ENOENT|cannot open|EACCES|permission denied|operation not permitted|can't open|cannot access`)
	paths    = regexp.MustCompile(onePath)
	readOnly = regexp.MustCompile(`(?i)(` + onePath + `)['"]?: read-only file ?system|read-only file ?system[^/\n]{0,16}(` + onePath + `)`)
	words    = regexp.MustCompile(`[A-Za-z0-9._+-]+`)
)

// suspect searches the output of a plugin for files that it misses and that exist outside its
// sandbox. The sandbox does not notice such files: a file that was not granted does not exist
// inside.
func (b *bench) suspect(text string) {
	if yes, _ := b.confined(); !yes {
		return
	}
	for line := range strings.Lines(text) {
		if b.unwritten(line) || !missing.MatchString(line) {
			continue
		}
		if b.missedPath(line) {
			continue
		}
		b.missedProgram(line)
	}
}

// unwritten notes the files that a line reports as read-only, and reports whether there are any.
// The plugin can read its own directory and those of the system, and its sandbox refuses to write
// to them.
func (b *bench) unwritten(line string) bool {
	found := readOnly.FindAllStringSubmatch(line, -1)
	for _, m := range found {
		path := outside(filepath.Clean(strings.TrimRight(m[1]+m[2], ".:")))
		if !strings.HasPrefix(path, b.dir) {
			b.seen.note(sawDenied, "%s cannot be written to in its sandbox: %s", path, capability.Capability{Kind: capability.WriteFS, Path: path})
		}
	}
	return len(found) > 0
}

// terminal is the file with which a program asks the user. It is not reported as undeclared,
// because no capability grants it: a sandbox has no terminal, and a command must work without one.
const terminal = "/dev/tty"

// missedPath notes the files in a line that exist outside the sandbox and not inside, and reports
// whether there are any.
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

// outside returns a path as it is without the sandbox. The sandbox shows under /outside what is in
// directories that it replaces, such as /tmp.
func outside(path string) string {
	if rest, ok := strings.CutPrefix(path, "/outside/"); ok {
		return "/" + rest
	}
	return path
}

// missedProgram notes a program that a line reports as missing, although it is in PATH.
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

// quoted reports whether a line has a word in quotes or before a colon. Such a word is a name, and
// not a part of the sentence.
func quoted(line, word string) bool {
	return strings.Contains(line, `"`+word+`"`) || strings.Contains(line, "'"+word+"'") || strings.Contains(line, word+":")
}
