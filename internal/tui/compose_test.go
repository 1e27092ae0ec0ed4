package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/attach"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// inProject returns a screen whose session works in a directory with files.
func inProject(t *testing.T, test func(d *driver)) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n", "cmd/tool.go": "package cmd\n", "a b.txt": "spaces\n", "bin": "a\x00"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	driveWith(t, driverOptions{change: func(c *scripted) { c.dir = dir }}, test)
}

// wantSent compares the last message that the conversation got.
func (d *driver) wantSent(want string) {
	d.t.Helper()
	if n := len(d.talk.sent); n == 0 || d.talk.sent[n-1] != want {
		d.t.Errorf("sent %q, want %q", d.talk.sent, want)
	}
}

func TestMentionedFiles(t *testing.T) {
	t.Run("a file is added below the message, and the screen says so", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.enter("explain @main.go now")
			d.wantSent("explain @main.go now\n\n" + attach.File("main.go", "package main\n"))
			d.wantPrinted("❯ explain @main.go now", "attached: main.go")
		})
	})
	t.Run("missing and binary files are reported, and the message is sent unchanged", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.enter("see @gone.go and @bin")
			d.wantSent("see @gone.go and @bin")
			d.wantPrinted("@gone.go was not attached: there is no such file", "@bin was not attached: it is not a text")
		})
	})
	t.Run("paths are completed while they are typed, and Enter takes one without sending", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.write("look at @to")
			d.wantLive("❯ @cmd/tool.go")
			d.keys("enter")
			if got := d.s.input.value(); got != "look at @cmd/tool.go " || len(d.talk.sent) > 0 {
				t.Fatalf("the input is %q, sent %q", got, d.talk.sent)
			}
			d.write("and @b")
			d.keys("tab")
			d.write("@a")
			d.keys("down", "up", "tab", "enter")
			d.wantSent("look at @cmd/tool.go and @bin @\"a b.txt\"\n\n" + attach.File("cmd/tool.go", "package cmd\n") + "\n\n" + attach.File("a b.txt", "spaces\n"))
		})
	})
	t.Run("a complete path has no menu: Enter sends", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.enter("@main.go")
			d.wantSent("@main.go\n\n" + attach.File("main.go", "package main\n"))
		})
	})
	t.Run("a quote that is not closed yet has a menu, which closes it", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.write(`see @"a b.txt`)
			d.wantLive(`@"a b.txt"`)
			d.keys("tab", "enter")
			d.wantSent("see @\"a b.txt\"\n\n" + attach.File("a b.txt", "spaces\n"))
		})
	})
	t.Run("an @ in a long paste mentions nothing", func(t *testing.T) {
		inProject(t, func(d *driver) {
			paste := strings.Repeat("@main.go\n", foldLines+2)
			d.send(tea.PasteMsg{Content: paste})
			d.keys("enter")
			d.wantSent(strings.TrimSpace(paste))
		})
	})
	t.Run("a long paste is a message, whatever it begins with", func(t *testing.T) {
		for _, first := range []string{"!touch owned", "/quit", "/approvals remove all"} {
			inProject(t, func(d *driver) {
				paste := first + "\n\techo x\n" // a mark stands for it: the user does not see how it begins
				d.send(tea.PasteMsg{Content: paste})
				d.keys("enter")
				d.wantSent(strings.TrimSpace(paste))
			})
		}
	})
	t.Run("the files of a waiting message are read when it is sent", func(t *testing.T) {
		inProject(t, func(d *driver) {
			d.enter("hang")
			d.enter("then @main.go")
			d.wantLive("queued: then @main.go")
			close(d.talk.open)
			d.keys("esc")
			d.keys("enter")
			d.wantSent("then @main.go\n\n" + attach.File("main.go", "package main\n"))
		})
	})
	t.Run("a resumed session shows the message without the attachments", func(t *testing.T) {
		past := []model.Message{{Role: model.User, Content: "explain @a\n\n" + attach.File("a", "hidden text")}}
		driveWith(t, driverOptions{change: func(c *scripted) { c.past = past }}, func(d *driver) {
			d.wantPrinted("explain @a", "[file a, 1 line]")
			d.wantNowhere("hidden text")
		})
	})
}

func TestShell(t *testing.T) {
	frame := func(line string) string { return attach.Command(line, strings.Repeat("output of "+line+"\n", 3)) }
	t.Run("the output is shown, and is added to the next message only", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("!git status")
			d.wantPrinted("❯ !git status", "output of git status", "the output is added to your next message")
			d.enter("! ls")
			if len(d.talk.sent) > 0 {
				t.Errorf("sent %q", d.talk.sent)
			}
			d.enter("what now?")
			d.wantSent("what now?\n\n" + frame("git status") + "\n\n" + frame("ls"))
			d.enter("and now?")
			d.wantSent("and now?")
		})
	})
	t.Run("the beginning and the end of a long output are shown and added", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("!long")
			d.wantPrinted("line 0 ", "lines are left out", "[exit code 3]")
			d.enter("well?")
			if sent := d.talk.sent[len(d.talk.sent)-1]; len(sent) > maxRan+1000 || !strings.Contains(sent, "[exit code 3]\n```") || !strings.Contains(sent, "line 0 ") {
				t.Errorf("%d bytes were sent: %q", len(sent), sent)
			}
		})
	})
	t.Run("a command that is refused says why, and adds nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("!refused")
			d.wantPrinted("refused by plugin guard")
			d.enter("hello")
			d.wantSent("hello")
		})
	})
	t.Run("the end of its output is shown while it runs, and Esc interrupts it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("!hang")
			d.advance(tickEvery)
			d.wantLive("running hang", "esc interrupts", "  │ two\n  │ three\n  │ four\n")
			d.keys("esc")
			d.wantPrinted("context canceled")
			d.wantLive("Ask anything")
		})
	})
	t.Run("a Ctrl-C that comes just after its end does not leave", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.advance(2 * leavePause)
			d.enter("!ls")
			d.keys("ctrl+c")
			if d.quit {
				t.Error("the program left")
			}
		})
	})
	t.Run("it is refused during a turn", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.enter("!ls")
			d.wantPrinted("! has to wait until this is done")
		})
	})
	t.Run("a space before the ! makes it a message, and so does a ! alone", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter(" !important")
			d.wantSent("!important")
			d.enter("!")
			d.wantSent("!")
			d.keys("up", "up")
			if got := d.s.input.value(); got != " !important" || !slices.Contains(d.s.input.past.entries, "!") {
				t.Errorf("recalled as %q", got)
			}
		})
	})
}
