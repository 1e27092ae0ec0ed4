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

// TestTheMinePage types the examples of docs/protocols/mine.md: its files, its commands, and what they print.
func TestTheMinePage(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "git"} {
		plugtest.NeedTool(t, tool)
	}
	typePage(t, "../../docs/protocols/mine.md", 4, 8)
}

// blockOfPage is a file of a page, or a block of commands.
var blockOfPage = regexp.MustCompile("(?ms)^```(?:\\w+ file=(\\S+)|console)\n(.*?)^```$")

// typePage goes through a page as its reader does: it writes its files below a home, and types its commands there. Each command
// must print the lines that follow it on the page, on stdout or stderr and among others; … stands for anything.
func typePage(t *testing.T, path string, files, commands int) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, block := range blockOfPage.FindAllStringSubmatch(string(page), -1) {
		if block[1] != "" {
			files--
			writeProgram(t, home, block[1], block[2])
			continue
		}
		for _, step := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			commands--
			typeCommand(t, home, step)
		}
	}
	if files != 0 || commands != 0 {
		t.Errorf("the page lacks %d files and %d commands", files, commands)
	}
}

// writeProgram writes a file, executable where it is a script.
func writeProgram(t *testing.T, home, path, text string) {
	t.Helper()
	write(t, home, path, text)
	if strings.HasPrefix(text, "#!") {
		if err := os.Chmod(filepath.Join(home, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// typeCommand types the first line, and compares the rest with what is printed.
func typeCommand(t *testing.T, home, step string) {
	t.Helper()
	command, want, _ := strings.Cut(strings.TrimRight(step, "\n"), "\n")
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = home, patchbayIn(home).Env
	out, err := cmd.CombinedOutput()
	checkPrinted(t, command, string(out), want)
	if strings.HasPrefix(want, "error:") && err == nil {
		t.Errorf("$ %s\ndoes not fail:\n%s", command, out)
	}
}

func checkPrinted(t *testing.T, command, out, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
		if !regexp.MustCompile("(?m)^" + pattern + "$").MatchString(out) {
			t.Errorf("$ %s\ndoes not print %q, but\n%s", command, line, out)
		}
	}
}
