//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// fence is a code block of a page: its language, the rest of its first line, and its text.
var fence = regexp.MustCompile("(?ms)^```([a-z]+)([^\n]*)\n(.*?)^```$")

// typePage writes the files that a page prints ("```python file=NAME") into a folder, types its commands ("```console", behind
// "$ ") there one after the other, and compares what they print with what the page shows, in which … stands for anything.
func typePage(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocols", page))
	if err != nil {
		t.Fatal(err)
	}
	home, files, commands := t.TempDir(), 0, 0
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(block[2]), "file="); ok {
			files++
			if err := os.WriteFile(filepath.Join(home, name), []byte(block[3]), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if block[1] != "console" {
			continue
		}
		for _, command := range strings.Split("\n"+block[3], "\n$ ")[1:] {
			commands++
			line, want, _ := strings.Cut(command, "\n")
			cmd := exec.Command("bash", "-c", line)
			cmd.Dir, cmd.Env = home, patchbayIn(home).Env
			got, _ := cmd.CombinedOutput() // one that fails says so, and the page shows that
			if !asShown(string(got), want) {
				t.Errorf("%s prints\n%s\nand the page shows\n%s", line, got, want)
			}
		}
	}
	if files < 2 || commands < 5 {
		t.Errorf("the page has %d files and %d commands", files, commands)
	}
}

// asShown compares what was printed with a page's text.
func asShown(got, want string) bool {
	parts := strings.Split(strings.TrimSpace(want), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, ".*") + `)$`).MatchString(strings.TrimSpace(got))
}

func TestScaffoldPage(t *testing.T) {
	for _, tool := range []string{"bash", "jq", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "scaffold.md")
}

func TestPythonPage(t *testing.T) {
	for _, tool := range []string{"bash", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "python.md")
}
