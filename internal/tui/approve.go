package tui

import (
	"context"
	"errors"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// An Approver puts the question whether a tool may run to the person at the
// terminal. It is made before the program, because the agent is: a question that
// comes early waits for [Run]. It belongs to one session and one Run.
type Approver struct {
	questions chan *question // to the program
	gone      chan struct{}  // closed when the program has ended
	closing   sync.Once

	mu     sync.Mutex // protects always
	always map[string]bool
}

// NewApprover returns an approver that has no program yet.
func NewApprover() *Approver {
	return &Approver{questions: make(chan *question), gone: make(chan struct{}), always: map[string]bool{}}
}

// errNobody is returned where there is no person to ask any more.
var errNobody = errors.New("the terminal is closed: nobody can be asked")

// A question is one call of a tool that waits for an answer.
type question struct {
	ctx    context.Context // of the call: once it has ended, nobody waits for the answer
	tool   chat.Tool
	call   model.ToolCall
	answer chan chat.Approval // has room for the one answer

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
	select {
	case a.questions <- q:
	case <-a.gone:
		return chat.Approval{}, errNobody
	case <-ctx.Done():
		return chat.Approval{}, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-a.gone:
		return chat.Approval{}, errNobody
	case <-ctx.Done():
		return chat.Approval{}, context.Cause(ctx)
	}
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

// answer gives the first question its answer, and those behind it that it settles as well.
func (s *screen) answer(a chat.Approval, always bool) {
	first := s.questions[0]
	if always {
		s.approver.allow(first.tool.Name)
	}
	rest := s.questions[1:]
	s.questions = nil
	first.answer <- a
	for _, q := range rest {
		if always && q.tool.Name == first.tool.Name {
			q.answer <- a
		} else {
			s.questions = append(s.questions, q)
		}
	}
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
