package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

// pieces keeps each write separately.
type pieces struct{ list []string }

func (p *pieces) Write(b []byte) (int, error) {
	p.list = append(p.list, string(b))
	return len(b), nil
}

// shouter is a scaffold plugin in Bash that changes replies; the model's text is "it is a secret".
const shouter = `#!/bin/bash
while IFS= read -r line; do
	id=${line##*'"id":'}; id=${id%\}}
	case "$line" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"name":"shouter","hooks":["post_llm_response"]}}' ;;
	*'"hook/'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"action":"continue","text":"IT IS NONE"}}' ;;
	*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"ok":true}}' ;;
	esac
done
`

// ask runs chat -p on a terminal. It returns the pieces that were written to stdout, and the
// remarks on stderr.
func ask(t *testing.T, plugin string) (out []string, remarks string) {
	t.Helper()
	home := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("script.yaml", "- text: it is a secret\n", 0o600)
	if plugin != "" {
		write(".local/scaffold/plugins/shouter", plugin, 0o755)
	}
	var screen pieces
	var errs bytes.Buffer
	std := IO{In: strings.NewReader(""), InTTY: true, Out: &screen, OutTTY: true, Err: &errs, ErrTTY: true, Dir: home,
		Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}}
	if code := Main(context.Background(), []string{"chat", "-p", "hello", "--script", script}, std); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return screen.list, errs.String()
}

// docs/protocols/scaffold.md: post_llm_response runs before display.
func TestAnAnswerOnATerminal(t *testing.T) {
	t.Run("comes word by word", func(t *testing.T) {
		out, remarks := ask(t, "")
		if !slices.Equal(out, []string{"it ", "is ", "a ", "secret", "\n"}) || strings.Contains(remarks, "\n") {
			t.Errorf("written %q, remarks %q", out, remarks)
		}
	})
	t.Run("is held if a plugin may change it", func(t *testing.T) {
		out, remarks := ask(t, shouter)
		if !slices.Equal(out, []string{"IT IS NONE", "\n"}) {
			t.Errorf("written %q", out)
		}
		if strings.Contains(remarks, "secret") || strings.Contains(remarks, "\n") {
			t.Errorf("remarks %q", remarks)
		}
	})
}

func TestWords(t *testing.T) {
	tests := map[string]struct {
		events []chat.Event
		result string
		want   string
	}{
		"a reply that was streamed is not printed again": {
			events: []chat.Event{{Type: chat.TextDelta, Text: "a "}, {Type: chat.TextDelta, Text: "b"}, {Type: chat.ModelReplied, Text: "a b"}},
			result: "a b", want: "a b\n"},
		"text before a tool call has its own line": {
			events: []chat.Event{{Type: chat.TextDelta, Text: "let me look"}, {Type: chat.ModelReplied, Text: "let me look"},
				{Type: chat.ToolStarted, Tool: &chat.ToolUse{Name: "read_file"}}, {Type: chat.TextDelta, Text: "there"}, {Type: chat.ModelReplied, Text: "there"}},
			result: "there", want: "let me look\nthere\n"},
		"a reply that is retried keeps its line": {
			events: []chat.Event{{Type: chat.TextDelta, Text: "half a"}, {Type: chat.Retrying, Text: "lost"},
				{Type: chat.TextDelta, Text: "whole"}, {Type: chat.ModelReplied, Text: "whole"}},
			result: "whole", want: "half a\nwhole\n"},
		"an interrupted reply ends its line": {
			events: []chat.Event{{Type: chat.TextDelta, Text: "once upon"}}, result: "once upon", want: "once upon\n"},
		"an empty reply prints no line": {
			events: []chat.Event{{Type: chat.ModelReplied}}, want: ""},
		"control characters are escaped": {
			events: []chat.Event{{Type: chat.TextDelta, Text: "a\x1b[2J"}, {Type: chat.ModelReplied, Text: "a\x1b[2J"}},
			result: "a\x1b[2J", want: `a\x1b[2J` + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := &words{out: &out}
			for _, e := range tt.events {
				w.see(e)
			}
			w.finish(tt.result)
			if out.String() != tt.want {
				t.Errorf("written %q, want %q", out.String(), tt.want)
			}
		})
	}
}
