package conformance

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestSecondCopyOfAnAnswer: an answer that comes twice is reported, and is never taken for the
// answer to the next request, whether both copies arrive together or, being long, one after the
// other.
func TestSecondCopyOfAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		apart bool
	}{"together": {text: "short"}, "apart": {text: strings.Repeat("long", longAnswer), apart: true}} {
		t.Run(name, func(t *testing.T) {
			d := &dialogue{b: &bench{}, ended: make(chan struct{}), waiting: make(map[string]chan *answer)}
			from, to := io.Pipe()
			go d.read(from)
			say := func(format string, args ...any) {
				if _, err := fmt.Fprintf(to, format, args...); err != nil {
					t.Error(err)
				}
			}
			line := func(id int, text string) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%q}`+"\n", id, text)
			}
			first, wait := d.expect()
			if copies := line(first, c.text); c.apart {
				say("%s", copies)
			} else {
				say("%s%s", copies, copies)
			}
			<-wait
			second, wait := d.expect()
			if c.apart {
				say("%s", line(first, c.text))
			}
			say("%s", line(second, "two"))
			if a := <-wait; string(a.result) != `"two"` {
				t.Errorf("the second request is answered with %.80s", a.result)
			}
			if err := to.Close(); err != nil {
				t.Error(err)
			}
			<-d.ended
			if d.b.seen.of(sawID) == "" {
				t.Error("the second copy was not reported")
			}
		})
	}
}

// TestAnswerToAnInvalidLine: an error that answers an invalid line, with an id of its own, is
// reported. It is not taken for the answer to the request after that line.
func TestAnswerToAnInvalidLine(t *testing.T) {
	d := &dialogue{b: &bench{}, ended: make(chan struct{}), waiting: make(map[string]chan *answer)}
	d.garbled.Store(true)
	from, to := io.Pipe()
	go d.read(from)
	id, wait := d.expect()
	const lines = `{"jsonrpc":"2.0","id":0,"error":{"code":-32700,"message":"Parse error"}}` + "\n" +
		`{"jsonrpc":"2.0","id":%d,"result":"pong"}` + "\n"
	if _, err := fmt.Fprintf(to, lines, id); err != nil {
		t.Error(err)
	}
	if a := <-wait; string(a.result) != `"pong"` {
		t.Errorf("the request is answered with %+v", a)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	<-d.ended
	if got := d.b.seen.of(sawID); !strings.Contains(got, "id 0 in place of null") || strings.Contains(got, "pong") {
		t.Errorf("reported: %s", got)
	}
}

// TestUnfinishedLine: the message about a missing answer shows a line whose end has not come yet,
// because the plugin has probably forgotten it.
func TestUnfinishedLine(t *testing.T) {
	d := &dialogue{b: &bench{}, ended: make(chan struct{}), waiting: make(map[string]chan *answer)}
	from, to := io.Pipe()
	go d.read(from)
	for _, part := range []string{"a whole line\n{\"id\":", "1,", ""} { // a write ends when the reader has taken it in and reads again
		if _, err := io.WriteString(to, part); err != nil {
			t.Fatal(err)
		}
	}
	if said := d.unfinished(); !strings.HasPrefix(said, `; it wrote "{\"id\":`) || !strings.HasSuffix(said, " without a line end") {
		t.Errorf("said %q", said)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	<-d.ended
}
