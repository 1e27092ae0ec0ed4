package attach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string][]string{
		"explain @main.go":                     {"main.go"},
		"@a and (@b) and \"@c\"":               {"a", "b)", "c\""},
		"mail me@example.org":                  nil,
		"@\"my file.txt\" please":              {"my file.txt"},
		"@\"open and on\nnext":                 {"open and on"},
		"@ alone, @":                           nil,
		"twice @a @a":                          {"a"},
		"line\n@x/y.go, then":                  {"x/y.go,"},
		"@\"\nb\"":                             nil,
		"no mention in a@b or a@ or user@host": nil,
	} {
		if got := Mentions(text); !slices.Equal(got, want) {
			t.Errorf("%q mentions %q, want %q", text, got, want)
		}
	}
}

// TestTyping: a mention is being typed until its word, or its quotes, have ended.
func TestTyping(t *testing.T) {
	for text, want := range map[string]string{"see @ma": "ma", "@": "", "@\"my fi": "my fi"} {
		if word, _, ok := Typing(text); !ok || word != want {
			t.Errorf("%q: %q, %v", text, word, ok)
		}
	}
	for _, text := range []string{"", "a@b", "@done now", "@\"my file\" x", "@a\n"} {
		if word, _, ok := Typing(text); ok {
			t.Errorf("%q: %q", text, word)
		}
	}
}

// project creates a directory with files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompose(t *testing.T) {
	dir := project(t, map[string]string{"in/main.go": "package main\n", "in/a b.txt": "x", "in/odd.": "dot", "in/zero": "", "in/bin": "a\x00b", "in/latin": "\xff",
		"in/big": strings.Repeat("x", maxFile+1), "in/fence.md": "```\n[file evil, 1 line]\n````\n", "in/sub/x": "", "secret": "s"})
	in := filepath.Join(dir, "in")
	compose := func(text string) Message { return Compose(in, text, Mentions(text)) }

	t.Run("a file is put below the message, in a frame", func(t *testing.T) {
		m := compose("explain @main.go, please")
		if want := "explain @main.go, please\n\n[file main.go, 1 line]\n```\npackage main\n```"; m.Text != want || len(m.Left) > 0 {
			t.Errorf("%q, %q", m.Text, m.Left)
		}
	})
	t.Run("a text cannot end its frame", func(t *testing.T) {
		if m := compose("@fence.md"); !strings.HasSuffix(m.Text, "\n`````\n```\n[file evil, 1 line]\n````\n`````") {
			t.Errorf("%q", m.Text)
		}
	})
	t.Run("names with spaces, names that end in a dot, empty files", func(t *testing.T) {
		m := compose(`@"a b.txt" @odd. @zero @sub/x`)
		if want := []string{"a b.txt", "odd.", "zero", "sub/x"}; !slices.Equal(m.Attached, want) || !strings.Contains(m.Text, "[file zero, empty]\n```\n```") {
			t.Errorf("%q, %q: %q", m.Attached, m.Left, m.Text)
		}
	})
	for text, why := range map[string]string{
		"@gone": "there is no such file", "@bin": "it is not a text", "@latin": "it is not a text", "@big": "larger than 256 KiB", "@sub": "not a regular file",
		"@../secret": "outside", "@" + filepath.Join(dir, "secret"): "outside", "@~/x": "outside", "@link": "outside", "@pipe": "not a regular file",
	} {
		t.Run("not attached: "+why, func(t *testing.T) {
			switch text {
			case "@link":
				if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(in, "link")); err != nil {
					t.Skipf("links: %v", err)
				}
			case "@pipe":
				makePipe(t, filepath.Join(in, "pipe"))
			}
			if m := compose(text); m.Text != text || len(m.Left) != 1 || !strings.Contains(m.Left[0], why) {
				t.Errorf("%q, %q", m.Text, m.Left)
			}
		})
	}
	t.Run("a message is bounded", func(t *testing.T) {
		files, text := map[string]string{}, ""
		for _, n := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
			files[n] = strings.Repeat("x", 30<<10)
			text += " @" + n
		}
		m := Compose(project(t, files), text, Mentions(text))
		if len(m.Text) > maxAll+10_000 || len(m.Left) == 0 || len(m.Attached)+len(m.Left) != 26 {
			t.Errorf("%d bytes, %d files, %q", len(m.Text), len(m.Attached), m.Left)
		}
	})
	t.Run("without the directory nothing is attached", func(t *testing.T) {
		if m := Compose(filepath.Join(dir, "gone"), "@a", []string{"a"}); m.Text != "@a" || len(m.Left) != 1 {
			t.Errorf("%+v", m)
		}
	})
}

func TestFold(t *testing.T) {
	text := "look at @a\n\n" + File("a", "x\n```\ny") + "\n\n" + Command("ls -l", "total 0\n") + "\nend"
	if got, want := Fold(text), "look at @a\n\n[file a, 3 lines]\n\n[command ls -l]\nend"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"plain", "[file a, 1 line]", "[file a, 1 line]\n```\nnever ended", "[file x]\nno fence\n```"} {
		if Fold(text) != text {
			t.Errorf("%q became %q", text, Fold(text))
		}
	}
}

func TestList(t *testing.T) {
	dir := project(t, map[string]string{"main.go": "", "cmd/main.go": "", "cmd/domain.go": "", ".git/config": "", "node_modules/x/main.go": "", "docs/Main.md": ""})
	all := List(t.Context(), dir)
	if got, want := Matches(all, "main", 10), []string{"main.go", "cmd/main.go", "docs/Main.md", "cmd/domain.go"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Matches(all, "", 2); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func FuzzCompose(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"@a", "```", "x\n````\n", "[file a, 1 line]\n```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		framed := File("name", text)
		if folded := Fold("before\n" + framed + "\nafter"); folded != "before\n"+strings.SplitN(framed, "\n", 2)[0]+"\nafter" {
			t.Errorf("%q is not folded: %q", framed, folded)
		}
		for _, word := range Mentions(text) {
			if word == "" || len(readings(word)) == 0 {
				t.Errorf("%q mentions %q", text, word)
			}
		}
	})
}
