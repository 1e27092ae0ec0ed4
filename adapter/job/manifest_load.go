package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// manifestFile is the file that makes a directory an agent: docs/protocols/dotagent.md, row D45.
const manifestFile = "agent.toml"

// maxAgents bounds what is read from all directories together. People have a dozen; a directory
// with thousands is none of agents.
const maxAgents = 1000

// Load reads and checks the manifest at path. What is wrong with it comes back as one
// [*document.Error] with every problem in it.
func Load(path string) (*Manifest, error) {
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

// readFile reads a manifest's bytes.
func readFile(path string) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return document.Read(f, path)
}

// unreadable is a problem of the file itself. The path is in it once.
func unreadable(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &document.Error{Problems: []document.Problem{{File: path, Message: err.Error()}}}
}

func fingerprint(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Loaded is what a search for agents found.
type Loaded struct {
	Manifests []*Manifest // in the order of the directories, then of the names of theirs
	Broken    []Broken
	Hidden    []Hidden
}

// Hidden is an agent that is not used, because a directory that is searched earlier has one of that
// name: the copy that was taken over, most likely.
type Hidden struct {
	Path  string    // of its manifest
	Agent string    // its name
	By    *Manifest // the agent that is used
}

// Broken is a manifest, or a directory, that cannot be used.
type Broken struct {
	Path string
	Err  error
}

// LoadDirs reads the agents in some directories, each of which holds one directory per agent. A
// broken manifest never stops the others: docs/protocols/dotagent.md, row D46. A directory that
// does not exist holds no agents. Of two agents with one name in one directory the second is
// broken; in two directories the second is hidden.
func LoadDirs(dirs []string) Loaded {
	paths, broken := findManifests(dirs)
	l := Loaded{Broken: broken}
	taken := make(map[string]*Manifest, len(paths))
	for _, path := range paths {
		m, err := Load(path)
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

func nameTaken(m, by *Manifest) error {
	return &document.Error{Problems: []document.Problem{{
		File: m.Path, Line: m.named.Line, Column: m.named.Column, Key: m.named.Key,
		Message: fmt.Sprintf("%s: %q is the name of the agent at %s", m.named.Key, m.Agent.Name, by.Dir),
		Fix:     "give one of them another name",
	}}}
}

// findManifests lists the manifests in some directories, each file once however many ways lead to
// it.
func findManifests(dirs []string) (paths []string, broken []Broken) {
	seen := make(map[string]bool)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			broken = append(broken, Broken{Path: dir, Err: unreadable(dir, err)})
		}
		for _, e := range entries {
			path, ok := manifestIn(filepath.Join(dir, e.Name()))
			if !ok || seen[realPath(path)] {
				continue
			}
			if len(paths) == maxAgents {
				return paths, append(broken, Broken{Path: dir, Err: unreadable(dir, fmt.Errorf("more than %d agents", maxAgents))})
			}
			seen[realPath(path)] = true
			paths = append(paths, path)
		}
	}
	return paths, broken
}

// manifestIn is the manifest in what may be an agent's directory. One that is there and cannot be
// read counts: somebody will want to know. What begins with a dot belongs to other tools.
func manifestIn(dir string) (path string, ok bool) {
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return "", false
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", false
	}
	path = filepath.Join(dir, manifestFile)
	_, err := os.Lstat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}

// realPath is where a path leads; itself where it leads nowhere.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
