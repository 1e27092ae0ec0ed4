package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("a new file is made, with the directories above it", func(t *testing.T) {
		got := b.ok("write_file", args{"path": "a/b/c.txt", "content": "one\ntwo"})
		if got != "made a/b/c.txt: 2 lines, 7 bytes\n" {
			t.Error(got)
		}
		has(t, filepath.Join(b.dir, "a/b/c.txt"), "one\ntwo")
	})
	t.Run("an existing file is replaced", func(t *testing.T) {
		path := b.put("f", "a long old content")
		if got := b.ok("write_file", args{"path": path, "content": "x\n"}); got != "replaced f: 1 line, 2 bytes\n" {
			t.Error(got)
		}
		has(t, path, "x\n")
	})
	t.Run("a file may be emptied", func(t *testing.T) {
		path := b.put("f", "content")
		if got := b.ok("write_file", args{"path": "f", "content": ""}); got != "replaced f: 0 lines, 0 bytes\n" {
			t.Error(got)
		}
		has(t, path, "")
	})
	t.Run("a directory is not a file", func(t *testing.T) {
		b.fails("write_file", args{"path": "a", "content": "x"}, "is a directory")
		b.fails("write_file", args{"path": "new/", "content": "x"}, "names a directory")
		b.fails("write_file", args{"path": ".", "content": "x"}, "names a directory")
	})
	t.Run("a file is not a directory", func(t *testing.T) {
		b.put("f", "x")
		b.fails("write_file", args{"path": "f/g", "content": "x"}, `"f/g"`)
	})
	t.Run("nothing temporary is left", func(t *testing.T) {
		onlyThese(t, b.dir, "a", "f")
		onlyThese(t, filepath.Join(b.dir, "a/b"), "c.txt")
	})
}

// TestWriteIsWhole reads a file while it is replaced. The reader must see the old or the new
// content.
func TestWriteIsWhole(t *testing.T) {
	b := newBench(t, Options{})
	contents := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 200_000)}
	path := b.put("f", contents[0])
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != contents[0] && string(got) != contents[1] {
				stopped <- fmt.Errorf("%d bytes, %w", len(got), err)
				return
			}
		}
	}()
	for i := range 20 {
		b.ok("write_file", args{"path": "f", "content": contents[i%2]})
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestEdit(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("old becomes new, and the result shows it", func(t *testing.T) {
		path := b.put("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
		got := b.ok("edit_file", args{"path": "f", "old": "5\n", "new": "five\nand a half\n"})
		want := "edited f: 1 replacement\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and a half\n 6\n 7\n 8\n"
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		has(t, path, "1\n2\n3\n4\nfive\nand a half\n6\n7\n8\n9\n")
	})
	t.Run("a part of a line is shown as the line", func(t *testing.T) {
		b.put("f", "let a = 1\n")
		contains(t, b.ok("edit_file", args{"path": "f", "old": "= 1", "new": "= 2"}), "@@ -1,1 +1,1 @@\n-let a = 1\n+let a = 2\n")
	})
	t.Run("new may be empty", func(t *testing.T) {
		path := b.put("f", "keep\ndrop\n")
		b.ok("edit_file", args{"path": "f", "old": "drop\n", "new": ""})
		has(t, path, "keep\n")
	})
	t.Run("old must occur once", func(t *testing.T) {
		path := b.put("f", "x\ny\nx\nz\nx\n")
		b.fails("edit_file", args{"path": "f", "old": "x", "new": "q"}, `"f"`, "old occurs 3 times (at lines 1, 3, 5)", "set all to true")
		b.put("f", "aaa")
		b.fails("edit_file", args{"path": "f", "old": "aa", "new": "q"}, "old occurs 2 times")
		has(t, path, "aaa")
	})
	t.Run("with all, old may occur several times", func(t *testing.T) {
		path := b.put("f", "x y x\n1\n2\n3\n4\n5\n6\n7\n8\nx\n")
		got := b.ok("edit_file", args{"path": "f", "old": "x", "new": "longer\nx", "all": true})
		contains(t, got, "3 replacements", "@@ -1,4 +1,6 @@\n-x y x\n+longer\n+x y longer\n+x\n 1\n", "@@ -7,4 +9,5 @@\n 6\n 7\n 8\n-x\n+longer\n+x\n")
		has(t, path, "longer\nx y longer\nx\n1\n2\n3\n4\n5\n6\n7\n8\nlonger\nx\n")
	})
	t.Run("old that is empty or the same as new is refused", func(t *testing.T) {
		b.fails("edit_file", args{"path": "f", "old": "", "new": "x"}, "old is empty", "write_file")
		b.fails("edit_file", args{"path": "f", "old": "x", "new": "x"}, "the same")
	})
	t.Run("a difference in whitespace is pointed out", func(t *testing.T) {
		b.put("f", "if x {\n\treturn 1\n}\n")
		b.fails("edit_file", args{"path": "f", "old": "if x {\n    return 1", "new": "y"},
			"lines 1 to 2 differ from it in whitespace only", `"if x {\n\treturn 1"`)
	})
	t.Run("without such a difference, the most similar line is named", func(t *testing.T) {
		b.put("f", "alpha\nfunc main() { run(ctx, 1) }\nomega\n")
		b.fails("edit_file", args{"path": "f", "old": "func main() { run(ctx, 2) }", "new": "y"},
			"does not occur", "line 2", `"func main() { run(ctx, 1) }"`)
		r := b.fails("edit_file", args{"path": "f", "old": "something else entirely", "new": "y"}, "does not occur", "read the file again")
		if strings.Contains(r.Error, "most like") {
			t.Error(r.Error)
		}
	})
	t.Run("a binary file is refused", func(t *testing.T) {
		b.put("bin", "a\x00b")
		b.fails("edit_file", args{"path": "bin", "old": "a", "new": "c"}, "binary")
	})
	t.Run("bytes that are not UTF-8 stay as they are", func(t *testing.T) {
		path := b.put("latin", "Gr\xfc\xdfe an alle\n")
		b.ok("edit_file", args{"path": "latin", "old": "alle", "new": "dich"})
		has(t, path, "Gr\xfc\xdfe an dich\n")
	})
	t.Run("an edit that makes a file too large is refused", func(t *testing.T) {
		b.put("f", strings.Repeat("x", 1000))
		b.fails("edit_file", args{"path": "f", "old": "x", "new": strings.Repeat("y", 20_000), "all": true}, "too much")
	})
}

func TestEditLineEnds(t *testing.T) {
	for _, c := range []struct{ name, content, old, new, want string }{
		{"the file's line ends are kept", "a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"},
		{"line ends in new alone are converted too", "a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"},
		{"no line end is doubled", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"},
		{"a file with both: old as written, if it occurs", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"},
		{"a file with both: old with CRLF otherwise", "a\r\nb\r\nc\n", "a\nb", "x\ny", "x\r\ny\r\nc\n"},
		{"a file without CR stays without", "a\nb\n", "a", "x\ny", "x\ny\nb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := planEdit(c.content, editArgs{Old: c.old, New: c.new})
			if err != nil || e.after() != c.want {
				t.Errorf("%+v, %v; want %q", e, err, c.want)
			}
		})
	}
}

// TestEditsAtOnce makes many edits of one file at the same time. None may be lost.
func TestEditsAtOnce(t *testing.T) {
	b := newBench(t, Options{})
	var before, after strings.Builder
	for i := range 20 {
		fmt.Fprintf(&before, "<%d>\n", i)
		fmt.Fprintf(&after, "[%d]\n", i)
	}
	path := b.put("f", before.String())
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r, err := b.try(t.Context(), "edit_file", args{"path": "f", "old": fmt.Sprintf("<%d>", i), "new": fmt.Sprintf("[%d]", i)})
			if err != nil || !r.Success {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
		})
	}
	all.Wait()
	has(t, path, after.String())
}
