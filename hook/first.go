package hook

import "context"

// first calls the hooks in order until one answers. After that it calls only the observers, whose
// answers never count.
func (f *firing) first(ctx context.Context, hooks []*Hook) error {
	answered := false
	for _, h := range hooks {
		if answered && !h.Observer || !f.matches(h) {
			continue
		}
		reply, step := f.ask(ctx, h)
		over, err := f.applyFailure(step)
		if !over && !h.Observer && answers(&reply) {
			answered = true
			f.answer(&reply, step)
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

// answer ends the event with the first answer. A refusal is an answer too, and sets no fields.
func (f *firing) answer(reply *Reply, step *Step) {
	step.Verdict = Stop
	if reply.Verdict == Deny {
		step.Verdict = Deny
	} else {
		f.merge(reply, step)
	}
	f.end(step.Verdict, step, reply.Reason, reply.Suggest)
}

// answers reports whether a reply is an answer rather than "no opinion".
func answers(r *Reply) bool {
	return r.Verdict == Stop || r.Verdict == Deny || len(r.Set) > 0
}
