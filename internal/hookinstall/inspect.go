package hookinstall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// maxFile limits the size of an agent's file.
const maxFile = 4 << 20

// An Entry is one event for which a file starts Patchbay.
type Entry struct {
	Event   string   `json:"event"`
	Started []string `json:"command"` // the program and its arguments
}

// Installed lists Patchbay's entries in a file.
type Installed struct {
	Place   Place
	Entries []Entry
	Faults  []Fault // mistakes in the entries
}

// A Fault is one mistake in an installation.
type Fault struct {
	Problem string
	Fix     string
}

// There reports whether the file has any entry of Patchbay.
func (i Installed) There() bool { return len(i.Entries) > 0 }

// Inspect returns Patchbay's entries in a file. A missing file has none.
func Inspect(p Place) (Installed, error) {
	in := Installed{Place: p}
	text, err := plainfile.Read(p.Path(), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return in, nil
	case err != nil:
		return in, err
	case p.Agent == codehook.OpenCode:
		in.Entries = shimEntries(text)
	default:
		if in.Entries, err = fileEntries(p, text); err != nil {
			return in, err
		}
	}
	if in.There() {
		in.Faults = append(faultsOfPrograms(in), faultsOfEvents(in)...)
	}
	return in, nil
}

func fileEntries(p Place, text []byte) ([]Entry, error) {
	values, err := editfile.ReadJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path(), err)
	}
	var all []Entry
	events, _ := values["hooks"].(map[string]any)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, _ := events[event].([]any)
		for _, item := range list {
			for _, h := range handlersOf(item) {
				if started := h.started(); startsPatchbay(p.Agent, started) {
					all = append(all, Entry{Event: event, Started: started})
				}
			}
		}
	}
	return all, nil
}

// shimEntries reads the program and the events from an OpenCode plugin that we wrote.
func shimEntries(text []byte) []Entry {
	if checkShim(text) != nil {
		return nil
	}
	var all []Entry
	var started []string
	waits := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "const start = "); ok {
			_ = json.NewDecoder(strings.NewReader(rest)).Decode(&started) // if it fails, there is no entry
		}
		if rest, ok := strings.CutPrefix(line, "const waits = "); ok {
			_ = json.NewDecoder(strings.NewReader(rest)).Decode(&waits)
		}
	}
	if len(started) == 0 {
		return nil
	}
	for _, event := range slices.Sorted(maps.Keys(waits)) {
		all = append(all, Entry{Event: event, Started: started})
	}
	return all
}

// installCommand returns the command that repairs an installation.
func installCommand(p Place) string {
	command := "patchbay hook install " + string(p.Agent)
	if p.Project {
		command += " --project"
	}
	return command
}

// faultsOfPrograms reports programs that are missing or not executable. Some agents then refuse
// every tool call.
func faultsOfPrograms(in Installed) []Fault {
	var faults []Fault
	seen := make(map[string]bool)
	for _, e := range in.Entries {
		program := e.Started[0]
		if seen[program] {
			continue
		}
		seen[program] = true
		info, err := os.Stat(program)
		switch {
		case !filepath.IsAbs(program):
			continue // it depends on the agent's PATH
		case err != nil:
			faults = append(faults, Fault{fmt.Sprintf("%s starts %s, which does not exist", in.Place.Path(), program), "`" + installCommand(in.Place) + "` writes the current program; with `--uninstall` it removes the entries"})
		case info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
			faults = append(faults, Fault{fmt.Sprintf("%s starts %s, which is not executable", in.Place.Path(), program), "`chmod +x " + program + "`, or `" + installCommand(in.Place) + "`"})
		}
	}
	return faults
}

// faultsOfEvents reports events without an entry, and events with more than one.
func faultsOfEvents(in Installed) []Fault {
	count := make(map[string]int)
	for _, e := range in.Entries {
		count[e.Event]++
	}
	var missing, double []string
	for _, spec := range codehook.Events(in.Place.Agent) {
		switch n := count[spec.Name]; {
		case n == 0:
			missing = append(missing, spec.Name)
		case n > 1:
			double = append(double, spec.Name)
		}
	}
	var faults []Fault
	if len(missing) > 0 {
		faults = append(faults, Fault{fmt.Sprintf("%s has no entry for %s", in.Place.Path(), strings.Join(missing, ", ")), "`" + installCommand(in.Place) + "`"})
	}
	if len(double) > 0 {
		faults = append(faults, Fault{fmt.Sprintf("%s has more than one entry for %s: plugins are called twice", in.Place.Path(), strings.Join(double, ", ")), "`" + installCommand(in.Place) + "` leaves one"})
	}
	return faults
}

// Doubles reports installations that call plugins twice for the same event.
func Doubles(all []Installed) []Fault {
	there := func(agent codehook.Agent, project bool) *Installed {
		for i := range all {
			if all[i].Place.Agent == agent && all[i].Place.Project == project && all[i].There() {
				return &all[i]
			}
		}
		return nil
	}
	var faults []Fault
	for _, agent := range codehook.Agents() {
		user, project := there(agent, false), there(agent, true)
		if user != nil && project != nil && !merges(agent, user, project) {
			faults = append(faults, Fault{fmt.Sprintf("Patchbay's hooks for %s are installed for you (%s) and for this project (%s): plugins are called twice", agent, user.Place.Path(), project.Place.Path()),
				"`" + installCommand(project.Place) + " --uninstall`, or the same without --project"})
		}
	}
	return faults
}

// merges reports whether an agent runs a program only once although the user's file and the
// project's file both name it. Claude Code does, if the command lines are equal.
func merges(agent codehook.Agent, a, b *Installed) bool {
	return agent == codehook.Claude && slices.EqualFunc(a.Entries, b.Entries, func(x, y Entry) bool {
		return x.Event == y.Event && slices.Equal(x.Started, y.Started)
	})
}

// UnreadFix is the fix for a file that [All] cannot read.
const UnreadFix = "correct the file: the agent cannot read it either"

// All returns the installations of every agent, for the user and for a project. Settings that turn
// an agent's hooks off are among the faults of its first installation. For a file that cannot be
// read it returns an error.
func All(home, project string, getenv func(string) string) ([]Installed, []error) {
	var all []Installed
	var errs []error
	seen := make(map[string]bool)
	for _, agent := range codehook.Agents() {
		first := len(all)
		for _, root := range []string{"", project} {
			place, err := Find(agent, home, root, getenv)
			if err != nil || seen[place.Path()] {
				continue // there is no home, or the home is the project and was inspected already
			}
			seen[place.Path()] = true
			in, err := Inspect(place)
			if err != nil {
				errs = append(errs, err)
			}
			if in.There() {
				all = append(all, in)
			}
		}
		if first < len(all) {
			off, more := turnedOff(agent, home, project, getenv)
			all[first].Faults = append(all[first].Faults, off...)
			errs = append(errs, slices.DeleteFunc(more, func(err error) bool {
				return slices.ContainsFunc(errs, func(known error) bool { return known.Error() == err.Error() })
			})...)
		}
	}
	return all, errs
}
