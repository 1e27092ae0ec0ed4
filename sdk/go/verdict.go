package plugin

import (
	"errors"
	"fmt"
	"strings"
)

type kind string

const (
	kindNone     kind = ""
	kindContinue kind = "continue"
	kindModify   kind = "modify"
	kindStop     kind = "stop"
	kindAnswer   kind = "answer"
	kindSkip     kind = "skip"
	kindDeny     kind = "deny"
	kindFail     kind = "fail"
)

// A Verdict is a handler's answer to an event. The zero Verdict has no opinion. A verdict that a
// point does not support is an error that lists the supported ones.
type Verdict struct {
	kind    kind
	reason  string
	suggest string
	answer  any
	failed  bool // the answer is a failure
	err     error
}

// NoOpinion leaves the event as it is.
func NoOpinion() Verdict { return Verdict{} }

// Continue agrees: the event goes on as it is.
func Continue() Verdict { return Verdict{kind: kindContinue} }

// Modify continues with the event as the handler has changed it. Without it, changes of the event
// are dropped.
func Modify() Verdict { return Verdict{kind: kindModify} }

// Stop continues with the event as the handler has changed it, and no other plugin is called.
func Stop() Verdict { return Verdict{kind: kindStop} }

// Answer answers in place of a tool, which does not run. A result that is not a string becomes
// JSON.
func Answer(result any) Verdict { return Verdict{kind: kindAnswer, answer: result} }

// Skip drops a message of the user.
func Skip() Verdict { return Verdict{kind: kindSkip} }

// Deny refuses the tool, the command, the job or the message. The reason is for people and for a
// model.
func Deny(reason string) Verdict { return Verdict{kind: kindDeny, reason: reason} }

// Denyf is Deny with a format.
func Denyf(format string, args ...any) Verdict { return Deny(fmt.Sprintf(format, args...)) }

// Fail says that the handler could not do its work. The host decides what that does to the event.
// Fail(nil) is Continue, so that a handler can end with it.
func Fail(err error) Verdict {
	if err == nil {
		return Continue()
	}
	return Verdict{kind: kindFail, reason: err.Error(), err: err}
}

// Suggest adds to a refusal what the user can do about it.
func (v Verdict) Suggest(text string) Verdict {
	v.suggest = text
	return v
}

// Failed marks an answer as the result of a tool that failed.
func (v Verdict) Failed() Verdict {
	v.failed = true
	return v
}

// String names the verdict: "", "continue", "modify", "stop", "answer", "skip", "deny" or "fail".
func (v Verdict) String() string { return string(v.kind) }

// Reason returns the reason of a refusal or a failure.
func (v Verdict) Reason() string { return v.reason }

// Suggestion returns the suggestion of a refusal.
func (v Verdict) Suggestion() string { return v.suggest }

// refusal returns the reason and the suggestion in one text, for dialects with one field for both.
func (v Verdict) refusal() string {
	if v.suggest == "" {
		return v.reason
	}
	return v.reason + "; " + v.suggest
}

// fits says why a point does not support a verdict.
func (v Verdict) fits(n *native) error {
	switch v.kind {
	case kindNone, kindContinue, kindFail:
		return nil
	}
	words := []string{"NoOpinion", "Continue", "Fail"}
	for _, k := range n.allows {
		if k == v.kind {
			return nil
		}
		words = append(words, strings.ToUpper(string(k[:1]))+string(k[1:]))
	}
	return fmt.Errorf("%s cannot be returned at %s: return one of %s", v.kind, n.point, strings.Join(words, ", "))
}

// An Error is an error with a code, for dialects that support one (mine: VAULT_NOT_FOUND).
type Error struct {
	Message string
	Code    string
}

func (e *Error) Error() string { return e.Message }

// codeOf returns the code of an error; "" if it has none.
func codeOf(err error) string {
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.Code
	}
	return ""
}
