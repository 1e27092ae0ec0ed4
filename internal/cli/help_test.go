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
			if f.Value.Type() != "bool" && !strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: its usage has no `NAME` of the value", c.CommandPath(), f.Name)
			}
		})
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
