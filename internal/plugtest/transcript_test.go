package plugtest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a": 1}`, false},
		{`{"a":1}`, `{"a":1} `, false},
		{`a.c`, `abc`, false},
		{`{"id":"***","n":1}`, `{"id":"7f3a","n":1}`, true},
		{`{"id":"***","n":1}`, `{"id":"","n":1}`, false},
		{`{"id":"***","n":1}`, `{"id":"7","more":"x","n":1}`, false},
	} {
		if ok := matches(c.want, c.got); ok != c.ok {
			t.Errorf("%s as %s: %t", c.got, c.want, ok)
		}
	}
}

// TestTranscriptPlugin: the fake plugin reports every byte and every process that differs from the
// transcript.
func TestTranscriptPlugin(t *testing.T) {
	const talk = "open\n$ info\n$ run\n> one\n> two\nclose\n$ run\n> bye\n"
	for _, c := range []struct{ rule, arguments, stdin, want string }{
		{"exactly the transcript", "run", "one\ntwo\n", ""},
		{"no stdin, as in the transcript", "info", "", ""},
		{"stdin that is not in the transcript", "info", "one\n", `more than is in the transcript: "one\n"`},
		{"another byte", "run", "one\ntwO\n", "line 5: the host wrote\n\"twO\\n\", the transcript has\n\"two\\n\""},
		{"another byte in the first line", "run", "0ne\ntwo\n", "line 4: the host wrote"},
		{"too little", "run", "one\n", "line 5: the host wrote\n\"\""},
		{"no newline at the end", "run", "one\ntwo", "line 5: the host wrote\n\"two\""},
		{"too much", "run", "one\ntwo\nthree\n", `more than is in the transcript: "three\n"`},
		{"an empty line too much", "run", "one\ntwo\n\n", `more than is in the transcript: "\n"`},
		{"another argument", "walk", "one\n", `a process that is not in the transcript was started, with arguments "walk"`},
		{"a line of a later part", "run", "bye\n", "line 4: the host wrote"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, untilFile), []byte("5"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := &transcriptPlugin{dir: dir, arguments: c.arguments, in: bufio.NewReader(strings.NewReader(c.stdin))}
			code, err := p.play(talk)
			if code != 0 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d, %v", code, err)
			}
		})
	}
}

// TestAPartIsPlayedOnce: a second process with the same arguments is not in the transcript.
func TestAPartIsPlayedOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, untilFile), []byte("9"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "a process that is not in the transcript"} {
		p := &transcriptPlugin{dir: dir, in: bufio.NewReader(strings.NewReader("one\n"))}
		if _, err := p.play("open\n$\n> one\n"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestInvalidTalks(t *testing.T) {
	if _, err := parseActs("# hello\n> one\n"); err == nil || err.Error() != "line 2: the host has done nothing yet" {
		t.Errorf("%v", err)
	}
	if _, err := parseParts("open\n> one\n"); err == nil || err.Error() != "line 2: no process has been started yet" {
		t.Errorf("%v", err)
	}
	p := &transcriptPlugin{dir: t.TempDir(), in: bufio.NewReader(strings.NewReader(""))}
	if err := os.WriteFile(filepath.Join(p.dir, untilFile), []byte("9"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.play("open\n$\nexit soon\n"); err == nil || err.Error() != `line 3: exit "soon" is not a code` {
		t.Errorf("%v", err)
	}
}
