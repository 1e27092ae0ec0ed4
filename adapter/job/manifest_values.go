package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// The kinds of value that manifests have beyond those that every TOML file of ours has.

// A span is the numbers from one to another, both included.
type span struct{ low, high int }

// noZeroByte mends a text that no system call takes.
const noZeroByte = `take out \u0000`

// number is a whole number within bounds.
func number(t *document.Table, key string, fallback int, within span) int {
	if n, ok := t.Value(key).Within(within.low, within.high); ok {
		return n
	}
	return fallback
}

// numbers is an array of whole numbers within bounds; nil where it is absent or no array, which
// differs from an empty one.
func numbers(t *document.Table, key string, within span) []int {
	return document.Each(t.Value(key), "", func(item document.Value) (int, bool) { return item.Within(within.low, within.high) })
}

// readArgs is an array of arguments. Unlike other lists it may have empty strings in it.
func readArgs(t *document.Table, key string) []string {
	return document.Each(t.Value(key), "", func(item document.Value) (string, bool) {
		arg, _ := item.Text()
		if strings.Contains(arg, "\x00") {
			item.Bad(noZeroByte, "must not contain a zero byte")
		}
		return arg, true
	})
}

// checkText: a zero byte, which TOML can write, ends a string for every system below us.
func checkText(t *document.Table, key, value string) {
	if strings.Contains(value, "\x00") {
		t.Bad(key, noZeroByte, "must not contain a zero byte")
	}
}

// events are all there are, for messages.
var events = []string{
	string(Success), string(AttemptFailed), string(AttemptTimeout), string(RunGivenUp),
	string(RunRecovered), string(BeforeRun), string(GoneStale), string(DailySummary),
}

// readEvents reads a list of events. An empty list means all of them: docs/protocols/dotagent.md,
// row D50.
func readEvents(t *document.Table, key string) []Event {
	names := t.List(key)
	list := make([]Event, len(names))
	for i, name := range names {
		if name != "" && !slices.Contains(events, name) {
			t.BadItem(key, i, nearest.Suggest(name, events), "%q is no event", document.Cut(name))
		}
		list[i] = Event(name)
	}
	return list
}

// resolve makes a path absolute: `~` is the home directory, and anything else is relative to dir.
func resolve(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// resolveCommand leaves a bare name alone, which is looked up in $PATH.
func resolveCommand(dir, command string) string {
	if command == "" || filepath.Base(command) == command && command != "~" && command != "." && command != ".." {
		return command
	}
	return resolve(dir, command)
}
