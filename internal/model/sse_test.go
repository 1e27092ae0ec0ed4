package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// An eventCopy is a copy of an event.
type eventCopy struct{ name, data string }

// readEvents reads a stream to its end.
func readEvents(r io.Reader) ([]eventCopy, error) {
	events := newEventReader(r)
	var all []eventCopy
	for {
		e, err := events.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, eventCopy{e.name, string(e.data)})
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		rule, stream string
		want         []eventCopy
	}{
		{"an empty line ends an event", "event: a\ndata: 1\n\ndata: 2\n\n", []eventCopy{{"a", "1"}, {"", "2"}}},
		{"lines end in CR LF", "event: a\r\ndata: 1\r\n\r\n", []eventCopy{{"a", "1"}}},
		{"lines end in CR", "event: a\rdata: 1\r\rdata: 2\r\r", []eventCopy{{"a", "1"}, {"", "2"}}},
		{"line ends may be mixed", "event: a\r\ndata: 1\r\n\ndata: 2\n\r", []eventCopy{{"a", "1"}, {"", "2"}}},
		{"one space after the colon is not part of the value", "data:1\n\ndata:  2\n\nevent:  a\ndata: 3\n\n", []eventCopy{{"", "1"}, {"", "2"}, {" a", "3"}}},
		{"several lines of data are one", "data: 1\ndata: 2\n\n", []eventCopy{{"", "1\n2"}}},
		{"a field without a colon has no value", "event: a\nevent\ndata\ndata: 1\n\n", []eventCopy{{"", "1"}}},
		{"comments and other fields are ignored", ": hello\nid: 5\nretry: 7\nodd\ndata: 1\n\n", []eventCopy{{"", "1"}}},
		{"an event without data is skipped", "event: a\n\ndata: 1\n\nevent: b\ndata:\n\n", []eventCopy{{"", "1"}}},
		{"an incomplete event is skipped", "data: 1\n\ndata: 2\n", []eventCopy{{"", "1"}}},
		{"a byte order mark at the beginning is skipped", "\uFEFFdata: 1\n\n\uFEFFdata: 2\n\n", []eventCopy{{"", "1"}}},
		{"an empty stream has no events", "", nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream)),
				"with the end": iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				got, err := readEvents(r)
				if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
					t.Errorf("%s: got %q, %v, want %q", how, got, err, c.want)
				}
			}
		})
	}
}

func TestAnEventIsHeardBeforeTheNextByte(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		in, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, "data: 1"+end) }() // and nothing after it: the pipe stays open
		if e, err := newEventReader(in).next(); err != nil || string(e.data) != "1" {
			t.Errorf("%q: got %q, %v", end, e.data, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAStreamThatBreaksIsAnError(t *testing.T) {
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
}

// endless repeats a text, and counts how much of it was read.
type endless struct {
	text  string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text[(e.taken+n)%len(e.text):])
	}
	e.taken += n
	return n, nil
}

func TestEventsAreBounded(t *testing.T) {
	for rule, text := range map[string]string{
		"one line":             "data: xxxxxxx",
		"a comment":            ":xxxxxxxxxxxx",
		"many lines":           "data: " + strings.Repeat("x", 500) + "\n",
		"many lines of CR":     "data: " + strings.Repeat("x", 500) + "\r",
		"many lines of spaces": "data: " + strings.Repeat(" ", 500) + "\n",
	} {
		t.Run(rule, func(t *testing.T) {
			e := &endless{text: strings.Repeat(text, 1000)}
			if got, err := readEvents(e); !errors.Is(err, errBigEvent) || len(got) != 0 {
				t.Errorf("got %d events, %v", len(got), err)
			}
			if e.taken > maxEvent+maxEvent/8 {
				t.Errorf("read %d bytes", e.taken)
			}
		})
	}
}

// FuzzEvents reads any bytes as events. The events do not depend on how the bytes arrive, and are
// the same when they are written and read again.
func FuzzEvents(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		"event: a\ndata: 1\n\n", "\uFEFFdata:1\r\rdata: 2\r\n\r\n", ": c\nid: 1\nretry: 2\ndata\ndata: x\ndata: y\n\n", "event:  \ndata: \xff\x00\n\n", "data: cut", "\r\n\n\r", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		want, err := readEvents(bytes.NewReader(stream))
		if err != nil {
			t.Fatalf("%q: %v", stream, err)
		}
		slow, err := readEvents(iotest.OneByteReader(bytes.NewReader(stream)))
		if err != nil || fmt.Sprintf("%q", slow) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: byte by byte %q, %v, at once %q", stream, slow, err, want)
		}
		var written strings.Builder
		for _, e := range want {
			if strings.Contains(e.name+e.data, "\r") || strings.TrimSpace(e.data) == "" || strings.Contains(e.name, "\n") {
				t.Errorf("%q: event %q", stream, e)
			}
			fmt.Fprintf(&written, "event: %s\ndata: %s\n\n", e.name, strings.ReplaceAll(e.data, "\n", "\ndata: "))
		}
		again, err := readEvents(strings.NewReader(written.String()))
		if err != nil || fmt.Sprintf("%q", again) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: written %q, read %q, %v", stream, written.String(), again, err)
		}
	})
}
