package hook

import "context"

// first: in order, the first plugin with an answer wins. Observers are told all
// the same, before and after, and their answers do not count.
func (f *firing) first(ctx context.Context, hooks []*Hook) error {
	answered := false
	for _, h := range hooks {
		if answered && !h.Observer || !f.concerns(h) {
			continue
		}
		reply, step := f.ask(ctx, h)
		over, err := f.settle(step)
		if !over && !h.Observer && answers(&reply) {
			answered = true
			f.merge(&reply, step)
			step.Verdict = Stop
			f.end(Stop, step, reply.Reason, reply.Suggest)
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

// answers tells an answer from "no opinion".
func answers(r *Reply) bool {
	return r.Verdict == Stop || r.Verdict == Deny || len(r.Set) > 0
}
