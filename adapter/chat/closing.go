package chat

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// afterTurnTimeout and afterInterruptTimeout limit the time that plugins have at the end of a turn.
// The first is the longest time that a protocol allows for a hook (docs/protocols/kaged.md, row
// K46). The second applies once the user has interrupted the turn, and is the shortest such time
// (docs/protocols/scaffold.md, row S41).
const (
	afterTurnTimeout      = 60 * time.Second
	afterInterruptTimeout = 5 * time.Second
)

// finishReply fires turn.final, stores the answer and shows it. Plugins do not get an empty answer:
// docs/protocols/python.md, row P56. The log stores the text that the user is shown, so that text
// which a plugin removed is not in the transcript.
func (r *run) finishReply(ctx context.Context, text string) error {
	if text != "" {
		fields, _, err := r.pass(ctx, hook.TurnFinal, struct {
			Text string `json:"text"`
			about
		}{text, r.about})
		if _, refused := errors.AsType[*refusal](err); refused {
			r.withhold()
		}
		if err != nil {
			return err
		}
		text = adapter.Plain(fields, "text")
	}
	return r.keepReply(ctx, text, nil)
}

// notifyDone tells plugins that the turn is over, however it ended, and that the session is idle.
func (r *run) notifyDone(ctx context.Context) {
	ctx, cancel := afterTurn(ctx)
	defer cancel()
	r.notify(ctx, hook.TurnDone, struct {
		Text     string    `json:"text"`
		Tools    []ToolUse `json:"tools"`
		Duration float64   `json:"duration"` // seconds
		Error    *string   `json:"error"`
		about
	}{r.result.Text, r.result.Tools, time.Since(r.began).Seconds(), r.result.Error, r.about})
	transcript := r.turn.Log.Messages()
	if len(transcript) == 0 || !r.agent.listens(ctx, hook.SessionIdle) {
		return
	}
	r.notify(ctx, hook.SessionIdle, struct {
		Transcript []model.Message `json:"transcript"`
		SessionID  string          `json:"session_id"`
	}{transcript, r.about.SessionID})
}

// notify tells plugins about something that they can no longer change.
func (r *run) notify(ctx context.Context, point hook.Point, payload any) {
	if _, err := r.fire(ctx, point, payload); err != nil {
		r.logger.Warn("plugins were not told", "point", point, "err", err)
	}
}

// afterTurn returns a context for the calls after a turn, which are also made if the turn was
// interrupted. It outlives ctx by a limited time.
func afterTurn(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTurnTimeout)
	hurry := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(afterInterruptTimeout, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() { hurry(); cancel() }
}

// End tells plugins that a session is over and will not be continued.
func (a *Agent) End(ctx context.Context, s session.Session) error {
	_, err := a.fire(ctx, hook.SessionEnd, struct {
		SessionID string `json:"session_id"`
	}{s.ID})
	return err
}
