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

// A fileState is the state of a file: enough to notice a change without reading the file.
type fileState struct {
	size    int64
	changed time.Time
	mode    fs.FileMode
	inode   uint64
}

// A snapshot holds the state of files at one moment, by path.
type snapshot map[string]fileState

// mostFiles limits the watched files: a plugin with more contains the code of others.
const mostFiles = 5000

// take records the files at some places. If a place is a directory, it records everything below it,
// beginning with the files near the top, because a plugin's own files are there. complete is false
// if there are more files than it records.
func take(places []string) (s snapshot, complete bool) {
	s = make(snapshot)
	dirs := make([]string, 0, len(places))
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			dirs = append(dirs, place)
		} else if err == nil {
			s.add(place, info)
		}
	}
	for n := 0; n < len(dirs); n++ {
		entries, _ := os.ReadDir(dirs[n]) // a directory that cannot be read has no files
		for _, e := range entries {
			path := filepath.Join(dirs[n], e.Name())
			switch {
			case isIgnored(e.Name()):
			case len(s)+len(dirs) >= mostFiles:
				return s, false
			case e.IsDir():
				dirs = append(dirs, path)
			default:
				if info, err := os.Stat(path); err == nil {
					s.add(path, info)
				}
			}
		}
	}
	return s, true
}

// add records a file. Other kinds of files are ignored.
func (s snapshot) add(path string, info fs.FileInfo) {
	if info.Mode().IsRegular() {
		s[path] = fileState{size: info.Size(), changed: info.ModTime(), mode: info.Mode(), inode: inode(info)}
	}
}

// isIgnored reports whether a file with this name is not part of a plugin. It is a log then, or
// belongs to version control, an interpreter, a package manager or an editor.
func isIgnored(name string) bool {
	switch {
	case slices.Contains([]string{".git", ".hg", ".svn", ".idea", ".vscode", "__pycache__", "node_modules", ".venv", "venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", "4913"}, name),
		strings.HasPrefix(name, ".#"), strings.HasPrefix(name, "#"), strings.HasSuffix(name, "~"):
		return true
	}
	return slices.Contains([]string{".pyc", ".pyo", ".swp", ".swx", ".swo", ".log", ".pid", ".sock", ".tmp", ".bak", ".orig"}, filepath.Ext(name))
}

// since lists the files that were added, removed or changed since another snapshot, sorted.
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

// dirs returns the directories that the system watches for changes. Editors replace files, so a
// file itself is not watched.
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
			case path != place && isIgnored(e.Name()):
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

// mostDirs limits the directories that the system watches. Changes in others are found by checks at
// intervals.
const mostDirs = 200
