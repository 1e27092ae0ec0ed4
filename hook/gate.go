package hook

import "context"

// gate: in order, all must agree; the first refusal stops it and carries its reason and suggestion.
// A plugin that fails is a refusal unless the failure table says otherwise: a gate never opens by
// accident.
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

// refuses: at a gate every verdict but continue closes it.
func refuses(r *Reply) bool { return r.Verdict != "" && r.Verdict != Continue }
