package hook

// gate applies a reply at a Gate point. The first refusal ends the event, with its reason and
// suggestion: every verdict but continue is one. A plugin that fails also refuses the event, unless
// the failure table or the hook's OnFailure says skip.
func (f *firing) gate(reply *Reply, step *Step) (over bool) {
	if reply.Verdict == "" || reply.Verdict == Continue {
		return false
	}
	f.end(Deny, step, reply)
	return true
}
