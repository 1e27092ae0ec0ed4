//go:build unix

package proc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// logged reads text in chunks of a size and returns the logged lines.
func logged(text string, chunk int) []string {
	var got []string
	e := newStderr(nil, func(line string) { got = append(got, line) })
	for part := range slices.Chunk([]byte(text), chunk) {
		e.remember(part)
		e.split(part)
	}
	e.flush()
	return got
}

func TestStderrLines(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"each line is logged", "one\ntwo\n", []string{"one", "two"}},
		{"an empty line is logged too", "\n\nx\n", []string{"", "", "x"}},
		{"a last line without a newline is logged too", "one\ntwo", []string{"one", "two"}},
		{"Windows line ends are taken off", "one\r\n", []string{"one"}},
		{"a long line is cut", strings.Repeat("x", 3*maxLine) + "\nnext\n", []string{strings.Repeat("x", maxLine), "next"}},
		{"no output is no line", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, chunk := range []int{1, 7, 4 << 10, 1 << 20} {
				if got := logged(test.text, chunk); !slices.Equal(got, test.want) {
					t.Errorf("in chunks of %d: %d lines, want %d", chunk, len(got), len(test.want))
				}
			}
		})
	}
}

func TestStderrBudget(t *testing.T) {
	t.Run("lines over the budget are counted", func(t *testing.T) {
		got := logged(strings.Repeat("x\n", budgetLines+5), 4<<10)
		if len(got) != budgetLines+1 || got[budgetLines] != "… 5 lines dropped" {
			t.Errorf("%d lines, last %q", len(got), got[len(got)-1])
		}
	})
	t.Run("bytes over the budget are counted", func(t *testing.T) {
		line := strings.Repeat("x", maxLine)
		got := logged(strings.Repeat(line+"\n", budgetBytes/maxLine+3), 4<<10)
		if len(got) != budgetBytes/maxLine+1 || got[len(got)-1] != "… 3 lines dropped" {
			t.Errorf("%d lines, last %.30q", len(got), got[len(got)-1])
		}
	})
	t.Run("a new window has a new budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			e := newStderr(nil, func(line string) { got = append(got, line) })
			e.split([]byte(strings.Repeat("x\n", budgetLines+2)))
			time.Sleep(budgetWindow)
			e.split([]byte("later\n"))
			if want := []string{"… 2 lines dropped", "later"}; !slices.Equal(got[budgetLines:], want) {
				t.Errorf("%q", got[budgetLines:])
			}
		})
	})
}

func TestStderrTail(t *testing.T) {
	tail := func(text string, chunk int) string {
		e := newStderr(nil, nil)
		for part := range slices.Chunk([]byte(text), chunk) {
			e.remember(part)
		}
		if cap(e.last) > 8*maxTail {
			t.Errorf("%d bytes held", cap(e.last))
		}
		return e.tail()
	}
	t.Run("is the end", func(t *testing.T) {
		var text strings.Builder
		for i := range 10_000 {
			fmt.Fprintln(&text, i)
		}
		for _, chunk := range []int{1, 100, 4 << 10} {
			if got := tail(text.String(), chunk); got != text.String()[text.Len()-maxTail:] {
				t.Errorf("in chunks of %d: %.20q…", chunk, got)
			}
		}
	})
	t.Run("begins with a whole character", func(t *testing.T) {
		if got := tail(strings.Repeat("é", maxTail)+"x", 100); !strings.HasPrefix(got, "é") {
			t.Errorf("%.10q", got)
		}
	})
	t.Run("short output is kept whole", func(t *testing.T) {
		if got := tail("boom\n", 1); got != "boom\n" {
			t.Errorf("%q", got)
		}
	})
}

func TestStderrFlood(t *testing.T) {
	g := newGroup(t)
	var log lines
	s := fake(t, "stderr-flood", "200000")
	s.Log = log.add
	result, err := g.Run(t.Context(), s, Call{})
	if err != nil || string(result.Stdout) != "done\n" {
		t.Fatalf("%+v, %v", result, err)
	}
	if !strings.HasSuffix(result.Stderr, "line 199999\n") || len(result.Stderr) > maxTail {
		t.Errorf("tail of %d bytes: …%.20q", len(result.Stderr), result.Stderr[max(0, len(result.Stderr)-20):])
	}
	got := log.list()
	if len(got) > 10*budgetLines || !strings.HasSuffix(got[len(got)-1], "lines dropped") {
		t.Errorf("%d lines logged, last %q", len(got), got[len(got)-1])
	}
}

func TestStderrOfALongLivedProcess(t *testing.T) {
	g := newGroup(t)
	var log lines
	s := fake(t, "speaks-then-hangs")
	s.Log = log.add
	p, err := g.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "its line is logged while it runs", func() bool { return slices.Equal(log.list(), []string{"said"}) })
	if p.Stderr() != "said\n" {
		t.Errorf("%q", p.Stderr())
	}
	p.Stop(t.Context(), Ladder{})
}
