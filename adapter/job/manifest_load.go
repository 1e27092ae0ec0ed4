package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// manifestFile is the file that makes a directory an agent.
const manifestFile = "agent.toml"

// maxAgents limits how many agents are read from all directories together. People have a dozen, and
// a directory with thousands of entries was configured by mistake.
const maxAgents = 1000

// load reads and checks the manifest at path. If the manifest is wrong, the error is one
// [*document.Error] with all problems.
func load(path string) (*Manifest, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse checks a manifest that was read from path, which must be absolute.
func Parse(path string, data []byte) (*Manifest, error) {
	top, err := document.TOML(path, data)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Path: path, Dir: filepath.Dir(path), Fingerprint: fingerprint(data)}
	readManifest(top, m)
	if err := top.Err(); err != nil {
		return nil, err
	}
	m.Warnings = top.Warnings()
	return m, nil
}

// readFile reads the bytes of a manifest.
func readFile(path string) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return document.Read(f, path)
}

// unreadable returns the error for a manifest, or a directory of agents, that cannot be read. It
// names the path only once.
func unreadable(path string, err error) error {
	p := document.Problem{File: path, Message: err.Error()}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		p.Message = e.Err.Error()
	}
	switch {
	case leadsNowhere(path, err):
		p.Message = "the link " + plainfile.DeadLink(path) + " leads to nothing"
		p.Fix = "restore what it leads to, or remove the link"
	case errors.Is(err, fs.ErrPermission):
		p.Fix = program.ReadFix(path)
	case errors.Is(err, plainfile.ErrKind):
		p.Fix = "put a file in its place, or remove " + program.Quote(filepath.Dir(path))
	case errors.Is(err, syscall.ENOTDIR):
		p.Fix = "move this file away, or remove its path from [jobs] dirs"
	}
	return &document.Error{Problems: []document.Problem{p}}
}

// leadsNowhere reports whether err, an error about path, is there because a link leads to nothing.
func leadsNowhere(path string, err error) bool {
	return errors.Is(err, fs.ErrNotExist) && plainfile.DeadLink(path) != ""
}

func tooManyAgents(dir string) error {
	return &document.Error{Problems: []document.Problem{{File: dir, Message: fmt.Sprintf("more than %d agents", maxAgents),
		Fix: "move agents that you do not use to another directory, or remove this directory from [jobs] dirs"}}}
}

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Loaded is the result of a search for agents.
type Loaded struct {
	Manifests []*Manifest // in the order of the searched directories, then by directory name
	Broken    []Broken
	Hidden    []Hidden
	Kept      []*Manifest // those of Manifests that an earlier search has read: see [Loaded.Keep]
}

// A Hidden is an agent that is not used, because a directory that is searched earlier has an agent
// of the same name. Most often the agent that is used is a copy that `job import` made.
type Hidden struct {
	Path  string    // of its manifest
	Agent string    // its name
	By    *Manifest // the agent that is used
}

// A Broken is a manifest or a directory that cannot be used.
type Broken struct {
	Path string
	Err  error
}

// LoadDirs reads the agents in some directories. Each of them holds one subdirectory for each
// agent. One broken manifest does not affect the others. A directory that does not exist has no
// agents. If two agents in one directory have the same name, the second is broken; if they are in
// two directories, the second is hidden.
func LoadDirs(dirs []string) Loaded {
	paths, broken := findManifests(dirs)
	l := Loaded{Broken: broken}
	taken := make(map[string]*Manifest, len(paths))
	for _, path := range paths {
		m, err := load(path)
		if err == nil && taken[m.Agent.Name] != nil {
			by := taken[m.Agent.Name]
			if filepath.Dir(by.Dir) != filepath.Dir(m.Dir) {
				l.Hidden = append(l.Hidden, Hidden{Path: path, Agent: m.Agent.Name, By: by})
				continue
			}
			err = nameTaken(m, by)
		}
		if err != nil {
			l.Broken = append(l.Broken, Broken{Path: path, Err: err})
			continue
		}
		taken[m.Agent.Name] = m
		l.Manifests = append(l.Manifests, m)
	}
	return l
}

// Keep adds the agents of an earlier search whose manifests, or the directories that have them,
// cannot be used any more. So an agent goes on as it was while its manifest has an error. An agent
// is not kept if its manifest was removed, or if another manifest has been given its name.
func (l *Loaded) Keep(before Loaded) {
	for _, m := range before.Manifests {
		if !l.lost(m) {
			continue
		}
		switch i := slices.IndexFunc(l.Manifests, func(other *Manifest) bool { return other.Agent.Name == m.Agent.Name }); {
		case i < 0:
			l.Manifests = append(l.Manifests, m)
		case slices.ContainsFunc(before.Hidden, func(h Hidden) bool { return h.Path == l.Manifests[i].Path }):
			l.Hidden = append(l.Hidden, Hidden{Path: l.Manifests[i].Path, Agent: m.Agent.Name, By: m})
			l.Manifests[i] = m
		default:
			continue
		}
		l.Kept = append(l.Kept, m)
	}
}

// lost reports whether a manifest exists and cannot be used.
func (l *Loaded) lost(m *Manifest) bool {
	broken := func(b Broken) bool { return b.Path == m.Path || b.Path == filepath.Dir(m.Dir) }
	if !slices.ContainsFunc(l.Broken, broken) {
		return false
	}
	_, err := os.Lstat(m.Path)
	return !errors.Is(err, fs.ErrNotExist)
}

func nameTaken(m, by *Manifest) error {
	return &document.Error{Problems: []document.Problem{{
		File: m.Path, Line: m.named.Line, Column: m.named.Column, Key: m.named.Key,
		Message: fmt.Sprintf("%s: %q is the name of the agent at %s", m.named.Key, m.Agent.Name, by.Dir),
		Fix:     "give one of them another name",
	}}}
}

// findManifests lists the manifests in some directories. It lists each file once, even if several
// paths lead to it.
func findManifests(dirs []string) (paths []string, broken []Broken) {
	seen := make(map[string]bool)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || leadsNowhere(dir, err)) {
			broken = append(broken, Broken{Path: dir, Err: unreadable(dir, err)})
		}
		for _, e := range entries {
			path, ok := manifestIn(filepath.Join(dir, e.Name()))
			if !ok || seen[realPath(path)] {
				continue
			}
			if len(paths) == maxAgents {
				return paths, append(broken, Broken{Path: dir, Err: tooManyAgents(dir)})
			}
			seen[realPath(path)] = true
			paths = append(paths, path)
		}
	}
	return paths, broken
}

// manifestIn returns the path of the manifest in dir, and whether dir is the directory of an agent.
// A manifest that cannot be read counts, and so does a link that leads to nothing, so that the
// error is reported. Directories whose names begin with a dot belong to other tools.
func manifestIn(dir string) (path string, ok bool) {
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return "", false
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return "", false
	}
	path = filepath.Join(dir, manifestFile)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return path, !errors.Is(err, fs.ErrNotExist) || leadsNowhere(dir, err)
}

// realPath returns path with symbolic links followed, or path itself if they lead nowhere.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
