package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpIsWhole: every command has examples and exit codes, and every flag names its value.
func TestHelpIsWhole(t *testing.T) {
	for _, c := range manCommands(newRootCommand(&app{})) {
		if c.Short == "" {
			t.Errorf("%s: no sentence", c.CommandPath())
		}
		if c.Runnable() && c.Name() == c.Use && c.HasAvailableSubCommands() || !c.Runnable() {
			continue // it only shows its help
		}
		if c.HasParent() && (c.Example == "" || c.Annotations[exitKey] == "") {
			t.Errorf("%s: no examples, or no exit codes", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" && !strings.Contains(f.Usage, "`") && f.Annotations[valueKey] == nil {
				t.Errorf("%s --%s: its value has no name", c.CommandPath(), f.Name)
			}
		})
	}
}

// TestHelpOfShells: the help of completion is ours, with and without colours.
func TestHelpOfShells(t *testing.T) {
	for _, colours := range []bool{false, true} {
		c := newConsole(t, "TERM=xterm")
		c.OutTTY, c.Width = colours, 80
		if code := c.run("completion", "zsh", "--help"); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		if got := c.out.String(); !strings.Contains(got, "The first example loads it into this") || strings.Contains(got, "autocompletion") {
			t.Errorf("colours %v:\n%s", colours, got)
		}
	}
}

// TestManPages: no text of ours is read as a roff request, whatever it begins with.
func TestManPages(t *testing.T) {
	for text, want := range map[string]string{
		".TH x": `\&.TH x`, "'a": `\&'a`, `a\b`: `a\eb`, "--json": `\-\-json`, "a\n.b": "a\n\\&.b",
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
