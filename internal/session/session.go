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

// ErrCursor is returned for a cursor that no page has returned.
var ErrCursor = errors.New("not a cursor of this list: leave it out to begin with the newest session")

// ErrNotFound is returned if a session does not exist.
var ErrNotFound = errors.New("session not found")

// A Session is a conversation with the agent.
type Session struct {
	ID         string    `json:"id" doc:"Its id." example:"ses_01jz"` // ses_, and letters and digits that sort by time; for another agent's session see [HostID]
	Plugins    []string  `json:"plugins" doc:"The Python plugins that are active in it, in this order." example:"[\"sign\"]"`
	WorkingDir string    `json:"working_dir" doc:"The directory of its tools." example:"/home/mira/notes"`
	CreatedAt  time.Time `json:"created_at" doc:"When it was created." example:"2026-11-16T06:00:19Z"`
	Title      string    `json:"title" doc:"The title; may be empty." example:"words in notes.md"`

	// From says where one of Patchbay's own sessions comes from: [FromChat] or [FromHTTP]. It is ""
	// if an earlier version made the session.
	From string `json:"from,omitempty" doc:"chat, if it was begun in the chat; else absent." example:"chat"`

	// The next two are set for a session of another agent, such as Claude Code, that sends its
	// events to Patchbay.
	Host        string `json:"host,omitempty" doc:"The other agent that it belongs to; absent if it is Patchbay's own." example:"claude"`
	HostSession string `json:"host_session,omitempty" doc:"Its id in another agent." example:"0b9d7f"`
}

// Origin returns where the session comes from: the other agent, or From.
func (s *Session) Origin() string { return cmp.Or(s.Host, s.From) }

// The origins of Patchbay's own sessions.
const (
	FromChat = "chat"
	FromHTTP = "http"
)

// A Summary is a session with facts from its transcript. Its Host is the [Session.Origin], and From
// is "".
type Summary struct {
	Session
	Turns  int       `json:"turns"`
	UsedAt time.Time `json:"used_at"` // when its last turn began or ended; without a turn, when the session was created
}

// A Query selects sessions. The zero value selects all.
type Query struct {
	WorkingDir string // "": any
	Host       string // the [Session.Origin]; "": any
	Own        bool   // only sessions that can be continued here, not those of other agents
	Said       bool   // only sessions with messages
	Limit      int    // at most this many; 0: DefaultPage
}

// Wants reports whether a session matches. It does not check Said, for which the transcript is
// needed.
func (q *Query) Wants(s *Session) bool {
	return (q.WorkingDir == "" || SameDir(s.WorkingDir, q.WorkingDir)) && (q.Host == "" || s.Origin() == q.Host) && !(q.Own && IsHost(s.ID))
}

// SameDir reports whether two paths of directories are equal. It does not follow links.
func SameDir(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

// An Entry is one line of a session's transcript. Exactly one of Message, Compaction and Status is
// set.
type Entry struct {
	Sequence   uint64         `json:"seq" doc:"Its place in the transcript." example:"7"`
	Time       time.Time      `json:"time" doc:"When it was written." example:"2026-11-16T06:00:19Z"`
	Turn       string         `json:"turn" doc:"The turn that it belongs to." example:"turn_01jz"`
	Message    *model.Message `json:"message,omitempty" doc:"The message."`
	Compaction *Compaction    `json:"compaction,omitempty" doc:"How the conversation was made shorter."`
	Status     Status         `json:"status,omitempty" enum:"began,done,failed,skipped,interrupted" doc:"The state of the turn." example:"done"`
}

// A Status says how far a turn has come.
type Status string

// The statuses. A turn that has begun and has no other status is running, or was cut off when its
// process died.
const (
	Began       Status = "began"
	Done        Status = "done"
	Failed      Status = "failed"
	Skipped     Status = "skipped"     // a plugin dropped or refused the message
	Interrupted Status = "interrupted" // by the user, or by the end of the process
)

// A Compaction replaces everything before it by fewer messages.
type Compaction struct {
	Strategy string          `json:"strategy" doc:"The method: drop, summarize, delegate or checkpoint." example:"summarize"`
	Trigger  string          `json:"trigger" doc:"auto or manual." example:"auto"`
	By       string          `json:"by,omitempty" doc:"What made it shorter: a plugin, or the agent." example:"agent"`
	Messages []model.Message `json:"messages" nullable:"true" doc:"The messages that the conversation continues with."`
	Before   int             `json:"before" doc:"How many messages were replaced." example:"42"`
}

// A BusyError reports that a turn of the session is running in another process, or that the
// conversation is open there.
type BusyError struct {
	Session string
	Owner   string // the process that runs it
	Open    bool   // no turn is running, but the owner has the conversation open
}

func (e *BusyError) Error() string {
	if e.Open {
		return "session " + e.Session + " is in use: " + e.Owner + " has the conversation open"
	}
	return "session " + e.Session + ": a turn is running (" + e.Owner + "): wait for it to end"
}

// A PageRequest asks for a page of sessions.
type PageRequest struct {
	Limit  int    // at most this many; 0: DefaultPage
	Cursor string // the Next of the page before; "": begin with the newest session
}

// A Page is a part of the list of sessions, the newest first.
type Page struct {
	Sessions []Session
	Next     string // the cursor of the next page; "": this is the last
}
