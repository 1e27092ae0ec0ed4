package plugtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A transcript is a file in a dialect's testdata/transcripts: a conversation of host and plugin,
// written by us. A clone without the protocol documents tests the protocols with it. It is a txtar
// archive: a comment, the plugin's files, its `config` if it has one, and the `talk`, whose lines
// are
//
//	open, close               what the host does; hostCan lists the words
//	fire POINT PAYLOAD
//	tool NAME ARGUMENTS
//	$ ARGUMENT…               a process of the plugin is started
//	> LINE                    the host writes it, byte for byte; *** matches any text without a quote
//	< LINE                    the plugin writes it
//	! LINE                    the plugin writes it to stderr, or prints it, and the host's log has it
//	exit CODE                 the plugin ends by itself
//	= RESULT                  the host's result
//	# COMMENT
//
// Traffic and results follow the act of the host that causes them.

// The marks of a talk's lines.
const (
	markStart  = "$"
	markSent   = ">"
	markReply  = "<"
	markStderr = "!"
	markExit   = "exit"
	markResult = "="
)

// A line is one line of a talk.
type line struct {
	number int // from 1
	mark   string
	text   string
}

// An act is something that the host does, and its expected results.
type act struct {
	line
	traffic []line
	stderr  []string
	results []string
}

// parseLine parses a line; ok is false if the line says nothing. A line without a mark is something
// that the host does.
func parseLine(number int, text string) (l line, ok bool) {
	text = strings.TrimSpace(text)
	mark, rest, _ := strings.Cut(text, " ")
	switch mark {
	case "", "#":
		return line{}, false
	case markStart, markSent, markReply, markStderr, markExit, markResult:
		return line{number, mark, rest}, true
	}
	return line{number, "", text}, true
}

func parseTalk(talk string) []line {
	var lines []line
	for i, text := range strings.Split(talk, "\n") {
		if l, ok := parseLine(i+1, text); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// parseActs returns the host's part of a talk.
func parseActs(talk string) ([]act, error) {
	var acts []act
	for _, l := range parseTalk(talk) {
		if l.mark == "" {
			acts = append(acts, act{line: l})
			continue
		}
		if len(acts) == 0 {
			return nil, fmt.Errorf("line %d: the host has done nothing yet", l.number)
		}
		acts[len(acts)-1].add(l)
	}
	return acts, nil
}

func (a *act) add(l line) {
	switch l.mark {
	case markResult:
		a.results = append(a.results, l.text)
	case markStderr:
		if !strings.HasPrefix(a.text, "command ") { // their stderr goes to the user and not to the log
			a.stderr = append(a.stderr, l.text)
		}
		fallthrough
	default:
		a.traffic = append(a.traffic, l)
	}
}

// last returns the number of the last line of an act.
func (a *act) last() int {
	if len(a.traffic) == 0 {
		return a.number
	}
	return a.traffic[len(a.traffic)-1].number
}

// A part is one process of the plugin: how it is started, what it gets and what it writes.
type part struct {
	number    int // of the line that starts it
	arguments string
	lines     []line
}

// parseParts returns the plugin's part of a talk.
func parseParts(talk string) ([]part, error) {
	var parts []part
	for _, l := range parseTalk(talk) {
		switch {
		case l.mark == "" || l.mark == markResult:
		case l.mark == markStart:
			parts = append(parts, part{number: l.number, arguments: l.text})
		case len(parts) == 0:
			return nil, fmt.Errorf("line %d: no process has been started yet", l.number)
		default:
			p := &parts[len(parts)-1]
			p.lines = append(p.lines, l)
		}
	}
	return parts, nil
}

// first returns the first line that the process gets; "" if it gets none.
func (p *part) first() string {
	for _, l := range p.lines {
		if l.mark == markSent {
			return l.text
		}
	}
	return ""
}

// exit returns the code with which a process ends.
func (l *line) exit() (int, error) {
	code, err := strconv.Atoi(l.text)
	if err != nil {
		return 0, fmt.Errorf("line %d: exit %q is not a code", l.number, l.text)
	}
	return code, nil
}

// anyText matches values that are not known in advance, such as the id of a request.
const anyText = "***"

// matches reports whether a text matches a transcript.
func matches(want, got string) bool {
	pieces := strings.Split(want, anyText)
	for i := range pieces {
		pieces[i] = regexp.QuoteMeta(pieces[i])
	}
	return regexp.MustCompile(`^` + strings.Join(pieces, `[^"]+`) + `$`).MatchString(got)
}
