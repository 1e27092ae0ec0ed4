package plugtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Guide is a page of docs/ whose examples a test types: its files, and its commands with their
// output.
//
// A code block is a file if its fence names one: "```bash file=dotagent-plugin-hello". A block
// "```console" has commands. Each begins with "$ ", continues in the next line after a backslash,
// and is followed by its output. There "…" matches anything.
type Guide struct {
	Files    []GuideFile
	Commands []GuideCommand

	t testing.TB
}

// A GuideFile is a file on the page.
type GuideFile struct {
	Name string // relative, as the fence names it
	Text string
	Line int // of the page
}

// A GuideCommand is a command on the page.
type GuideCommand struct {
	Text   string // as the shell gets it
	Output string // the output on the page
	Line   int    // of the page
}

// Page reads a page; path is relative to the root of the repository. A page without a command ends
// the test.
func Page(t testing.TB, path string) *Guide {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	g := &Guide{t: t}
	doc := newDocument(t, path, string(text))
	for _, b := range doc.Blocks() {
		lang, rest, _ := strings.Cut(b.Lang, " ")
		switch name, isFile := strings.CutPrefix(strings.TrimSpace(rest), "file="); {
		case isFile:
			g.Files = append(g.Files, GuideFile{Name: name, Text: b.Text, Line: b.Line})
		case lang == "console":
			g.Commands = append(g.Commands, commands(b)...)
		}
	}
	found(doc, g.Commands, "command in a console block")
	return g
}

// root returns the root directory of the tested module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	t.Fatalf("there is no go.mod above the working directory (%v)", err)
	return ""
}

// commands returns the commands of a console block.
func commands(b Block) []GuideCommand {
	var all []GuideCommand
	open := false // the command continues in the next line
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		text, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins && !open:
			all = append(all, GuideCommand{Text: text, Line: b.Line + i})
		case len(all) == 0:
			continue // before the first command
		case open:
			all[len(all)-1].Text += "\n" + line
		default:
			all[len(all)-1].Output += line + "\n"
		}
		open = (begins || open) && strings.HasSuffix(line, `\`)
	}
	return all
}

// write writes a file of the page into a folder. A file that begins with #! is executable, also
// without a chmod on the page.
func (g *Guide) write(dir string, f GuideFile) {
	g.t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(f.Text, "#!") {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(f.Text), mode); err != nil {
		g.t.Fatal(err)
	}
}

// Type follows the page as its reader does. It writes the files into a folder, the home, types the
// commands at a shell there in order, and compares the output of each, on both streams, with the
// page. "cd ~/DIR" applies to the commands that follow. replace turns texts of this run, such as
// the name of a folder, into those of the page; it may be nil.
func (g *Guide) Type(dir string, environ []string, replace *strings.Replacer) {
	g.t.Helper()
	NeedTool(g.t, "bash")
	home, files := dir, g.Files
	for _, c := range g.Commands {
		for ; len(files) > 0 && files[0].Line < c.Line; files = files[1:] {
			g.write(home, files[0])
		}
		if to, ok := strings.CutPrefix(c.Text, "cd ~"); ok {
			dir = filepath.Join(home, filepath.FromSlash(to))
			continue
		}
		cmd := exec.Command("bash", "-c", c.Text)
		cmd.Dir, cmd.Env = dir, environ
		out, err := cmd.CombinedOutput() // a command that fails prints why, and the page shows that
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			g.t.Fatalf("line %d: %v", c.Line, err)
		}
		got := string(out)
		if replace != nil {
			got = replace.Replace(got)
		}
		if !like(got, c.Output) {
			g.t.Errorf("line %d: %s\nprints\n%s\nand the page shows\n%s", c.Line, c.Text, got, c.Output)
		}
	}
}

// like compares two texts; "…" in the second matches anything.
func like(got, want string) bool {
	parts := strings.Split(strings.TrimSpace(want), "…")
	got = strings.TrimSpace(got)
	if len(parts) == 1 {
		return got == parts[0]
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}
