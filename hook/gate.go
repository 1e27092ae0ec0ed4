package hook

import "context"

// gate calls the hooks in order. The first refusal ends the event, with its reason and suggestion.
// A plugin that fails also refuses the event, unless the failure table or the hook's OnFailure says
// skip.
func (f *firing) gate(ctx context.Context, hooks []*Hook) error {
	for _, h := range hooks {
		if !f.matches(h) {
			continue
		}
		reply, step := f.ask(ctx, h)
		over, err := f.applyFailure(step)
		if !over && refuses(&reply) {
			over = true
			step.Verdict = Deny
			f.end(Deny, step, reply.Reason, reply.Suggest)
		}
		if ierr := f.interrupted(ctx); ierr != nil {
			return ierr
		}
		if over {
			return err
		}
	}
	return nil
}

// refuses reports whether a reply closes the gate: every verdict but continue does.
func refuses(r *Reply) bool { return r.Verdict != "" && r.Verdict != Continue }
