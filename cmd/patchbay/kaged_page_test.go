package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A pageBlock is a fenced block of a page of the documentation.
type pageBlock struct {
	kind, file string // ```python file=NAME
	text       string
	line       int
}

// pageBlocks reads the fenced blocks of a page.
func pageBlocks(t *testing.T, path string) []pageBlock {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []pageBlock
	open := -1
	for i, line := range strings.Split(string(text), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open < 0:
			kind, file, _ := strings.Cut(fence, " file=")
			open = len(blocks)
			blocks = append(blocks, pageBlock{kind: kind, file: file, line: i + 1})
		case isFence:
			open = -1
		case open >= 0:
			blocks[open].text += line + "\n"
		}
	}
	return blocks
}

// TestKagedPageMessages compares the messages on the page with those that the host writes: they
// have the same fields, in the same order. tee records what the page's plugin receives.
func TestKagedPageMessages(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "sh", "tee"} {
		plugtest.NeedTool(t, tool)
	}
	home := t.TempDir()
	printed := make(map[string]string) // by method
	for _, b := range pageBlocks(t, "../../docs/protocols/kaged.md") {
		switch {
		case b.kind == "wire":
			for line := range strings.Lines(b.text) {
				if message, ok := strings.CutPrefix(line, "→ "); ok {
					printed[methodOf(t, message)] = strings.TrimSpace(message)
				}
			}
		case strings.HasPrefix(b.file, ".local/share/kaged/plugins/notes/"):
			text := strings.Replace(b.text, "command: [python3, notes.py]", `command: [sh, -c, "tee -a received.jsonl | python3 notes.py"]`, 1)
			text = strings.Replace(text, "hooks: [on_session_start, post_compact]", "hooks: [on_session_start, on_session_idle, pre_compact, post_compact]\nhealth_interval_sec: 5", 1)
			write(t, home, b.file, text)
		}
	}
	write(t, home, ".config/patchbay/config.toml", "sandbox = \"off\"\n")
	for _, args := range [][]string{
		{"tool", "call", "notes.add", "--args", `{"text":"tea"}`},
		{"call", "notes", "notes.count"},
		{"fire", "session.start", "--data", `{"session_id":"s","working_dir":"/w","project_root":"/w"}`},
		{"fire", "session.idle", "--data", `{"transcript":[{"role":"user","content":"Hi"}],"session_id":"s"}`},
		{"fire", "compact.before", "--data", `{"messages":[{"role":"user","content":"Hi"}],"strategy":"drop","trigger":"auto","session_id":"s"}`},
		{"fire", "compact.after", "--data", `{"messages_being_compacted":[{"role":"user","content":"a note"}],"messages_remaining":[],"strategy":"drop","trigger":"auto","session_id":"s"}`},
	} {
		cmd := patchbayIn(home, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	heard := make(map[string]string)
	f, err := os.Open(filepath.Join(home, ".local/share/kaged/plugins/notes/received.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		heard[methodOf(t, lines.Text())] = lines.Text()
	}
	for _, method := range slices.Sorted(maps.Keys(heard)) {
		if want := printed[method]; method != "" && shape(want) != shape(heard[method]) {
			t.Errorf("the host writes\n%s\nand the page has\n%s", heard[method], want)
		}
	}
	if len(heard) < 9 {
		t.Errorf("the plugin received only %q", slices.Sorted(maps.Keys(heard)))
	}
}

func methodOf(t *testing.T, message string) string {
	t.Helper()
	var m struct{ Method string }
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	return m.Method
}

// shape returns a message without its texts and numbers: only the names of its fields.
func shape(message string) string {
	message = regexp.MustCompile(`:"(?:[^"\\]|\\.)*"`).ReplaceAllString(message, `:""`)
	message = regexp.MustCompile(`:[0-9]+`).ReplaceAllString(message, `:0`)
	return regexp.MustCompile(`\["[^\]]*"\]`).ReplaceAllString(message, `[]`)
}
