package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRuleIsOnItsPage: the row that a check cites exists, and has its sentence and its id.
func TestEveryRuleIsOnItsPage(t *testing.T) {
	for _, d := range Dialects() {
		page := read(t, "../../docs/protocols/"+d+".md")
		rows := rowsOf(t, d, page)
		for _, c := range Checks(d) {
			row := rows[c.Row]
			switch {
			case row == "":
				t.Errorf("%s cites row %q of %s, which does not exist", c.ID, c.Row, c.Page())
			case !strings.Contains(row, c.Rule):
				t.Errorf("%s: row %s of %s does not have its rule\n%s\n%s", c.ID, c.Row, c.Page(), c.Rule, row)
			case !strings.Contains(row, "`"+c.ID+"`"):
				t.Errorf("row %s of %s does not name %s", c.Row, c.Page(), c.ID)
			}
		}
	}
}

// rowsOf returns the numbered rows of a page. Their numbers count up without gaps, each once.
func rowsOf(t *testing.T, dialect, page string) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	letter := map[string]string{"mcp": "C"}[dialect]
	if letter == "" {
		letter = strings.ToUpper(dialect[:1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (`+letter+`\d+) \|(.*)$`).FindAllStringSubmatch(page, -1) {
		if rows[m[1]] != "" {
			t.Errorf("%s: there are two rows %s", dialect, m[1])
		}
		rows[m[1]] = m[2]
	}
	for n := 1; n <= len(rows); n++ {
		if rows[fmt.Sprint(letter, n)] == "" {
			t.Errorf("%s: there is no row %s%d among %d", dialect, letter, n, len(rows))
		}
	}
	return rows
}

// TestThePageListsEveryCheck compares docs/testing-plugins.md with the code.
func TestThePageListsEveryCheck(t *testing.T) {
	page := read(t, "../../docs/testing-plugins.md")
	listed := strings.Count(page, "\n| `")
	n := 0
	for _, d := range Dialects() {
		for _, c := range Checks(d) {
			n++
			if want := fmt.Sprintf("\n| `%s` | %s | %s |\n", c.ID, c.Does, c.Row); !strings.Contains(page, want) {
				t.Errorf("the page lacks:%s", want)
			}
		}
	}
	if table := strings.Count(page, "\n| `plugin test"); listed-table != n {
		t.Errorf("the page lists %d checks, and there are %d", listed-table, n)
	}
}

// TestChecksHaveAllTexts: ids are unique and begin with the dialect, and every text is there.
func TestChecksHaveAllTexts(t *testing.T) {
	seen := make(map[string]bool)
	form := regexp.MustCompile(`^[a-z]+\.[a-z]+\.[a-z-]+$`)
	for _, d := range Dialects() {
		for _, c := range Checks(d) {
			if seen[c.ID] || !form.MatchString(c.ID) || !strings.HasPrefix(c.ID, d+".") {
				t.Errorf("%s: not an id, or not the only one", c.ID)
			}
			for _, need := range c.needs {
				if !seen[need] {
					t.Errorf("%s needs %s, which is made later or never", c.ID, need)
				}
			}
			seen[c.ID] = true
			if c.Does == "" || c.Rule == "" || c.Fix == "" || c.run == nil || !strings.HasSuffix(c.Rule, ".") && !strings.HasSuffix(c.Rule, "`") {
				t.Errorf("%s lacks a text: %+v", c.ID, c)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
