package session

import (
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// DefaultPage is how many sessions a page has where nobody says.
const DefaultPage = 50

// ErrCursor is returned for a cursor that no page has given.
var ErrCursor = errors.New("no page has given this cursor: leave it out to begin with the newest session")

// ErrNotFound is returned for a session that is not there.
var ErrNotFound = errors.New("session not found")

// A Session is a conversation with the agent.
type Session struct {
	ID         string    `json:"id"` // ses_ and letters and digits that sort by time; for another agent's, see [HostID]
	Plugins    []string  `json:"plugins"`
	WorkingDir string    `json:"working_dir"`
	CreatedAt  time.Time `json:"created_at"`
	Title      string    `json:"title"`

	// Of a session that another agent has, such as Claude Code, and whose events Patchbay is told.
	Host        string `json:"host,omitempty"`         // which agent; "": it is Patchbay's own
	HostSession string `json:"host_session,omitempty"` // the agent's own id of it
}

// An Entry is one line of a session's transcript. Exactly one of its parts is set.
type Entry struct {
	Sequence   uint64         `json:"seq"`
	Time       time.Time      `json:"time"`
	Turn       string         `json:"turn"`
	Message    *model.Message `json:"message,omitempty"`
	Compaction *Compaction    `json:"compaction,omitempty"`
	Status     Status         `json:"status,omitempty"`
}

// A Status is how far a turn has come.
type Status string

// The statuses. A turn that has begun and has no other status is running, or
// was cut off together with the process that ran it.
const (
	Began       Status = "began"
	Done        Status = "done"
	Failed      Status = "failed"
	Skipped     Status = "skipped"     // a plugin dropped or refused the message
	Interrupted Status = "interrupted" // by the user, or by the end of the process
)

// A Compaction replaces everything before it by fewer messages.
type Compaction struct {
	Strategy string          `json:"strategy"` // drop | summarize | delegate | checkpoint
	Trigger  string          `json:"trigger"`  // auto | manual
	By       string          `json:"by,omitempty"`
	Messages []model.Message `json:"messages"` // what stands now
	Before   int             `json:"before"`   // how many there were
}

// A BusyError says that a turn of the session is running elsewhere.
type BusyError struct {
	Session string
	Owner   string // who runs it
}

func (e *BusyError) Error() string {
	return "session " + e.Session + ": a turn is running (" + e.Owner + "): wait for it to end"
}

// A PageRequest asks for some of the sessions.
type PageRequest struct {
	Limit  int    // at most so many; 0: DefaultPage
	Cursor string // of the page before; "": begin with the newest
}

// A Page is some of the sessions, the newest first.
type Page struct {
	Sessions []Session
	Next     string // the cursor of the next page; "": there is none
}
