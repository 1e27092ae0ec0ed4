package hook

// chain applies a reply at a Chain point. Each hook sees the payload that the one before left. A
// reply may stop, skip or deny the event; then no further hook is called.
func (f *firing) chain(reply *Reply, step *Step) (over bool) {
	switch reply.Verdict {
	case Skip:
		if !f.spec.MaySkip {
			step.note("skip has no effect at " + string(f.spec.Point) + ": treated as continue")
			break
		}
		f.end(Skip, step, reply)
		return true
	case Deny:
		f.end(Deny, step, reply)
		return true
	case Stop:
		f.merge(reply, step)
		if f.spec.NoStop {
			step.note("stop has no effect at " + string(f.spec.Point) + ": treated as continue")
			return false
		}
		f.end(Stop, step, reply)
		return true
	}
	f.merge(reply, step)
	return false
}
