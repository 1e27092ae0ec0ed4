package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestReader(t *testing.T) {
	const limit = 10
	tests := []struct{ rule, in, want string }{
		{"lines come without their newline", "a\nbc\n", "a|bc|EOF"},
		{"CRLF is a line end", "a\r\nb\r\n", "a|b|EOF"},
		{"one CR belongs to the line end, a CR before it to the line", "a\r\r\n", "a\r|EOF"},
		{"empty lines are lines", "\n\r\na\n\n", "||a||EOF"},
		{"the last line may lack its newline", "a\nbc", "a|bc+EOF"},
		{"empty input ends at once", "", "EOF"},
		{"exactly the cap passes", "0123456789\n0123456789\r\n", "0123456789|0123456789|EOF"},
		{"a line of one byte over the cap is refused", "0123456789a\nb\n", "too large|b|EOF"},
		{"a line far over the cap is refused", strings.Repeat("x", 100_000) + "\nb\n", "too large|b|EOF"},
		{"two lines over the cap in a row are refused one by one", "0123456789a\n0123456789b\nc\n", "too large|too large|c|EOF"},
		{"a line over the cap may be the last", "a\n0123456789ab", "a|too large|EOF"},
		{"CR within a line over the cap is nothing special", "0123456789\rx\nb\n", "too large|b|EOF"},
	}
	for _, tt := range tests {
		for name, slow := range sources {
			t.Run(tt.rule+", "+name, func(t *testing.T) {
				r := NewReader(slow(strings.NewReader(tt.in)), limit)
				if got := strings.Join(allLines(t, r), "|"); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// sources deliver the same bytes in different pieces.
var sources = map[string]func(io.Reader) io.Reader{
	"at once":           func(r io.Reader) io.Reader { return r },
	"byte by byte":      iotest.OneByteReader,
	"by halves":         iotest.HalfReader,
	"the end with data": iotest.DataErrReader,
}

// allLines reads to the end: lines, "too large", and "EOF" or "line+EOF".
func allLines(t testing.TB, r *Reader) []string {
	var all []string
	for len(all) < 1_000_000 {
		line, err := r.ReadLine()
		switch {
		case errors.Is(err, ErrTooLarge):
			all = append(all, "too large")
		case err == io.EOF && len(line) > 0:
			return append(all, string(line)+"+EOF")
		case err == io.EOF:
			return append(all, "EOF")
		case err != nil:
			t.Fatal(err)
		default:
			all = append(all, string(line))
		}
	}
	t.Fatal("no end")
	return nil
}

func TestReaderGivesItsLinesToTheCaller(t *testing.T) {
	large := strings.Repeat("L", 2*keepBuffer)
	r := NewReader(strings.NewReader("small\n"+large+"\nnext\n"), 1<<20)
	var lines [][]byte
	for range 3 {
		line, err := r.ReadLine()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		_ = append(line, "overwritten"...)
	}
	if string(lines[0]) != "small" || string(lines[1]) != large || string(lines[2]) != "next" {
		t.Errorf("lines changed: %q, %d bytes, %q", lines[0], len(lines[1]), lines[2])
	}
}

func TestReaderKeepsNoLargeBuffer(t *testing.T) {
	r := NewReader(strings.NewReader(strings.Repeat("x", 1<<20)+"\na\nb\n"), 1<<20)
	for range 3 {
		if _, err := r.ReadLine(); err != nil {
			t.Fatal(err)
		}
	}
	if cap(r.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(r.buf))
	}
}

func TestReaderNeverHoldsMoreThanTheCapAndOneRead(t *testing.T) {
	const limit = 1 << 20
	r := NewReader(io.LimitReader(endless{}, 50<<20), limit)
	for {
		_, err := r.ReadLine()
		if held := cap(r.buf); held > limit+usualBuffer {
			t.Fatalf("%d bytes are held", held)
		}
		if err == io.EOF {
			break
		}
		if !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}
	if cap(r.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept after the line over the cap", cap(r.buf))
	}
}

func TestReaderKeepsItsBufferForSmallLines(t *testing.T) {
	r := NewReader(strings.NewReader("a\nb\n"), 10)
	if _, err := r.ReadLine(); err != nil {
		t.Fatal(err)
	}
	buf := &r.buf[0]
	if _, err := r.ReadLine(); err != nil {
		t.Fatal(err)
	}
	if &r.buf[0] != buf {
		t.Error("the buffer was given away with a small line")
	}
}

func TestReaderRemembersBothEndsOfALineOverTheCap(t *testing.T) {
	long := strings.Repeat("head", 200) + strings.Repeat("tail", 50) + "!"
	for name, source := range sources {
		r := NewReader(source(strings.NewReader(long+"\nnext\n")), 100)
		if _, err := r.ReadLine(); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("%s: err = %v", name, err)
		}
		if line, err := r.ReadLine(); err != nil || string(line) != "next" {
			t.Fatalf("%s: the next line is %q, %v", name, line, err)
		}
		if !strings.HasPrefix(long, string(r.head)) || len(r.head) < 100 || len(r.head) > headSize {
			t.Errorf("%s: head %q", name, r.head)
		}
		if string(r.tail) != long[len(long)-tailSize:] {
			t.Errorf("%s: tail %q", name, r.tail)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReaderGoesOnAfterATimeout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeBoth(r, w)
	lines := NewReader(r, 100)
	_, _ = w.WriteString("half")
	_ = lines.fill(r)
	_ = r.SetReadDeadline(longAgo)
	if _, err := lines.ReadLine(); !isTimeout(err) {
		t.Fatalf("err = %v", err)
	}
	_ = r.SetReadDeadline(noDeadline)
	_, _ = w.WriteString(" and half\n")
	if line, err := lines.ReadLine(); err != nil || string(line) != "half and half" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestReaderFailsOnASourceThatReturnsNothing(t *testing.T) {
	if _, err := NewReader(mute{}, 10).ReadLine(); err != io.ErrNoProgress {
		t.Errorf("err = %v", err)
	}
}

type mute struct{}

func (mute) Read([]byte) (int, error) { return 0, nil }

// FuzzReader compares with a plain way to split lines.
func FuzzReader(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte("0123456789\n01234567890\nx"), 10)
	f.Add(bytes.Repeat([]byte("long line\n"), 100), 9)
	f.Add(bytes.Repeat([]byte("x"), 20_000), 17_000)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		if limit < 1 || limit > 1<<20 || len(data) > 1<<15 {
			return
		}
		want := strings.Join(split(data, limit), "|")
		for name, source := range sources {
			if got := strings.Join(allLines(t, NewReader(source(bytes.NewReader(data)), limit)), "|"); got != want {
				t.Fatalf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

func split(data []byte, limit int) []string {
	var all []string
	lines := strings.Split(string(data), "\n")
	for _, line := range lines[:len(lines)-1] {
		if line = strings.TrimSuffix(line, "\r"); len(line) > limit {
			line = "too large"
		}
		all = append(all, line)
	}
	switch last := strings.TrimSuffix(lines[len(lines)-1], "\r"); {
	case len(last) > limit:
		return append(all, "too large", "EOF")
	case last != "":
		return append(all, last+"+EOF")
	}
	return append(all, "EOF")
}

// TestReaderTakesLargeLinesWithoutGarbage: a reader whose lines are not kept allocates nothing for
// large ones.
func TestReaderTakesLargeLinesWithoutGarbage(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector drops buffers from the pool")
	}
	const lines, size = 20, 256 << 10
	line := strings.Repeat("x", size) + "\n"
	var each []io.Reader // one line at a time, as a plugin gets them
	for range lines + 1 {
		each = append(each, strings.NewReader(line))
	}
	r := NewReader(io.MultiReader(each...), 1<<20)
	next := func() {
		for {
			switch got, ok, err := r.line(); {
			case err != nil:
				t.Fatal(err)
			case ok && len(got) == size:
				return
			case ok:
				t.Fatalf("a line of %d bytes", len(got))
			}
			if err := r.fill(r.src); err != nil {
				t.Fatal(err)
			}
		}
	}
	next()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range lines {
		next()
	}
	runtime.ReadMemStats(&after)
	if garbage := (after.TotalAlloc - before.TotalAlloc) / lines; garbage > size/2 {
		t.Errorf("%d bytes are allocated for a line of %d", garbage, size)
	}
}
