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
	// FileName is the name of the file, in the user's state directory.
	FileName = "approvals.json"

	maxFile  = 1 << 20
	maxRules = 200 // of one project: more than anybody reads before withdrawing one

	// lockPatience is how long a change waits for another process, which holds the lock for
	// milliseconds.
	lockPatience = 10 * time.Second
)

// A Store is the file of all projects' rules. Each call reads the file anew, so that what was
// withdrawn elsewhere counts at once.
type Store struct {
	Path string
}

// kept is the file.
type kept struct {
	Projects map[string][]Rule `json:"projects"` // by the absolute path of the project
}

// read reads the file; one that is not there has no rules. A file with anything in it that was not
// written here is an error, and allows nothing.
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

func (s Store) damaged(err error) error {
	return fmt.Errorf("remembered approvals: %s: %w; nothing is allowed by it until it is mended or removed", s.Path, err)
}

// Projects are the projects that have rules.
func (s Store) Projects() ([]Project, error) {
	k, err := s.read()
	var out []Project
	for _, root := range slices.Sorted(maps.Keys(k.Projects)) {
		out = append(out, s.Project(root))
	}
	return out, err
}

// Project is the rules of one project, known by its root (package project).
func (s Store) Project(root string) Project { return Project{Root: root, store: s} }

// A Project is the rules of one project.
type Project struct {
	Root  string
	store Store
}

// Rules are the rules in the order in which they were made.
func (p Project) Rules() ([]Rule, error) {
	k, err := p.store.read()
	return k.Projects[p.Root], err
}

// Allows finds the rule by which a command line needs no question.
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

// Judge tells whether a call of a tool needs no question. Where it needs one, offer is what could
// be remembered of it; nil: nothing. plugin is whose tool it is, "" for a built-in one: rules are
// about the built-in shell only.
func (p Project) Judge(tool, plugin string, arguments json.RawMessage) (allowed bool, offer *Rule, err error) {
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

// Add remembers a rule.
func (p Project) Add(r Rule) error {
	if err := r.valid(); err != nil {
		return err
	}
	return p.change(func(rules []Rule) ([]Rule, error) {
		switch {
		case slices.ContainsFunc(rules, r.Same):
			return rules, nil
		case len(rules) >= maxRules:
			return nil, fmt.Errorf("%d approvals are remembered for this project, which is the most: withdraw some", maxRules)
		}
		r.Added = cmp.Or(r.Added, time.Now().UTC().Truncate(time.Second))
		return append(rules, r), nil
	})
}

// Remove withdraws the rules for which gone is true, and returns them.
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
	return atomicfile.Write(p.store.Path, append(text, '\n'), atomicfile.Options{}) // the user's alone
}

// Path is the file in which the rules are.
func (p Project) Path() string { return p.store.Path }
