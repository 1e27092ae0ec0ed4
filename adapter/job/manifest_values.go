package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// This file reads the kinds of value that only manifests have.

// A span is a range of numbers with both ends included.
type span struct{ low, high int }

// noZeroByte is the fix for a text that no system call accepts.
const noZeroByte = `remove \u0000`

// number reads a whole number within bounds.
func number(t *document.Table, key string, fallback int, within span) int {
	if n, ok := t.Value(key).Within(within.low, within.high); ok {
		return n
	}
	return fallback
}

// numbers reads an array of whole numbers within bounds. It returns nil, which is not the same as
// an empty array, if the key is absent or not an array.
func numbers(t *document.Table, key string, within span) []int {
	return document.Each(t.Value(key), "", func(item document.Value) (int, bool) { return item.Within(within.low, within.high) })
}

// readArgs reads an array of arguments. Unlike other lists it may contain empty strings.
func readArgs(t *document.Table, key string) []string {
	return document.Each(t.Value(key), "", func(item document.Value) (string, bool) {
		arg, _ := item.Text()
		if strings.Contains(arg, "\x00") {
			item.Bad(noZeroByte, "must not contain a zero byte")
		}
		return arg, true
	})
}

// checkText refuses a zero byte. TOML can write one, but system calls end a string there.
func checkText(t *document.Table, key, value string) {
	if strings.Contains(value, "\x00") {
		t.Bad(key, noZeroByte, "must not contain a zero byte")
	}
}

// events are the names of all events, for messages.
var events = []string{
	string(Success), string(AttemptFailed), string(AttemptTimeout), string(RunGivenUp),
	string(RunRecovered), string(BeforeRun), string(GoneStale), string(DailySummary),
}

// readEvents reads an array of events. An empty one stands for all events.
func readEvents(t *document.Table, key string) []Event {
	names := t.List(key)
	list := make([]Event, len(names))
	for i, name := range names {
		if name != "" && !slices.Contains(events, name) {
			t.BadItem(key, i, nearest.Suggest(name, events), "%q is not an event", document.Cut(name))
		}
		list[i] = Event(name)
	}
	return list
}

// resolve makes a path absolute: `~` is the home directory, and other paths are relative to dir.
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

// resolveCommand makes a command absolute, except for a bare name, which is looked up in $PATH.
func resolveCommand(dir, command string) string {
	if command == "" || filepath.Base(command) == command && command != "~" && command != "." && command != ".." {
		return command
	}
	return resolve(dir, command)
}
