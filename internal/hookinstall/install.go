package hookinstall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/editfile"
)

// A Change is a change of a file, done or planned.
type Change struct {
	Path    string
	Changed bool
	Removed bool   // the file is removed
	Backup  string // the file with the old text; "": there is none
	Old     string // the old text
	New     string
}

// Install writes an entry for each of the agent's events, and replaces the entries of an earlier
// installation. With dry it writes nothing.
func Install(p Place, program Program, dry bool) (Change, error) {
	return apply(p, dry, func(old []byte) ([]byte, error) {
		if p.Agent == codehook.OpenCode {
			return shim(old, program)
		}
		return withEntries(p.Agent, program, old)
	})
}

// Uninstall removes the entries that Install wrote. A file that Install has made is removed, if
// nothing else is in it.
func Uninstall(p Place, dry bool) (Change, error) {
	if _, err := os.Stat(p.Path()); errors.Is(err, os.ErrNotExist) {
		return Change{Path: p.Path()}, nil // // without this, Edit would make the file's directory
	}
	return apply(p, dry, func(old []byte) ([]byte, error) {
		if p.Agent == codehook.OpenCode {
			return nil, checkShim(old)
		}
		add := func(text []byte) ([]byte, error) { return withEntries(p.Agent, Program{Path: thinProgram}, text) }
		return editfile.Undone(p.Path(), old, add, func(text []byte) ([]byte, error) { return withoutEntries(p.Agent, text) })
	})
}

// apply edits the file, or returns the planned change.
func apply(p Place, dry bool, change func([]byte) ([]byte, error)) (Change, error) {
	c := Change{Path: p.Path()}
	noted := func(old []byte) ([]byte, error) {
		text, err := change(old)
		c.Old, c.New = string(old), string(text)
		return text, err
	}
	if !dry {
		mode := os.FileMode(0o600)
		if p.Project {
			mode = 0o644
		}
		r, err := editfile.Edit(editfile.Place{Dir: p.Dir, Name: p.Name, Mode: mode}, noted)
		c.Changed, c.Removed, c.Backup = r.Changed, r.Removed, r.Backup
		return c, err
	}
	old, err := os.ReadFile(c.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return c, err
	}
	text, err := noted(old)
	if err != nil {
		return c, fmt.Errorf("%s: %w", c.Path, err)
	}
	c.Changed, c.Removed = !bytes.Equal(old, text), text == nil && len(old) > 0
	return c, nil
}

// withEntries returns a file with our entries for the agent's events, and without our entries for
// other events.
func withEntries(agent codehook.Agent, program Program, data []byte) ([]byte, error) {
	r := recipes[agent]
	var err error
	if r.version != 0 {
		if data, err = withVersion(data, r.version); err != nil {
			return nil, err
		}
	}
	wanted := make(map[string]bool)
	for _, spec := range codehook.Events(agent) {
		wanted[spec.Name] = true
		item, err := r.entryJSON(program, agent, spec)
		if err != nil {
			return nil, err
		}
		if data, err = putEntry(agent, data, spec.Name, item); err != nil {
			return nil, err
		}
	}
	return dropEntries(agent, data, func(event string) bool { return !wanted[event] })
}

// withoutEntries returns a file without our entries, or nil if nothing is left in it.
func withoutEntries(agent codehook.Agent, data []byte) ([]byte, error) {
	left, err := dropEntries(agent, data, func(string) bool { return true })
	if err != nil || bytes.Equal(left, data) {
		return left, err
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(left, &values) != nil {
		return left, nil // it has comments, so it belongs to the user
	}
	if r := recipes[agent]; r.version != 0 && string(values["version"]) == strconv.Itoa(r.version) {
		delete(values, "version")
	}
	if len(values) == 0 {
		return nil, nil
	}
	return left, nil
}

// withVersion returns a file with its format version, and adds the version if it is missing.
func withVersion(data []byte, version int) ([]byte, error) {
	values, err := editfile.ReadJSON(data)
	if err != nil {
		return nil, err
	}
	switch v := values["version"].(type) {
	case nil:
		return editfile.SetJSON(data, []string{"version"}, json.RawMessage(strconv.Itoa(version)))
	case json.Number:
		if v.String() == strconv.Itoa(version) {
			return data, nil
		}
	}
	return nil, fmt.Errorf("the file has version %v, but Patchbay can only write version %d: install by hand", values["version"], version)
}

// putEntry writes the entry of one event.
func putEntry(agent codehook.Agent, data []byte, event string, item json.RawMessage) ([]byte, error) {
	if err := refuseMixed(agent, data, event); err != nil {
		return nil, err
	}
	return editfile.PutItem(data, []string{"hooks", event}, func(item any) bool { own, _ := countOurs(agent, item); return own > 0 }, item)
}

// dropEntries removes our entries from the lists of some events: chosen reports which.
func dropEntries(agent codehook.Agent, data []byte, chosen func(event string) bool) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return data, nil
	}
	values, err := editfile.ReadJSON(data)
	if err != nil {
		return nil, err
	}
	events, _ := values["hooks"].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		if _, list := events[event].([]any); !list || !chosen(event) {
			continue
		}
		if err := refuseMixed(agent, data, event); err != nil {
			return nil, err
		}
		data, err = editfile.DropItems(data, []string{"hooks", event}, func(item any) bool { own, _ := countOurs(agent, item); return own > 0 })
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// refuseMixed refuses a file in which the user added another program to our entry. That program
// would be replaced or removed together with ours.
func refuseMixed(agent codehook.Agent, data []byte, event string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	values, err := editfile.ReadJSON(data)
	if err != nil {
		return err
	}
	events, _ := values["hooks"].(map[string]any)
	list, _ := events[event].([]any)
	for _, item := range list {
		if own, all := countOurs(agent, item); own > 0 && own < all {
			return fmt.Errorf("hooks.%s: an entry has Patchbay's program beside another one: move the other program to an entry of its own", event)
		}
	}
	return nil
}
