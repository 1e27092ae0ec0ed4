package plugtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// playing is a directory in the home of the fake plugin. It has the talk, and which lines of it
// were played.
const playing = "transcript.playing"

// The files in it. Beside them is one for each part that was taken, named after its line.
const (
	talkFile   = "talk"
	untilFile  = "until"  // the number of the last line of the host's current act
	playedFile = "played" // the numbers of the lines that were played, one a line
	faultFile  = "fault"  // what differed from the transcript
)

// faultCode is the exit code of a fake plugin that got something other than the transcript says.
const faultCode = 97

// PlayPart plays the plugin of a transcript if the test binary was started as one, and ends the
// process. Otherwise it returns. It must be called first in TestMain.
func PlayPart() {
	dir := filepath.Join(os.Getenv("HOME"), playing)
	talk, err := os.ReadFile(filepath.Join(dir, talkFile))
	if err != nil {
		return // this is a test
	}
	p := &transcriptPlugin{dir: dir, arguments: strings.Join(os.Args[1:], " "), in: bufio.NewReaderSize(os.Stdin, 1<<20)}
	code, err := p.play(string(talk))
	if err != nil {
		p.write(faultFile, err.Error()+"\n")
		fmt.Fprintln(os.Stderr, "transcript:", err)
		code = faultCode
	}
	syscall.Exit(code) // not os.Exit, which takes a second under the race detector
}

// A transcriptPlugin is one process of a transcript's plugin, which the test binary plays.
type transcriptPlugin struct {
	dir       string
	arguments string // with which it was started
	in        *bufio.Reader
	heard     *string // a line that was read to find out which part this is
}

func (p *transcriptPlugin) play(talk string) (code int, err error) {
	parts, err := parseParts(talk)
	if err != nil {
		return 0, err
	}
	mine, err := p.take(p.due(parts))
	if err != nil {
		return 0, err
	}
	p.played(mine.number)
	for _, l := range mine.lines {
		if l.mark == markExit {
			p.played(l.number)
			return l.exit()
		}
		if err := p.playLine(l); err != nil {
			return 0, err
		}
	}
	return 0, p.awaitEnd()
}

// due returns the parts that may have begun by now.
func (p *transcriptPlugin) due(parts []part) []part {
	data, err := os.ReadFile(filepath.Join(p.dir, untilFile))
	if err != nil {
		panic(err) // the transcriptHost writes it first
	}
	until, err := strconv.Atoi(string(data))
	if err != nil {
		panic(err)
	}
	return slices.DeleteFunc(parts, func(part part) bool { return part.number > until })
}

// take finds the part that this process plays: the next one with its arguments. If several are
// possible, because processes were started at the same time, it is the part that begins with the
// line that the process gets. It takes the part, so that no other process plays it.
func (p *transcriptPlugin) take(parts []part) (*part, error) {
	heard, err := p.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	p.heard = &heard
	for _, exact := range []bool{true, false} { // if no part begins with the line, the next part reports it
		for i := range parts {
			fits := parts[i].arguments == p.arguments && (!exact || matches(parts[i].first(), strings.TrimSuffix(heard, "\n")))
			if fits && p.claim(&parts[i]) {
				return &parts[i], nil
			}
		}
	}
	return nil, fmt.Errorf("a process that is not in the transcript was started, with arguments %q, and sent %q", p.arguments, heard)
}

func (p *transcriptPlugin) claim(part *part) bool {
	f, err := os.OpenFile(filepath.Join(p.dir, fmt.Sprint(part.number)), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false // another process has taken it
	}
	return f.Close() == nil
}

func (p *transcriptPlugin) playLine(l line) error {
	if l.mark == markSent {
		if err := p.expect(l); err != nil {
			return err
		}
	}
	p.played(l.number) // before it writes anything: the host may end it then
	var err error
	switch l.mark {
	case markReply:
		_, err = fmt.Println(l.text)
	case markStderr:
		_, err = fmt.Fprintln(os.Stderr, l.text)
	}
	return err
}

// expect reads one line, with its newline, and compares it with the transcript.
func (p *transcriptPlugin) expect(l line) error {
	got, err := p.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if body, whole := strings.CutSuffix(got, "\n"); !whole || !matches(l.text, body) {
		return fmt.Errorf("line %d: the host wrote\n%q, the transcript has\n%q", l.number, got, l.text+"\n")
	}
	return nil
}

// awaitEnd waits for the end of stdin. It returns an error if the host sends anything before that.
func (p *transcriptPlugin) awaitEnd() error {
	for {
		got, err := p.read()
		if got != "" {
			return fmt.Errorf("the host wrote more than is in the transcript: %q", got)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *transcriptPlugin) read() (string, error) {
	if p.heard != nil {
		heard := *p.heard
		p.heard = nil
		return heard, nil
	}
	return p.in.ReadString('\n')
}

func (p *transcriptPlugin) played(number int) { p.write(playedFile, fmt.Sprintln(number)) }

// write appends a text to a file in one piece, because other processes write there too.
func (p *transcriptPlugin) write(name, text string) {
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) // the fake plugin's own home
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		panic(err)
	}
}
