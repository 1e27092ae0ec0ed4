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

// An Approver puts the question whether a tool may run to the person at the terminal. It is made
// before the program, because the agent is: a question that comes early waits for [Run]. It belongs
// to one Run, and to one session at a time.
type Approver struct {
	questions chan *question // to the program
	gone      chan struct{}  // closed when the program has ended
	closing   sync.Once

	mu     sync.Mutex        // protects the fields below
	memory *approval.Project // the commands that need no question in this project; nil: none are remembered
	always map[string]bool   // the tools that need none in this session
}

// NewApprover returns an approver that has no program yet.
func NewApprover() *Approver {
	return &Approver{questions: make(chan *question), gone: make(chan struct{}), always: map[string]bool{}}
}

// Begin has the approver serve a session of a project. It uses and extends what is remembered for
// the project, and forgets what was allowed in the session before.
func (a *Approver) Begin(p approval.Project) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memory = &p
	clear(a.always)
}

// project is what is remembered for the session's project; nil: nothing is.
func (a *Approver) project() *approval.Project {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.memory
}

// errClosed is returned where there is no person to ask any more.
var errClosed = errors.New("the terminal is closed: nobody can be asked")

// A question is one call of a tool that waits for an answer.
type question struct {
	ctx    context.Context // of the call: once it has ended, nobody waits for the answer
	tool   chat.Tool
	call   model.ToolCall
	answer chan chat.Approval // has room for the one answer

	offer   *approval.Rule // what could be remembered of it; nil: nothing
	note    string         // what the person should know besides
	instead *inputBox      // where the person types what to do instead; nil: not now

	armed bool     // the person has seen it: keys answer it (see screen.questionKey)
	body  []string // as drawn, for a screen of this width
	width int
}

// Approve is a [chat.Approver].
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

// remembered tells whether the project's rules answer a question. Where they do not, the question
// is given what could be remembered.
func (a *Approver) remembered(q *question) bool {
	memory := a.project()
	if memory == nil {
		return false
	}
	allowed, offer, err := memory.Judge(q.tool.Name, q.tool.Plugin, q.call.Arguments)
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

// allow lets a tool run without a question from now on.
func (a *Approver) allow(tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always[tool] = true
}

// forget ends what was always allowed in a session, with the session.
func (a *Approver) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.always)
}

func (a *Approver) close() { a.closing.Do(func() { close(a.gone) }) }

// questionMsg is a question that has come.
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

// refusal is what the model is told of a no.
const refusal = "the user refused this call"

// answer gives the first question its answer.
func (s *screen) answer(a chat.Approval) { s.answerAll(a, func(*question) bool { return false }) }

// answerAll gives the first question its answer, and those behind it that the answer is also for.
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

// remember allows the command of the first question, and those like it, in this project from now
// on.
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

// pruneQuestions drops those whose call has ended.
func (s *screen) pruneQuestions() {
	var left []*question
	for _, q := range s.questions {
		if q.ctx.Err() == nil {
			left = append(left, q)
		}
	}
	s.questions = left
}
