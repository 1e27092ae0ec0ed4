package tui

import (
	"strings"
	"testing"
)

// TestPrompts: a prompt is sent with the text after its name, is offered first if its name is
// complete, and never replaces a command. Tab leaves the cursor where its text begins.
func TestPrompts(t *testing.T) {
	say := func(args string) string { return "say " + args }
	list := promptList(func() []PromptCommand {
		return []PromptCommand{{Name: "c", About: "mine", Text: say}, {Name: "quit", Text: say}}
	})
	for line, want := range map[string]string{"/c it  now": "say it  now", "/c": "say ", "/quit": "", "/cc": ""} {
		if got, ok := list.expand(line); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", line, got, ok)
		}
	}
	b := newInputBox(look{width: 80, height: 24})
	b.prompts = list
	b.area.SetValue("/c")
	menu := b.menu()
	if len(menu) < 2 || menu[0].text != "/c" || menu[0].about != "mine" {
		t.Errorf("%+v", menu)
	}
	b.complete(menu)
	if got := b.value(); got != "/c " || b.menu() != nil {
		t.Errorf("after Tab: %q, and the menu has %v", got, b.menu())
	}
	for _, row := range list.pairs() {
		if strings.Contains(row[0], "/quit") {
			t.Errorf("%v", row)
		}
	}
}
