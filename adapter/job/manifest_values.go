package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/tomlfile"
)

// The kinds of value that manifests have beyond those that every TOML file of ours has.

// A span is the numbers from one to another, both included.
type span struct{ low, high int }

func (s span) has(n int) bool { return s.low <= n && n <= s.high }

func (s span) fix() string { return fmt.Sprintf("write a number from %d to %d", s.low, s.high) }

// noZeroByte mends a text that no system call takes.
const noZeroByte = `take out \u0000`

// flag is true or false.
func flag(t *tomlfile.Table, key string, fallback bool) bool {
	if b := t.Flag(key); b != nil {
		return *b
	}
	return fallback
}

// number is a whole number within bounds.
func number(t *tomlfile.Table, key string, fallback int, within span) int {
	n := t.Number(key)
	switch {
	case n == nil:
		return fallback
	case !within.has(*n):
		t.Bad(key, within.fix(), "%d is out of range", *n)
		return fallback
	}
	return *n
}

// numbers is an array of whole numbers within bounds; nil where it is absent or no array.
func numbers(t *tomlfile.Table, key string, within span) []int {
	raw := t.Raw(key)
	items, ok := raw.([]any)
	if !ok {
		if raw != nil {
			t.BadKind(key, []any{}, raw)
		}
		return nil
	}
	list := make([]int, 0, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		switch {
		case !ok:
			t.BadItemKind(key, i, int64(0), item)
		case n < int64(within.low) || n > int64(within.high):
			t.BadItem(key, i, within.fix(), "%d is out of range", n)
		default:
			list = append(list, int(n))
		}
	}
	return list
}

// readArgs is an array of arguments. Unlike other lists it may have empty strings in it.
func readArgs(t *tomlfile.Table, key string) []string {
	raw := t.Raw(key)
	items, ok := raw.([]any)
	if !ok {
		if raw != nil {
			t.BadKind(key, []any{}, raw)
		}
		return nil
	}
	args := make([]string, len(items))
	for i, item := range items {
		arg, ok := item.(string)
		switch {
		case !ok:
			t.BadItemKind(key, i, "", item)
		case strings.Contains(arg, "\x00"):
			t.BadItem(key, i, noZeroByte, "must not contain a zero byte")
		}
		args[i] = arg
	}
	return args
}

// checkText: a zero byte, which TOML can write, ends a string for every system below us.
func checkText(t *tomlfile.Table, key, value string) {
	if strings.Contains(value, "\x00") {
		t.Bad(key, noZeroByte, "must not contain a zero byte")
	}
}

// events are all there are, for messages.
var events = []string{
	string(Success), string(AttemptFailed), string(AttemptTimeout), string(RunGivenUp),
	string(RunRecovered), string(BeforeRun), string(GoneStale), string(DailySummary),
}

// readEvents is an array of events; the rulings: "events empty means all".
func readEvents(t *tomlfile.Table, key string) []Event {
	names := t.List(key)
	list := make([]Event, len(names))
	for i, name := range names {
		if name != "" && !slices.Contains(events, name) {
			t.BadItem(key, i, nearest.Suggest(name, events), "%q is no event", tomlfile.Cut(name))
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
