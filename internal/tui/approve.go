package tui

import (
	"context"
	"errors"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// An Approver asks the user at the terminal whether a tool may run. It is made before the program,
// because the agent needs it: a question that comes early waits for [Run]. It belongs to one Run,
// and to one session at a time.
type Approver struct {
	questions chan *question // to the program
	gone      chan struct{}  // closed when the program has ended
	closing   sync.Once

	mu     sync.Mutex        // protects the fields below
	memory *approval.Project // the commands that need no question in this project; nil: they are not remembered
	always map[string]bool   // the tools that need no question in this session
}

// NewApprover returns an approver without a program.
func NewApprover() *Approver {
	return &Approver{questions: make(chan *question), gone: make(chan struct{}), always: map[string]bool{}}
}

// Begin starts a session of a project. The approver uses the rules stored for the project and adds
// to them. It forgets what was allowed in the session before.
func (a *Approver) Begin(p approval.Project) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memory = &p
	clear(a.always)
}

// project returns the session's project, which stores its rules; nil if commands are not
// remembered.
func (a *Approver) project() *approval.Project {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.memory
}

// errClosed is returned if the program has ended.
var errClosed = errors.New("the terminal is closed: the question cannot be asked")

// A question is a tool call that waits for an answer.
type question struct {
	ctx    context.Context // of the call; when it ends, the call no longer waits
	tool   chat.Tool
	call   model.ToolCall
	answer chan chat.Approval // has room for the one answer

	offer   *approval.Rule // the rule that could be remembered; nil: none
	note    string         // a remark for the user, beside the question
	instead *inputBox      // where the user types what to do instead; nil: not open

	armed bool     // the user has seen it, so keys answer it (see screen.questionKey)
	body  []string // as drawn for a screen of this width
	width int
}

// Approve implements [chat.Approver].
func (a *Approver) Approve(ctx context.Context, t chat.Tool, c model.ToolCall) (chat.Approval, error) {
	if a.allowed(t.Name) {
		return chat.Approval{Allowed: true}, nil
	}
	q := &question{ctx: ctx, tool: t, call: c, answer: make(chan chat.Approval, 1)}
	if a.remembered(q) {
		return chat.Approval{Allowed: true}, nil
	}
	select {
	case a.questions <- q:
	case <-a.gone:
		return chat.Approval{}, errClosed
	case <-ctx.Done():
		return chat.Approval{}, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-a.gone:
		return chat.Approval{}, errClosed
	case <-ctx.Done():
		return chat.Approval{}, context.Cause(ctx)
	}
}

// remembered reports whether the project's rules answer a question. If not, it sets the rule that
// could be remembered.
func (a *Approver) remembered(q *question) bool {
	memory := a.project()
	if memory == nil {
		return false
	}
	allowed, offer, err := memory.AllowsCall(q.tool.Name, q.tool.Plugin, q.call.Arguments)
	if err != nil {
		q.note = err.Error()
	}
	q.offer = offer
	return allowed
}

func (a *Approver) allowed(tool string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.always[tool]
}

// allow lets a tool run without questions from now on.
func (a *Approver) allow(tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always[tool] = true
}

// forget forgets what was always allowed, at the end of a session.
func (a *Approver) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.always)
}

func (a *Approver) close() { a.closing.Do(func() { close(a.gone) }) }

// A questionMsg is a new question.
type questionMsg struct{ *question }

// nextQuestion waits for a question until the program ends.
func (s *screen) nextQuestion() tea.Msg {
	select {
	case q := <-s.approver.questions:
		return questionMsg{q}
	case <-s.ctx.Done():
		return nil
	}
}

// Refusal is what the model reads if the user refuses.
const Refusal = "the user refused this call"

// answer answers the first question.
func (s *screen) answer(a chat.Approval) { s.answerAll(a, func(*question) bool { return false }) }

// answerAll answers the first question, and the others for which also reports true.
func (s *screen) answerAll(a chat.Approval, also func(*question) bool) {
	first, rest := s.questions[0], s.questions[1:]
	s.questions = nil
	first.answer <- a
	for _, q := range rest {
		if also(q) {
			q.answer <- a
		} else {
			s.questions = append(s.questions, q)
		}
	}
}

// always allows the tool of the first question for the rest of the session.
func (s *screen) always() {
	name := s.questions[0].tool.Name
	s.approver.allow(name)
	s.answerAll(chat.Approval{Allowed: true}, func(q *question) bool { return q.tool.Name == name })
}

// remember allows the command of the first question, and similar ones, in this project from now on.
func (s *screen) remember() {
	q := s.questions[0]
	if q.offer == nil {
		return
	}
	if err := s.approver.project().Add(*q.offer); err != nil {
		q.note, q.width = err.Error(), 0
		return
	}
	s.printNote("remembered for this project: " + render.Line(q.offer.String()) + " (/approvals lists and withdraws)")
	s.answerAll(chat.Approval{Allowed: true}, s.approver.remembered)
}

// pruneQuestions drops the questions of calls that have ended.
func (s *screen) pruneQuestions() {
	var left []*question
	for _, q := range s.questions {
		if q.ctx.Err() == nil {
			left = append(left, q)
		}
	}
	s.questions = left
}
