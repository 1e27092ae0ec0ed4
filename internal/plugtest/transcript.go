package plugtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A transcript is a file in a dialect's testdata/transcripts: a conversation of host and plugin,
// written down by us. A clone that lacks the protocol documents tests the protocols with it. It is
// a txtar archive: what it is about, the plugin's files, its `config` if it has one, and the
// `talk`, whose lines are
//
//	open, close               what the host does; hostCan has all of it
//	fire POINT PAYLOAD
//	tool NAME ARGUMENTS
//	$ ARGUMENT…               a process of the plugin is started
//	> LINE                    the host writes it, byte for byte; *** is any text without a quote in it
//	< LINE                    the plugin writes it
//	! LINE                    the plugin writes it to stderr, or prints it, and the host's log has it
//	exit CODE                 the plugin ends by itself
//	= RESULT                  what the host makes of it
//	# COMMENT
//
// Traffic and results stand below what the host does to cause them.

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

// An act is something the host does, and what is to come of it.
type act struct {
	line
	traffic []line
	stderr  []string
	results []string
}

// parseLine tells what a line is; ok is false where it says nothing. What has no mark is something
// the host does.
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

// parseActs is the host's part of a talk.
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
		if !strings.HasPrefix(a.text, "command ") { // whose stderr is the user's, and not the log's
			a.stderr = append(a.stderr, l.text)
		}
		fallthrough
	default:
		a.traffic = append(a.traffic, l)
	}
}

// last is the number of the last line of an act.
func (a *act) last() int {
	if len(a.traffic) == 0 {
		return a.number
	}
	return a.traffic[len(a.traffic)-1].number
}

// A part is one process of the plugin: how it is started, what it hears and what it says.
type part struct {
	number    int // of the line that starts it
	arguments string
	lines     []line
}

// parseParts is the plugin's part of a talk.
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

// first is the first line that the process is to hear; "" where it hears nothing.
func (p *part) first() string {
	for _, l := range p.lines {
		if l.mark == markSent {
			return l.text
		}
	}
	return ""
}

// exit is the code with which a process ends.
func (l *line) exit() (int, error) {
	code, err := strconv.Atoi(l.text)
	if err != nil {
		return 0, fmt.Errorf("line %d: exit %q is no code", l.number, l.text)
	}
	return code, nil
}

// anyText stands for what cannot be foretold, such as the id of a request.
const anyText = "***"

// matches tells whether a text is as a transcript has it.
func matches(want, got string) bool {
	pieces := strings.Split(want, anyText)
	for i := range pieces {
		pieces[i] = regexp.QuoteMeta(pieces[i])
	}
	return regexp.MustCompile(`^` + strings.Join(pieces, `[^"]+`) + `$`).MatchString(got)
}
