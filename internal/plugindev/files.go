package plugindev

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A look is how a file looked: enough to tell that it was changed, without reading it.
type look struct {
	size    int64
	changed time.Time
	mode    fs.FileMode
	inode   uint64
}

// A snapshot is how files looked at one moment, by their paths.
type snapshot map[string]look

// mostFiles bounds what is watched: a plugin with more files has others' code in it.
const mostFiles = 5000

// take looks at all files in some places: files, and directories with all below them.
func take(places []string) snapshot {
	s := make(snapshot)
	for _, place := range places {
		_ = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it is not there now
			case path != place && passedOver(e.Name()):
				if e.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case e.IsDir():
				return nil
			case len(s) >= mostFiles:
				return filepath.SkipAll
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				s[path] = look{size: info.Size(), changed: info.ModTime(), mode: info.Mode(), inode: inode(info)}
			}
			return nil
		})
	}
	return s
}

// passedOver tells names of files that are no part of a plugin: what version control, interpreters, package managers
// and editors leave behind, and logs.
func passedOver(name string) bool {
	switch {
	case slices.Contains([]string{".git", ".hg", ".svn", ".idea", ".vscode", "__pycache__", "node_modules", ".venv", "venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", "4913"}, name),
		strings.HasPrefix(name, ".#"), strings.HasPrefix(name, "#"), strings.HasSuffix(name, "~"):
		return true
	}
	return slices.Contains([]string{".pyc", ".pyo", ".swp", ".swx", ".swo", ".log", ".pid", ".sock", ".tmp", ".bak", ".orig"}, filepath.Ext(name))
}

// since lists the files that have come, gone or changed since another snapshot, sorted.
func (s snapshot) since(before snapshot) []string {
	changed := make(map[string]bool)
	for path, now := range s {
		if was, ok := before[path]; !ok || was != now {
			changed[path] = true
		}
	}
	for path := range before {
		if _, ok := s[path]; !ok {
			changed[path] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// dirs are the directories in which the system is asked to tell of changes: editors replace files, so a file is not
// watched itself.
func dirs(places []string) []string {
	set := make(map[string]bool)
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil || !info.IsDir() {
			set[filepath.Dir(place)] = true
			continue
		}
		_ = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !e.IsDir():
				return nil
			case path != place && passedOver(e.Name()):
				return filepath.SkipDir
			case len(set) >= mostDirs:
				return filepath.SkipAll
			}
			set[path] = true
			return nil
		})
	}
	return slices.Sorted(maps.Keys(set))
}

// mostDirs bounds the directories that the system is asked to watch; changes in others are seen by looking.
const mostDirs = 200
