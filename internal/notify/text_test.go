package notify

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestHeadline(t *testing.T) {
	for want, m := range map[string]Message{
		"a succeeded":                          {Agent: "a", Event: Success},
		"a (s): attempt 1 failed":              {Agent: "a", Schedule: "s", Event: AttemptFailed, Attempt: 1},
		"a: the run failed (exit code 2)":      {Agent: "a", Event: AttemptFailed, ExitCode: 2},
		"a: attempt 3 of 3 timed out":          {Agent: "a", Event: TimedOut, Attempt: 3, Attempts: 3, ExitCode: 124},
		"a: given up":                          {Agent: "a", Event: GivenUp},
		"a: given up after 1 attempt":          {Agent: "a", Event: GivenUp, Attempts: 1},
		"a: given up after 3 attempts":         {Agent: "a", Event: GivenUp, Attempts: 3},
		"a: given up after 1 of 3 attempts":    {Agent: "a", Event: GivenUp, Attempt: 1, Attempts: 3},
		"a has recovered":                      {Agent: "a", Event: Recovered},
		"a: a preflight check stopped the run": {Agent: "a", Event: Preflight},
		"a has not succeeded for too long":     {Agent: "a", Event: Stale},
		"a: other":                             {Agent: "a", Event: "other"},
		"an agent":                             {},
		"its own title":                        {Agent: "a", Event: Success, Title: "its\nown\ttitle\x1b[31m"},
	} {
		if got := m.Headline(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParagraphs(t *testing.T) {
	since := time.Date(2026, 11, 15, 10, 2, 0, 0, time.UTC)
	m := Message{Body: "one two three", Suggest: "do\nthis", Suppressed: 3, Since: since}
	tail := "Suggestion: do this\n3 similar suppressed since " + since.Local().Format("2006-01-02 15:04 MST") + ""
	t.Run("suggestion and count are below the body", func(t *testing.T) {
		same(t, m.paragraphs(1000, characters), "one two three\n\n"+tail)
	})
	t.Run("only the body is cut", func(t *testing.T) {
		same(t, m.paragraphs(len(tail)+len("\n\n")+8, characters), "one two…\n\n"+tail)
	})
	t.Run("without room for a body the rest remains", func(t *testing.T) {
		same(t, m.paragraphs(len(tail), characters), tail)
	})
	t.Run("if nothing was sent before, the count has no time", func(t *testing.T) {
		same(t, Message{Suppressed: 1}.paragraphs(100, characters), "1 similar suppressed")
	})
	t.Run("an empty message is empty", func(t *testing.T) {
		same(t, Message{}.paragraphs(10, characters), "")
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		" a\r\nb\tc \x00\x07":         "a\nb\tc",
		"\x1b[31mred\x1b[0m":          "red",
		"\x1b]0;title\x07text":        "text",
		"bad \xff utf8":               "bad \uFFFD utf8",
		"abc\u202Etxt.exe\u2066":      "abctxt.exe",
		"family 👨‍👩‍👧 stays as it is": "family 👨‍👩‍👧 stays as it is",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		rule, in string
		limit    int
		cost     unit
		want     string
	}{
		{"a text that fits stays", "abc", 3, characters, "abc"},
		{"a longer text ends in …", "abcd", 3, characters, "ab…"},
		{"no space before …", "ab cd", 4, characters, "ab…"},
		{"bytes count the … too", "abcdef", 5, utf8Bytes, "ab…"},
		{"an accent stays with its letter", "ae\u0301x", 3, characters, "a…"},
		{"a family is not torn", "a👨‍👩‍👧b", 4, characters, "a…"},
		{"a pair of UTF-16 is not torn", "👍👍👍", 4, utf16Units, "👍…"},
		{"without room for … the text is empty", "abc", 0, characters, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := cut(c.in, c.limit, c.cost); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzCut(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("hello 👍 wörld", 5)
	f.Add("e\u0301\xff\x1b[3", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s = clean(s)
		if !utf8.ValidString(s) {
			t.Fatalf("not valid: %q", s)
		}
		limit = max(limit%5000, 0)
		for _, cost := range []unit{utf8Bytes, characters, utf16Units} {
			got := cut(s, limit, cost)
			if cost(got) > limit || !utf8.ValidString(got) {
				t.Errorf("cut(%q, %d) = %q", s, limit, got)
			}
		}
	})
}
