package plugtest

import (
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	got := commands(Block{Line: 10, Text: "$ one\nfirst\nsecond\n$ two \\\n  more\nthird\n$ three\n"})
	want := []GuideCommand{{"one", "first\nsecond\n", 10}, {"two \\\n  more", "third\n", 13}, {"three", "", 16}}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"a\n", "a", true}, {"a", "b", false}, {"took 15 ms (id)", "took … (id)", true}, {"took 15 ms", "took … (id)", false},
		{"x 1 y 2", "… y …", true}, {"x 1", "… y …", false}, {"anything", "…", true}, {"b tail", "a…tail", false},
	} {
		if like(c.got, c.want) != c.same {
			t.Errorf("%q like %q: want %v", c.got, c.want, c.same)
		}
	}
}

// TestPageFences: both kinds of block are found in a page of this repository.
func TestPageFences(t *testing.T) {
	g := Page(t, "docs/protocols/dotagent.md")
	if !strings.HasPrefix(g.Files[0].Text, "#!") || g.Commands[0].Text == "" {
		t.Errorf("%+v", g)
	}
}
