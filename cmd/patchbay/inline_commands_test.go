package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var inlineCommand = regexp.MustCompile("`patchbay ((?:[a-z]+ ?)+)")

// TestCommandsInSentences: the commands that the guides name in their sentences exist.
func TestCommandsInSentences(t *testing.T) {
	named := make(map[string]string) // the page that names each command of at most two words
	for _, page := range []string{"README.md", "glossary.md", "troubleshooting.md", "examples.md", "plugin-dev.md", "configuration.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(m[1])
			named[strings.Join(words[:min(len(words), 2)], " ")] = page
		}
	}
	if len(named) < 15 {
		t.Fatalf("only %d commands were found: the pattern is broken", len(named))
	}
	for _, command := range slices.Sorted(maps.Keys(named)) {
		out, err := patchbayIn(t.TempDir(), append(strings.Fields(command), "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "patchbay "+command) {
			t.Errorf("docs/%s names `patchbay %s`: %v\n%s", named[command], command, err, out)
		}
	}
}
