package hook

// first applies a reply at a First point. The first answer decides the event, and only observers
// are called after it. A refusal is an answer too, and sets no fields.
func (f *firing) first(reply *Reply, step *Step) (over bool) {
	switch {
	case !answers(reply):
	case reply.Verdict == Deny:
		f.end(Deny, step, reply)
	default:
		f.merge(reply, step)
		f.end(Stop, step, reply)
	}
	return false
}

// answers reports whether a reply is an answer rather than "no opinion".
func answers(r *Reply) bool {
	return r.Verdict == Stop || r.Verdict == Deny || len(r.Set) > 0
}
