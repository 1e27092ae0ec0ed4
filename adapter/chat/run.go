package chat

import (
	"cmp"
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

// DefaultSteps is how many model calls a turn may make. That is enough for a change to many files,
// and it stops a model that repeats itself.
const DefaultSteps = 50

// ErrSteps is returned for a turn that needs more model calls than [Agent.Steps] allows.
var ErrSteps = errors.New("the turn reached its limit of model calls")

// errNoModel is returned for an agent without a model.
var errNoModel = errors.New("the agent has no model")

// keepTimeout limits a write to the log. A write continues if the turn is interrupted, so that the
// log has everything that happened.
const keepTimeout = 10 * time.Second

// interruptedMark ends a reply that was cut off. It tells the model later that it did not say the
// rest.
const interruptedMark = "\n\n[interrupted]"

// A run is one turn in progress. It belongs to the goroutine that called Run. Tool calls run on
// their own goroutines. They use only the fields that do not change (agent, turn, about), and the
// watch, which is safe for concurrent use.
type run struct {
	agent  *Agent
	turn   Turn
	logger *slog.Logger
	watch  *watch
	result *Result
	began  time.Time

	about   about           // about the session, for payloads
	prompt  prompt          // as built for this turn
	offered []Tool          // the tools that the last model call named
	held    bool            // the current reply is not shown before plugins have seen it
	waiting int             // how many characters of a held reply have arrived
	heard   strings.Builder // the part of the current reply that has arrived
	said    string          // a reply, or part of one, that may be shown and is not in the log yet
	counted model.Usage     // of the last reply
	countAt int             // how many messages that model call had
}

// Run takes one message of the user through plugins, model and tools. The result is never nil: it
// says how far the turn came, also if there is an error.
//
// A refusal by a plugin is not an error: the result is skipped and has the reason. If the turn was
// interrupted, the error wraps the cause of the context.
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
	logger := cmp.Or(a.Logger, slog.New(slog.DiscardHandler))
	r := &run{
		agent: a, turn: t, logger: logger, began: time.Now(),
		watch:  &watch{observe: t.Observe, session: t.Session.ID, turn: t.ID},
		about:  about{SessionID: t.Session.ID, WorkingDir: t.Session.WorkingDir, UserText: t.Text},
		result: &Result{SessionID: t.Session.ID, Turn: t.ID, Tools: []ToolUse{}},
	}
	if a.Model != nil {
		r.result.Offline = a.Model.Info().Offline
	}
	return r
}

// runStages runs the turn up to and including the answer. It returns a [*refusal] if a plugin
// refused.
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
	// The log has the message before the model is called, so that the user need not type it again
	// after a failure.
	if err := r.append(ctx, model.Message{Role: model.User, Content: message}); err != nil {
		return err
	}
	if err := r.buildPrompt(ctx, message); err != nil {
		return err
	}
	return r.converse(ctx)
}

// converse calls the model and runs the tools that it asks for, until it asks for none.
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

// keepReply adds a whole reply to the log and shows it.
func (r *run) keepReply(ctx context.Context, text string, calls []model.ToolCall) error {
	err := r.append(ctx, model.Message{Role: model.Assistant, Content: text, ToolCalls: calls})
	if err != nil {
		return err
	}
	r.said, r.result.Text = "", text
	r.emit(Event{Type: ModelReplied, Text: text, Usage: r.counted})
	return nil
}

// endAtLimit ends a turn whose model asks for tools beyond the limit. Each call gets a result, so
// that the conversation can continue.
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

// recordEnd records in the result how the turn ended, stores the text said so far, and returns the
// error for Run to return.
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

// interruption returns the error of a turn whose context ended. If the user interrupted it, the
// text is not "context canceled".
func interruption(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return canceled{cause}
	}
	return fmt.Errorf("interrupted: %w", cause)
}

// canceled is an interruption by the user. Its text gives no cause.
type canceled struct{ cause error }

func (canceled) Error() string { return "interrupted" }

func (c canceled) Unwrap() error { return c.cause }

// keepSaid stores the part of an unfinished reply that may be shown.
func (r *run) keepSaid(ctx context.Context, mark string) error {
	if r.said == "" {
		return nil
	}
	text := r.said
	r.said, r.result.Text = "", text
	return r.append(ctx, model.Message{Role: model.Assistant, Content: text + mark})
}

// append adds messages to the log, also after the turn was interrupted.
func (r *run) append(ctx context.Context, messages ...model.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := r.turn.Log.Append(ctx, messages...); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}

func (r *run) emit(e Event) { r.watch.send(e) }
