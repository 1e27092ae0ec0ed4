package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// DefaultSteps is how many model calls a turn may have: enough for a change through many files, and
// an end to a model that goes in circles.
const DefaultSteps = 50

// ErrSteps is returned for a turn that wanted more model calls than [Agent.Steps] allows.
var ErrSteps = errors.New("the turn reached its limit of model calls")

// errNoModel is a turn of an agent that was put together wrongly.
var errNoModel = errors.New("the agent has no model")

// keepTimeout bounds what is written to the log. Writing goes on when the turn is interrupted: what
// has happened is kept.
const keepTimeout = 10 * time.Second

// interruptedMark ends a reply that was cut off, so that the model knows later that it never said
// the rest.
const interruptedMark = "\n\n[interrupted]"

// A run is one turn under way. The goroutine that called Run owns it; tool calls run on goroutines
// of their own, and of a run they use only what does not change (agent, turn, about), the watch and
// the approval slot, which are safe.
type run struct {
	agent  *Agent
	turn   Turn
	logger *slog.Logger
	watch  *watch
	result *Result
	began  time.Time

	about    about           // of the session, for payloads
	prompt   prompt          // as built for this turn
	offered  []Tool          // the tools the model was last told of
	approval chan struct{}   // holds the one question that may be put at a time
	held     bool            // plugins see the reply under way before anybody else does
	waiting  int             // how many characters of it have come, where it is held
	heard    strings.Builder // what came of the reply under way
	said     string          // a reply, or part of one, that may be shown and is not in the log yet
	counted  model.Usage     // of the last reply
	countAt  int             // how many messages that reply answered
}

// Run takes one message of the user's through plugins, model and tools. The result is never nil: it
// has how far the turn came, whatever the error.
//
// A refusal by a plugin is no error: the result is skipped, and has the reason. The error of a turn
// that was interrupted wraps the cause of the context's end.
func (a *Agent) Run(ctx context.Context, t Turn) (*Result, error) {
	r := a.newRun(t)
	ctx = hook.WithRequest(ctx, r.turn.ID)
	r.emit(Event{Type: TurnStarted, Text: t.Text})
	err := r.recordEnd(ctx, r.runStages(ctx))
	r.notifyDone(ctx)
	r.emit(Event{Type: TurnFinished, Result: r.result})
	r.watch.close()
	return r.result, err
}

func (a *Agent) newRun(t Turn) *run {
	if t.ID == "" {
		t.ID = session.NewTurnID()
	}
	if t.Log == nil {
		t.Log = NewMemoryLog()
	}
	logger := a.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	r := &run{
		agent: a, turn: t, logger: logger, began: time.Now(),
		watch:    &watch{observe: t.Observe, session: t.Session.ID, turn: t.ID},
		about:    about{SessionID: t.Session.ID, WorkingDir: t.Session.WorkingDir, UserText: t.Text},
		result:   &Result{SessionID: t.Session.ID, Turn: t.ID, Tools: []ToolUse{}},
		approval: make(chan struct{}, 1),
	}
	if a.Model != nil {
		r.result.Offline = a.Model.Info().Offline
	}
	return r
}

// runStages is the turn up to and including the answer. A plugin's refusal comes back as a [*refusal].
func (r *run) runStages(ctx context.Context) error {
	if r.agent.Model == nil {
		return errNoModel
	}
	if err := r.startSession(ctx); err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	message, err := r.input(ctx)
	if err != nil {
		return err
	}
	// Before the model is asked: whatever happens then, the user need not type it again.
	if err := r.append(ctx, model.Message{Role: model.User, Content: message}); err != nil {
		return err
	}
	if err := r.buildPrompt(ctx, message); err != nil {
		return err
	}
	return r.converse(ctx)
}

// converse asks the model and does what it wants done, until it wants nothing.
func (r *run) converse(ctx context.Context) error {
	for step := 1; ; step++ {
		last := step >= r.agent.steps()
		text, calls, err := r.reply(ctx, last)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			return r.finishReply(ctx, text)
		}
		if err := r.keepReply(ctx, text, calls); err != nil {
			return err
		}
		if last {
			return r.endAtLimit(ctx, calls)
		}
		if err := r.runTools(ctx, calls); err != nil {
			return err
		}
	}
}

func (a *Agent) steps() int {
	if a.Steps <= 0 {
		return DefaultSteps
	}
	return a.Steps
}

// keepReply puts a whole reply into the log and shows it.
func (r *run) keepReply(ctx context.Context, text string, calls []model.ToolCall) error {
	err := r.append(ctx, model.Message{Role: model.Assistant, Content: text, ToolCalls: calls})
	if err != nil {
		return err
	}
	r.said, r.result.Text = "", text
	r.emit(Event{Type: ModelReplied, Text: text, Usage: r.counted})
	return nil
}

// endAtLimit ends a turn whose model wants tools beyond the limit. Each call is answered, so that the
// conversation can be gone on with.
func (r *run) endAtLimit(ctx context.Context, calls []model.ToolCall) error {
	results := make([]model.Message, len(calls))
	for i, c := range calls {
		results[i] = toolMessage(c, "not run: the turn reached its limit of model calls", false)
	}
	if err := r.append(ctx, results...); err != nil {
		return err
	}
	return fmt.Errorf("%w (%d): send another message to go on", ErrSteps, r.agent.steps())
}

// recordEnd says in the result how the turn ended, keeps what was said until then, and returns the
// error that Run returns.
func (r *run) recordEnd(ctx context.Context, err error) error {
	refused, isRefusal := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		r.result.Status = session.Done
		return nil
	case isRefusal:
		r.result.Status, r.result.Skipped = session.Skipped, true
		r.result.Reason, r.result.Suggest = refused.reason(), refused.suggest
		return nil
	case ctx.Err() != nil:
		r.result.Status = session.Interrupted
		err = errors.Join(interruption(ctx), r.keepSaid(ctx, interruptedMark))
	default:
		r.result.Status = session.Failed
		err = errors.Join(err, r.keepSaid(ctx, ""))
	}
	text := err.Error()
	r.result.Error = &text
	return err
}

// interruption is the error of a turn whose context ended. Who pressed a key need not read "context
// canceled".
func interruption(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return canceled{cause}
	}
	return fmt.Errorf("interrupted: %w", cause)
}

// canceled is an interruption that says no more than that.
type canceled struct{ cause error }

func (canceled) Error() string { return "interrupted" }

func (c canceled) Unwrap() error { return c.cause }

// keepSaid keeps what the model had said of a reply that never came to its end.
func (r *run) keepSaid(ctx context.Context, mark string) error {
	if r.said == "" {
		return nil
	}
	text := r.said
	r.said, r.result.Text = "", text
	return r.append(ctx, model.Message{Role: model.Assistant, Content: text + mark})
}

// append adds messages to the log, also where the turn was interrupted.
func (r *run) append(ctx context.Context, messages ...model.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := r.turn.Log.Append(ctx, messages...); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}

func (r *run) emit(e Event) { r.watch.tell(e) }
