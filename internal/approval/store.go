package approval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

const (
	// FileName is the name of the file in the user's state directory.
	FileName = "approvals.json"

	maxFile  = 1 << 20
	maxRules = 200 // of one project: more than a user can review

	// lockPatience is how long a change waits for another process, which holds the lock for
	// milliseconds.
	lockPatience = 10 * time.Second
)

// A Store is the file with the rules of all projects. Each call reads the file again, so that a
// rule that another process removed no longer counts.
type Store struct {
	Path string
}

// kept is the content of the file.
type kept struct {
	Projects map[string][]Rule `json:"projects"` // by the absolute path of the project
}

// read reads the file. A missing file has no rules. A file that is not valid JSON, or has an
// invalid rule, is an error and allows nothing.
func (s Store) read() (kept, error) {
	text, err := plainfile.Read(s.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, fmt.Errorf("remembered approvals: %w", err)
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return kept{}, s.damaged(err)
	}
	for _, rules := range k.Projects {
		for _, r := range rules {
			if err := r.valid(); err != nil {
				return kept{}, s.damaged(err)
			}
		}
	}
	return k, nil
}

func (s Store) damaged(err error) error { return &damagedError{s.Path, err} }

// A damagedError is the error of a file that cannot be used.
type damagedError struct {
	path string
	err  error
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("remembered approvals: %s: %v; %s", e.path, e.err, e.Fix())
}
func (e *damagedError) Unwrap() error { return e.err }

// Fix says how to fix it.
func (*damagedError) Fix() string {
	return "the file allows nothing until it is corrected or removed"
}

// Projects returns the projects with rules.
func (s Store) Projects() ([]Project, error) {
	k, err := s.read()
	var out []Project
	for _, root := range slices.Sorted(maps.Keys(k.Projects)) {
		out = append(out, s.Project(root))
	}
	return out, err
}

// Project returns the rules of one project, which is named by its root (package project).
func (s Store) Project(root string) Project { return Project{Root: root, store: s} }

// A Project holds the rules of one project.
type Project struct {
	Root  string
	store Store
}

// Rules returns the rules in the order in which they were made.
func (p Project) Rules() ([]Rule, error) {
	k, err := p.store.read()
	return k.Projects[p.Root], err
}

// Allows returns the rule that lets a command line run without a question.
func (p Project) Allows(line string) (r Rule, ok bool, err error) {
	rules, err := p.Rules()
	for _, r := range rules {
		if r.Allows(line) {
			return r, true, err
		}
	}
	return Rule{}, false, err
}

// shellTool is the built-in tool that runs commands.
const shellTool = "shell"

// AllowsCall reports whether a call of a tool needs no question. If it needs one, offer is the rule
// that the user could make of it, or nil. plugin is the plugin that has the tool, or "" for a
// built-in tool. Rules apply only to the built-in shell.
func (p Project) AllowsCall(tool, plugin string, arguments json.RawMessage) (allowed bool, offer *Rule, err error) {
	line, ok := Command(arguments)
	if tool != shellTool || plugin != "" || !ok {
		return false, nil, nil
	}
	if _, allowed, err = p.Allows(line); allowed || err != nil {
		return allowed, nil, err
	}
	if r, ok := Offer(line); ok {
		offer = &r
	}
	return false, offer, nil
}

// Add stores a rule.
func (p Project) Add(r Rule) error {
	if err := r.valid(); err != nil {
		return err
	}
	return p.change(func(rules []Rule) ([]Rule, error) {
		switch {
		case slices.ContainsFunc(rules, r.Same):
			return rules, nil
		case len(rules) >= maxRules:
			return nil, fmt.Errorf("this project has %d approvals, which is the limit: remove some", maxRules)
		}
		r.Added = cmp.Or(r.Added, time.Now().UTC().Truncate(time.Second))
		return append(rules, r), nil
	})
}

// Remove removes the rules for which gone is true, and returns them.
func (p Project) Remove(gone func(Rule) bool) (removed []Rule, err error) {
	err = p.change(func(rules []Rule) ([]Rule, error) {
		var left []Rule
		for _, r := range rules {
			if gone(r) {
				removed = append(removed, r)
			} else {
				left = append(left, r)
			}
		}
		return left, nil
	})
	return removed, err
}

// change replaces the project's rules, one process at a time.
func (p Project) change(edit func([]Rule) ([]Rule, error)) error {
	if err := os.MkdirAll(filepath.Dir(p.store.Path), 0o700); err != nil {
		return err
	}
	lock, err := filelock.OpenWithin(p.store.Path+".lock", lockPatience)
	if err != nil {
		return fmt.Errorf("remembered approvals: %w", err)
	}
	defer lock.Close()
	k, err := p.store.read()
	if err != nil {
		return err
	}
	rules, err := edit(k.Projects[p.Root])
	if err != nil {
		return err
	}
	if k.Projects == nil {
		k.Projects = map[string][]Rule{}
	}
	if k.Projects[p.Root] = rules; len(rules) == 0 {
		delete(k.Projects, p.Root)
	}
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(p.store.Path, append(text, '\n'), atomicfile.Options{}) // only the user can read it
}

// Path returns the path of the file with the rules.
func (p Project) Path() string { return p.store.Path }
