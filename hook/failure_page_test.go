package hook

import (
	"os"
	"strings"
	"testing"
)

// TestThePagesTable: docs/when-a-plugin-cannot-be-asked.md says what the code does, for every dialect, mode and kind.
func TestThePagesTable(t *testing.T) {
	page, err := os.ReadFile("../docs/when-a-plugin-cannot-be-asked.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| dialect | chain, first | gate | notify |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("the page has no table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	kinds := []Kind{Timeout, Crash, Garbled, TooLarge, Refused, Unavailable, Outdated, Unknown}
	rows := strings.Split(table, "\n")
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		dialect := cells[0]
		if strings.Contains(dialect, " ") {
			dialect = "" // nobody's
		}
		for mode, cell := range map[Mode]string{Chain: cells[1], First: cells[1], Gate: cells[2], Notify: cells[3]} {
			for _, kind := range kinds {
				want, exception, _ := strings.Cut(cell, " (outdated: ")
				if kind == Outdated && exception != "" {
					want = strings.TrimSuffix(exception, ")")
				}
				if got := failureAction(&Hook{Dialect: dialect}, mode, kind); string(got) != want {
					t.Errorf("%s at %s, %s: %s, the page says %s", cells[0], mode, kind, got, want)
				}
			}
		}
	}
}
