package session

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// DefaultPage is the number of sessions on a page if the caller names none.
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

	// From says where one of Patchbay's own came from: [FromChat] or [FromHTTP]; "": an earlier
	// version made it.
	From string `json:"from,omitempty"`

	// Of a session that another agent has, such as Claude Code, and whose events Patchbay is told.
	Host        string `json:"host,omitempty"`         // which agent; "": it is Patchbay's own
	HostSession string `json:"host_session,omitempty"` // the agent's own id of it
}

// Origin is where the session came from: the other agent, or what From says.
func (s *Session) Origin() string { return cmp.Or(s.Host, s.From) }

// Where Patchbay's own sessions come from.
const (
	FromChat = "chat"
	FromHTTP = "http"
)

// A Summary is a session with what its transcript says about it. Its Host is its [Session.Origin],
// whatever that is, and From is "".
type Summary struct {
	Session
	Turns  int       `json:"turns"`
	UsedAt time.Time `json:"used_at"` // when its last turn began or ended; before the first, when the session was made
}

// A Query says which sessions are wanted. The zero value wants all.
type Query struct {
	WorkingDir string // "": any
	Host       string // its [Session.Origin]; "": any
	Own        bool   // only sessions that can be gone on with here, not those of other agents
	Said       bool   // only sessions in which something was said
	Limit      int    // at most so many; 0: DefaultPage
}

// Wants tells whether a session is one of those that are asked for. What was said in it is not
// looked at.
func (q *Query) Wants(s *Session) bool {
	return (q.WorkingDir == "" || SameDir(s.WorkingDir, q.WorkingDir)) && (q.Host == "" || s.Origin() == q.Host) && !(q.Own && IsHost(s.ID))
}

// SameDir compares two paths of directories as they are written.
func SameDir(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

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

// The statuses. A turn that has begun and has no other status is running, or was cut off together
// with the process that ran it.
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

// A BusyError says that a turn of the session is running elsewhere, or that the conversation is
// open there.
type BusyError struct {
	Session string
	Owner   string // who runs it
	Open    bool   // no turn is running: the owner has the conversation open
}

func (e *BusyError) Error() string {
	if e.Open {
		return "session " + e.Session + " is in use: " + e.Owner + " has the conversation open"
	}
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
