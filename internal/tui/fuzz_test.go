package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// FuzzQuestion shows the user what a tool would do, in the words of a model that may want to
// deceive. No line is wider than the screen, none has a control sequence or hides text, and every
// character of a command is visible.
func FuzzQuestion(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{
		{"shell", `{"cmd":"ls\n\u001b[2Jrm -rf /"}`}, {"shell", `{"cmd":"echo \u202egnp.exe"}`}, {"write_file", `{"path":"a\r","content":"\u009b2J\n\tx"}`},
		{"edit_file", `{"path":"a","old":"x\ny","new":"x\nz"}`}, {"edit_file", `{"path":7}`}, {"other", `{"a":{"b":["\u0007"]}}`}, {"shell", `[`}, {"\x1b]0;x\a", "\xff"},
		{"shell", `{"cmd":"` + strings.Repeat("日本", 200) + `"}`}, {"shell", `{"cmd":"a` + strings.Repeat(" ", 300) + `; rm x"}`},
	} {
		f.Add(seed[0], []byte(seed[1]), uint8(80))
		f.Add(seed[0], []byte(seed[1]), uint8(20))
	}
	f.Fuzz(func(t *testing.T, tool string, arguments []byte, width uint8) {
		l := look{color: true, width: max(int(width), 12), height: 30}
		q := &question{tool: chat.Tool{Name: tool}, call: model.ToolCall{Name: tool, Arguments: arguments}}
		lines := append([]string{l.questionHead(q, 2)}, l.questionBody(q)...)
		for _, line := range append(lines, l.callLine(tool, arguments, l.cols())) {
			checkShown(t, l, line)
		}
	})
}

// FuzzExcerpt shows the output of a tool.
func FuzzExcerpt(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"", "a\nb\r\nc", "10%\r50%\r100%\n", "\x1b[31mred\x1b[0m\t|", "\xff\u202e", strings.Repeat("é", 200), "\u200b\ufe0f\u0301", strings.Repeat("b\ufe0f", 200)} {
		f.Add(seed, uint8(40))
	}
	f.Fuzz(func(t *testing.T, text string, width uint8) {
		l := look{width: max(int(width), 24), height: 30} // the clock of a running tool needs some
		lines := l.excerpt(text, render.StyleDim, finishedLines)
		if len(lines) > finishedLines+1 {
			t.Errorf("%q is shown in %d lines", text, len(lines))
		}
		running := &runningTool{use: chat.ToolUse{Name: "t"}, clock: startStopwatch()}
		running.output(text)
		for _, line := range append(lines, running.lines(l, runningLines)...) {
			checkShown(t, l, line)
		}
	})
}

// checkShown checks a line.
func checkShown(t *testing.T, l look, line string) {
	if c := control(line); c != "" {
		t.Errorf("%q in %q", c, line)
	}
	if bare := ansi.Strip(line); render.Line(bare) != bare {
		t.Errorf("unfit: %q", line)
	}
	if w := ansi.StringWidth(line); w > l.width {
		t.Errorf("%d columns of %d: %q", w, l.width, line)
	}
}

// FuzzTyping sends the screen what a terminal sends: typed and pasted text, and keys. Every frame
// passes the checks of [driver.draw].
func FuzzTyping(tf *testing.F) {
	f := variants.Few(tf)
	f.Add("hello", "enter up down tab esc")
	f.Add("/plugins", "enter ctrl+c ctrl+c")
	f.Add("a\x1b[2J\u202e\xff\r\nb", "ctrl+j alt+enter left backspace")
	f.Add(strings.Repeat("line\n", 30), "enter")
	f.Add("/trace\t日本", "tab tab enter")
	f.Fuzz(func(t *testing.T, pasted, keys string) {
		if len(pasted) > 1<<10 || len(keys) > 200 {
			return // each key is a frame
		}
		drive(t, func(d *driver) {
			d.send(tea.PasteMsg{Content: pasted})
			for _, name := range strings.Fields(strings.ToValidUTF8(keys, "?")) {
				if len(name) > 1 && strings.HasSuffix(name, "+") {
					continue // not a key
				}
				if press := keyPress(name); press.String() != "ctrl+z" { // suspends the process
					d.send(press)
				}
			}
		})
	})
}
