package chat

import (
	"context"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/project"
)

// startSession fires session.start if the transcript is empty. Text that plugins inject opens the
// conversation. If plugins injected nothing and the first message is refused, the transcript stays
// empty, and session.start is fired again before the next message.
func (r *run) startSession(ctx context.Context) error {
	if len(r.turn.Log.Messages()) > 0 {
		return nil
	}
	fields, _, err := r.pass(ctx, hook.SessionStart, struct {
		SessionID   string `json:"session_id"`
		WorkingDir  string `json:"working_dir"`
		ProjectRoot string `json:"project_root"`
	}{r.about.SessionID, r.about.WorkingDir, project.Root(r.about.WorkingDir)})
	if err != nil {
		return err
	}
	inject := adapter.Plain(fields, "inject")
	if strings.TrimSpace(inject) == "" {
		return nil
	}
	return r.append(ctx, model.Message{Role: model.System, Content: inject})
}

// begin fires turn.begin: plugins may refuse the turn.
func (r *run) begin(ctx context.Context) error {
	_, _, err := r.pass(ctx, hook.TurnBegin, r.about)
	return err
}

// input fires turn.input and returns the user's message after plugins changed it. A plugin that
// answers skip drops the message: docs/protocols/scaffold.md, row S35.
func (r *run) input(ctx context.Context) (message string, err error) {
	fields, out, err := r.pass(ctx, hook.TurnInput, struct {
		Message string `json:"message"`
		about
	}{r.turn.Text, r.about})
	if err != nil {
		return "", err
	}
	message = adapter.Plain(fields, "message")
	switch {
	case out.Verdict == hook.Skip:
		return "", &refusal{point: out.Point, by: out.By, why: or(out.Reason, "plugin "+out.By+" dropped the message"), suggest: out.Suggest}
	case strings.TrimSpace(message) == "":
		return "", &refusal{point: out.Point, by: out.By, why: "the message is empty"}
	}
	return message, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
