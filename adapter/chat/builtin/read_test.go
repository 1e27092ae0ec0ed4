package builtin

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

func TestRead(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("a file is shown unchanged", func(t *testing.T) {
		for _, content := range []string{"a\nb\n", "no end", "a\r\nb\r\n", "Grüße\n", "\n",
			strings.Repeat("x", shownMax), strings.Repeat("x\n", shownMax/2)} {
			b.put("f", content)
			if got := b.ok("read_file", args{"path": "f"}); got != content {
				t.Errorf("%d bytes: %d came, %q", len(content), len(got), excerpt.Head(got, 100))
			}
		}
	})
	t.Run("an absolute path inside works too", func(t *testing.T) {
		path := b.put("sub/f", "hello\n")
		if got := b.ok("read_file", args{"path": path}); got != "hello\n" {
			t.Error(got)
		}
		if got := b.ok("read_file", args{"path": "./sub/../sub/f"}); got != "hello\n" {
			t.Error(got)
		}
	})
	t.Run("an empty file is reported as empty", func(t *testing.T) {
		b.put("empty", "")
		contains(t, b.ok("read_file", args{"path": "empty"}), "[the file is empty]")
	})
	t.Run("offset and limit are lines", func(t *testing.T) {
		b.put("f", "1\n2\n3\n4\n5")
		got := b.ok("read_file", args{"path": "f", "offset": 2, "limit": 2})
		if !strings.HasPrefix(got, "2\n3\n[lines 2 to 3 of a file of 9 B: read on with offset 4]") {
			t.Error(got)
		}
		if got := b.ok("read_file", args{"path": "f", "offset": 4}); got != "4\n5" {
			t.Error(got)
		}
		b.fails("read_file", args{"path": "f", "offset": 6}, "only 5 lines", "line 6 was asked for")
	})
	t.Run("a long file is read to its end by the offsets of its notes", func(t *testing.T) {
		var want strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&want, "line %d ä\n", i)
		}
		b.put("long", want.String())
		if got := readAll(t, b, "long"); got != want.String() {
			t.Errorf("%d bytes came of %d", len(got), want.Len())
		}
	})
	t.Run("a line that is too long is cut at a character", func(t *testing.T) {
		b.put("wide", strings.Repeat("ä", shownMax)+"\nnext\n")
		got := b.ok("read_file", args{"path": "wide"})
		if len(got) > shownMax || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
		contains(t, got, "[line 1 is longer than can be shown")
	})
	t.Run("invalid UTF-8 is replaced", func(t *testing.T) {
		b.put("latin", "Gr\xfc\xdfe\n")
		contains(t, b.ok("read_file", args{"path": "latin"}), "Gr\ufffde\n", "[the file is not valid UTF-8")
	})
	t.Run("a binary file is refused, wherever its NUL is", func(t *testing.T) {
		b.put("bin", "\x7fELF\x00\x01")
		b.fails("read_file", args{"path": "bin"}, `"bin"`, "binary")
		b.put("late", strings.Repeat("text\n", 4000)+"\x00")
		b.fails("read_file", args{"path": "late"}, "binary")
		b.put("utf16", "\xff\xfea\x00")
		b.fails("read_file", args{"path": "utf16"}, "UTF-16", "iconv")
	})
	t.Run("a directory is refused", func(t *testing.T) {
		b.fails("read_file", args{"path": "sub"}, "is a directory", "list_files")
		b.fails("read_file", args{"path": ""}, "is a directory")
	})
	t.Run("a missing file is named, with the directory", func(t *testing.T) {
		b.fails("read_file", args{"path": "nope/none"}, `"nope/none" does not exist`, b.dir)
	})
	t.Run("a NUL in a path is refused", func(t *testing.T) {
		b.fails("read_file", args{"path": "a\x00b"}, "NUL")
	})
}

// readAll reads a file piece by piece, as the notes say.
func readAll(t *testing.T, b *bench, name string) string {
	t.Helper()
	var all strings.Builder
	for offset, pieces := 1, 0; ; pieces++ {
		got := b.ok("read_file", args{"path": name, "offset": offset})
		if len(got) > shownMax || pieces > 100 {
			t.Fatalf("%d bytes in piece %d", len(got), pieces)
		}
		text, rest, more := strings.Cut(got, "[lines ")
		all.WriteString(text)
		if !more {
			return all.String()
		}
		_, last, _ := strings.Cut(rest, "read on with offset ")
		if _, err := fmt.Sscanf(last, "%d]", &offset); err != nil {
			t.Fatalf("%q: %v", rest, err)
		}
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	b := newBench(t, Options{})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	b.put("inside", "inside\n")

	for _, path := range []string{"../x", "sub/../../x", "/etc/passwd", secret, "..", "/", b.dir + "-sibling/x"} {
		t.Run(path, func(t *testing.T) {
			for name, tool := range b.tools {
				if name == "shell" || name == "fetch" {
					continue
				}
				r, err := b.try(t.Context(), tool.Name, args{"path": path, "content": "x", "old": "x", "new": "y"})
				if err != nil || r.Success {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
				contains(t, r.Error, "outside the working directory", b.dir)
			}
		})
	}
	onlyThese(t, outside)
	onlyThese(t, b.dir, "inside")
}
