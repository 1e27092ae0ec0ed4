package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// The events of a scheduled agent: docs/jobs.md, "Attempts and events".
const (
	Success       = "success"
	AttemptFailed = "attempt_failed"
	TimedOut      = "timed_out"
	GivenUp       = "given_up"
	Recovered     = "recovered"
	Preflight     = "preflight"
	Stale         = "stale"
)

// A Message describes what happened, before a service's limits and markup are applied. Its texts
// may come from agents and plugins.
type Message struct {
	Agent    string
	Schedule string
	Event    string
	Title    string // "": Headline makes one
	Body     string
	Suggest  string // what a person can do about it; shown, never executed
	Attempt  int    // from 1; 0: the event is not about an attempt
	Attempts int    // the maximum number of attempts; 0: not known
	Sink     bool   // with AttemptFailed: the run succeeded, but a sink failed
	ExitCode int    // of the attempt; shown with AttemptFailed if it is not 0
	Time     time.Time

	// Suppressed is how many messages like this one were held back since Since. [Dispatch] sets
	// both.
	Suppressed int
	Since      time.Time
}

// Headline returns the message in one line: its title, or a description of the event.
func (m Message) Headline() string {
	if m.Title != "" {
		return oneLine(m.Title)
	}
	return oneLine(m.name() + m.happened())
}

// name returns the agent and its schedule, if there is one. An agent can have several schedules.
func (m Message) name() string {
	switch {
	case m.Agent == "":
		return "an agent"
	case m.Schedule == "":
		return m.Agent
	}
	return m.Agent + " (" + m.Schedule + ")"
}

func (m Message) happened() string {
	switch m.Event {
	case Success:
		return " succeeded"
	case AttemptFailed:
		if m.Sink {
			return " succeeded, but a sink failed"
		}
		return ": " + m.attempt() + " failed" + m.exit()
	case TimedOut:
		return ": " + m.attempt() + " timed out"
	case GivenUp:
		return m.givenUp()
	case Recovered:
		return " has recovered"
	case Preflight:
		return ": a preflight check stopped the run"
	case Stale:
		return " has not succeeded for too long"
	case "":
		return ""
	}
	return ": " + m.Event
}

func (m Message) attempt() string {
	switch {
	case m.Attempt > 0 && m.Attempts > 0:
		return fmt.Sprintf("attempt %d of %d", m.Attempt, m.Attempts)
	case m.Attempt > 0:
		return fmt.Sprintf("attempt %d", m.Attempt)
	}
	return "the run"
}

func (m Message) exit() string {
	if m.ExitCode == 0 {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", m.ExitCode)
}

func (m Message) givenUp() string {
	made := cmp.Or(m.Attempt, m.Attempts)
	switch {
	case made == 0:
		return ": given up"
	case made < m.Attempts: // no process is left that could make the others
		return fmt.Sprintf(": given up after %d of %d attempts", made, m.Attempts)
	case made == 1:
		return ": given up after 1 attempt"
	}
	return fmt.Sprintf(": given up after %d attempts", made)
}

// maxSuggest bounds a suggestion, so that it leaves space for the message itself. A command with
// its reason fits.
const maxSuggest = 300

// paragraphs returns the body and the lines below it, within a limit. Only the body is shortened:
// the suggestion and the number of suppressed messages must not be lost.
func (m Message) paragraphs(limit int, cost unit) string {
	tail := m.tail()
	room := limit - cost(tail)
	if tail != "" {
		room -= cost("\n\n")
	}
	body := cut(clean(m.Body), room, cost)
	switch {
	case body == "":
		return cut(tail, limit, cost)
	case tail == "":
		return body
	}
	return body + "\n\n" + tail
}

func (m Message) tail() string {
	var lines []string
	if s := oneLine(m.Suggest); s != "" {
		lines = append(lines, "Suggestion: "+cut(s, maxSuggest, characters))
	}
	if m.Suppressed > 0 {
		lines = append(lines, m.heldBack())
	}
	return strings.Join(lines, "\n")
}

func (m Message) heldBack() string {
	text := fmt.Sprintf("%d similar suppressed", m.Suppressed)
	if m.Since.IsZero() {
		return text
	}
	return text + " since " + m.Since.Local().Format("2006-01-02 15:04 MST")
}

// underTitle returns the title and the message for a service. If the manifest sets a title, the
// headline moves into the body.
func (m Message) underTitle(title string) (string, Message) {
	if title == "" {
		return m.Headline(), m
	}
	if body := clean(m.Body); body != "" {
		m.Body = m.Headline() + "\n" + body
	} else {
		m.Body = m.Headline()
	}
	return oneLine(title), m
}
