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

// take looks at all files in some places: files, and directories with all below them. Those near
// the top come first, since a plugin's own files lie there; complete is false where there are more
// than are looked at.
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
		entries, _ := os.ReadDir(dirs[n]) // of one that cannot be read there is nothing to see
		for _, e := range entries {
			path := filepath.Join(dirs[n], e.Name())
			switch {
			case passedOver(e.Name()):
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

// add takes a file in. What is no file cannot be told from what it was.
func (s snapshot) add(path string, info fs.FileInfo) {
	if info.Mode().IsRegular() {
		s[path] = look{size: info.Size(), changed: info.ModTime(), mode: info.Mode(), inode: inode(info)}
	}
}

// passedOver tells names of files that are no part of a plugin: what version control, interpreters,
// package managers and editors leave behind, and logs.
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

// dirs are the directories in which the system is asked to tell of changes: editors replace files,
// so a file is not watched itself.
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

// mostDirs bounds the directories that the system is asked to watch; changes in others are seen by
// looking.
const mostDirs = 200
