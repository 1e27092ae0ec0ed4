package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestInput(t *testing.T) {
	for _, key := range []string{"alt+enter", "ctrl+j", "shift+enter"} {
		t.Run(key+" begins a new line", func(t *testing.T) {
			drive(t, func(d *driver) {
				d.write("a")
				d.keys(key)
				d.write("b")
				d.keys("enter")
				if len(d.talk.sent) != 1 || d.talk.sent[0] != "a\nb" {
					t.Errorf("sent %q", d.talk.sent)
				}
			})
		})
	}
	t.Run("an empty input is not sent", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("   ")
			if len(d.talk.sent) != 0 {
				t.Errorf("sent %q", d.talk.sent)
			}
		})
	})
	t.Run("it grows with its text, up to ten lines", func(t *testing.T) {
		drive(t, func(d *driver) {
			for i := range 15 {
				d.write(fmt.Sprint(i))
				d.keys("ctrl+j")
			}
			if got := d.s.input.area.Height(); got != maxInputLines {
				t.Errorf("it is %d lines tall", got)
			}
			if got := strings.Count(d.s.input.value(), "\n"); got != 15 {
				t.Errorf("%d line ends were typed", got)
			}
		})
	})
}

func TestPaste(t *testing.T) {
	paste := func(text string) (sent string, shown string) {
		drive(t, func(d *driver) {
			d.send(tea.PasteMsg{Content: text})
			shown = d.s.input.value()
			d.keys("enter")
			sent = strings.Join(d.talk.sent, "|")
		})
		return sent, shown
	}
	t.Run("keeps line ends, of any kind", func(t *testing.T) {
		for _, text := range []string{"a\nb\nc", "a\r\nb\r\nc", "a\rb\rc"} {
			if sent, shown := paste(text); sent != "a\nb\nc" || shown != sent {
				t.Errorf("%q: sent %q, shown %q", text, sent, shown)
			}
		}
	})
	t.Run("a line end in it does not send it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.send(tea.PasteMsg{Content: "a\nb\n"})
			if len(d.talk.sent) != 0 {
				t.Errorf("sent %q", d.talk.sent)
			}
		})
	})
	t.Run("drops control characters", func(t *testing.T) {
		if sent, _ := paste("a\x1b[31mb\x00c"); sent != "a[31mbc" {
			t.Errorf("sent %q", sent)
		}
	})
	t.Run("a long paste is shown as a mark and sent whole", func(t *testing.T) {
		long := strings.Repeat("line\n", 50) + "end"
		if sent, shown := paste(long); shown != "[paste #1: 51 lines]" || sent != long {
			t.Errorf("shown %q, sent %d bytes", shown, len(sent))
		}
	})
	t.Run("tabs survive", func(t *testing.T) {
		if sent, _ := paste("all:\n\tgo build"); sent != "all:\n\tgo build" {
			t.Errorf("sent %q", sent)
		}
	})
	t.Run("of a long message the screen shows the beginning and the end", func(t *testing.T) {
		drive(t, func(d *driver) {
			var text strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&text, "pasted %04d\n", i)
			}
			d.send(tea.PasteMsg{Content: text.String()})
			d.keys("enter")
			mine, _, _ := strings.Cut(d.scrollback(), "you said")
			if !strings.Contains(mine, "❯ pasted 0000\n") || !strings.Contains(mine, "… 1960 lines are left out …") || !strings.Contains(mine, "pasted 1999\n") ||
				strings.Count(mine, "pasted") != ranLines {
				t.Errorf("shown:\n%s", mine)
			}
			d.wantSent(strings.TrimSpace(text.String()))
		})
	})
	t.Run("two long pastes have two marks", func(t *testing.T) {
		drive(t, func(d *driver) {
			a, b := strings.Repeat("a\n", 30), strings.Repeat("b\n", 40)
			d.send(tea.PasteMsg{Content: a})
			d.write(" and ")
			d.send(tea.PasteMsg{Content: b})
			if got := d.s.input.text(); got != a+" and "+b {
				t.Errorf("got %q", got)
			}
		})
	})
}

func TestPast(t *testing.T) {
	t.Run("up goes back, down returns to the unsent text", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("first")
			d.enter("second")
			d.write("draft")
			for _, step := range []struct{ key, want string }{
				{"up", "second"}, {"up", "first"}, {"up", "first"}, {"down", "second"}, {"down", "draft"}, {"down", "draft"},
			} {
				if d.keys(step.key); d.s.input.value() != step.want {
					t.Errorf("%s: %q, want %q", step.key, d.s.input.value(), step.want)
				}
			}
		})
	})
	t.Run("within a text of several lines the arrows move the cursor first", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("old")
			d.send(tea.PasteMsg{Content: "a\nb"})
			d.keys("up")
			if got := d.s.input.value(); got != "a\nb" {
				t.Fatalf("got %q", got)
			}
			d.keys("up")
			if got := d.s.input.value(); got != "old" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("commands in the history do not stop the arrows", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("old")
			d.enter("/help")
			d.keys("up", "up")
			if got := d.s.input.value(); got != "old" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("the same text twice is one", func(t *testing.T) {
		var p past
		p.add("a")
		p.add("a")
		if len(p.entries) != 1 {
			t.Errorf("got %q", p.entries)
		}
	})
}

func TestHistoryFile(t *testing.T) {
	path := func(t *testing.T) string { return filepath.Join(t.TempDir(), "deep", "history") }
	t.Run("the history is there again in the next run", func(t *testing.T) {
		o := driverOptions{options: Options{HistoryFile: path(t)}}
		driveWith(t, o, func(d *driver) {
			d.enter("one\ttab")
			d.send(tea.PasteMsg{Content: "two\nlines"})
			d.keys("enter")
		})
		driveWith(t, o, func(d *driver) {
			d.keys("up")
			if got := d.s.input.value(); got != "two\nlines" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("only the user can read it", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("windows has other rights")
		}
		h := &history{path: path(t)}
		if err := h.add("secret"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(h.path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("parallel writes lose nothing and leave no files behind", func(t *testing.T) {
		h := &history{path: path(t)} // its lock keeps the writes apart
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := h.add(fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		entries, err := h.load()
		files, _ := os.ReadDir(filepath.Dir(h.path))
		if err != nil || len(entries) != 20 || len(files) != 1 {
			t.Errorf("%d entries, %d files, %v", len(entries), len(files), err)
		}
	})
	t.Run("it does not grow for ever", func(t *testing.T) {
		var entries []string
		for i := range maxEntries + 5 {
			entries = remember(entries, fmt.Sprint(i))
		}
		if len(entries) != maxEntries || entries[0] != "5" {
			t.Errorf("%d entries from %s", len(entries), entries[0])
		}
	})
	t.Run("invalid lines are ignored", func(t *testing.T) {
		h := &history{path: filepath.Join(t.TempDir(), "history")}
		if err := os.WriteFile(h.path, []byte("garbage\n\"good\"\n{}\n\x00\xff\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if entries, err := h.load(); err != nil || strings.Join(entries, "|") != "good" {
			t.Errorf("%q, %v", entries, err)
		}
	})
	t.Run("without a path it is not stored", func(t *testing.T) {
		h := &history{}
		if err := h.add("x"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a path that cannot be written is an error, and the chat goes on", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h := &history{path: filepath.Join(file, "history")}
		if err := h.add("x"); err == nil {
			t.Error("no error")
		}
		driveWith(t, driverOptions{options: Options{HistoryFile: h.path}}, func(d *driver) {
			d.enter("hello")
			d.wantPrinted("you said: hello")
		})
	})
}

func TestMenu(t *testing.T) {
	t.Run("a slash opens it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("/")
			d.wantLive("/help", "/plugins", "/plugin ")
		})
	})
	t.Run("Tab completes the chosen line", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("/p")
			d.keys("down", "tab")
			if got := d.s.input.value(); got != "/plugin" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("Enter runs the typed command, although another begins with it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugin")
			if d.s.wizard == nil {
				t.Errorf("no wizard:\n%s", d.live())
			}
		})
	})
	t.Run("Enter runs the chosen command", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/tool")
			d.wantPrinted("❯ /tools", "read_file")
		})
	})
	t.Run("Esc closes it, and interrupts nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.write("/")
			d.keys("esc")
			if d.s.turn == nil || d.s.turn.interrupted || len(d.s.input.menu()) != 0 {
				t.Error("the turn was interrupted, or the menu is still open")
			}
		})
	})
	t.Run("arguments are completed too", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("/compact d")
			d.keys("down", "tab")
			if got := d.s.input.value(); got != "/compact delegate" {
				t.Errorf("got %q", got)
			}
		})
	})
}
