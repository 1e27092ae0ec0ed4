package dialect

import (
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// TestFailureTable: the table does what the protocols demand.
func TestFailureTable(t *testing.T) {
	kinds := []hook.Kind{hook.Timeout, hook.Crash, hook.Garbled, hook.TooLarge, hook.Refused, hook.Unavailable, hook.Outdated, hook.Unknown}
	for _, want := range []struct {
		dialect string
		mode    hook.Mode
		action  hook.Action
	}{
		{"scaffold", hook.Chain, hook.ActionSkip}, {"scaffold", hook.Gate, hook.ActionDeny}, {"scaffold", hook.Notify, hook.ActionSkip},
		{"kaged", hook.Chain, hook.ActionSkip}, {"kaged", hook.First, hook.ActionSkip},
		{"mine", hook.Chain, hook.ActionAbort}, {"mine", hook.Notify, hook.ActionSkip}, {"mine", hook.Gate, hook.ActionDeny},
		{"dotagent", hook.Gate, hook.ActionDeny}, {"dotagent", hook.Notify, hook.ActionSkip}, {"dotagent", hook.Chain, hook.ActionSkip},
		{"python", hook.Gate, hook.ActionSkip}, {"python", hook.Chain, hook.ActionSkip}, {"python", hook.First, hook.ActionSkip},
		{"anything", hook.Gate, hook.ActionDeny}, {"anything", hook.Chain, hook.ActionSkip},
	} {
		for _, kind := range kinds {
			if want.dialect == "mine" && want.mode == hook.Chain && kind == hook.Outdated {
				continue // an outdated protocol is tested below: the plugin itself reports it, and the event goes on
			}
			if got := Failures.Action(want.dialect, want.mode, kind); got != want.action {
				t.Errorf("%s × %s × %s: %s, want %s", want.dialect, want.mode, kind, got, want.action)
			}
		}
	}
	if got := Failures.Action("mine", hook.Chain, hook.Outdated); got != hook.ActionSkip {
		t.Errorf("a mine plugin of another protocol version: %s", got)
	}
	for i, row := range Failures {
		if row.Cite == "" {
			t.Errorf("row %d has no Cite", i)
		}
	}
}

// TestThePagesTable: docs/when-a-plugin-cannot-be-asked.md and the code agree for every dialect,
// mode and kind.
func TestThePagesTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/when-a-plugin-cannot-be-asked.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| dialect | chain, first | gate | notify |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("the page has no table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	kinds := []hook.Kind{hook.Timeout, hook.Crash, hook.Garbled, hook.TooLarge, hook.Refused, hook.Unavailable, hook.Outdated, hook.Unknown}
	rows := strings.Split(table, "\n")
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		dialect := cells[0]
		if strings.Contains(dialect, " ") {
			dialect = "" // this row is for plugins that are not installed, so no dialect is known
		}
		for mode, cell := range map[hook.Mode]string{hook.Chain: cells[1], hook.First: cells[1], hook.Gate: cells[2], hook.Notify: cells[3]} {
			for _, kind := range kinds {
				want, exception, _ := strings.Cut(cell, " (outdated: ")
				if kind == hook.Outdated && exception != "" {
					want = strings.TrimSuffix(exception, ")")
				}
				if got := Failures.Action(dialect, mode, kind); string(got) != want {
					t.Errorf("%s at %s, %s: %s, the page says %s", cells[0], mode, kind, got, want)
				}
			}
		}
	}
}
