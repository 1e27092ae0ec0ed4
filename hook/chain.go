package hook

import "context"

// chain calls one hook after another. Each sees the payload that the one before left. A reply may
// stop, skip or deny the event; then no further hook is called.
func (f *firing) chain(ctx context.Context, hooks []*Hook) error {
	for _, h := range hooks {
		if !f.matches(h) {
			continue
		}
		reply, step := f.ask(ctx, h)
		over, err := f.addReply(&reply, step)
		if ierr := f.interrupted(ctx); ierr != nil {
			return ierr
		}
		if over {
			return err
		}
	}
	return nil
}

// addReply applies one reply to the event and returns whether the event is over.
func (f *firing) addReply(reply *Reply, step *Step) (over bool, err error) {
	if over, err := f.applyFailure(step); over {
		return true, err
	}
	switch reply.Verdict {
	case Skip:
		if !f.spec.MaySkip {
			step.note("skip has no effect at " + string(f.spec.Point) + ": treated as continue")
			break
		}
		step.Verdict = Skip
		f.end(Skip, step, reply.Reason, reply.Suggest)
		return true, nil
	case Deny:
		step.Verdict = Deny
		f.end(Deny, step, reply.Reason, reply.Suggest)
		return true, nil
	case Stop:
		f.merge(reply, step)
		if f.spec.NoStop {
			step.note("stop has no effect at " + string(f.spec.Point) + ": treated as continue")
			return false, nil
		}
		step.Verdict = Stop
		f.end(Stop, step, reply.Reason, reply.Suggest)
		return true, nil
	}
	f.merge(reply, step)
	return false, nil
}
