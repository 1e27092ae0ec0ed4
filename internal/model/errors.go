package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// The kinds of errors, for errors.Is.
var (
	// ErrTooLong means that the conversation does not fit into the model's window.
	ErrTooLong = errors.New("the conversation is too long for the model")
	// ErrAuth means that the provider requires a key, or refuses the one it got.
	ErrAuth = errors.New("the provider does not accept the key")
	// ErrIdle means that the server sent nothing for too long.
	ErrIdle = errors.New("the server sent nothing for too long")
)

// maxForeign limits how much of a provider's text an error repeats.
const maxForeign = 500

// An Error says why a model gave no reply. It contains neither the key nor the headers of the
// request.
type Error struct {
	Provider string
	Status   int    // the HTTP status; 0: no answer came
	Message  string // the provider's text, or what went wrong with the connection
	Fix      string // what the user can do; "": nothing is known
	Tries    int    // how often the request was sent

	kind    error         // an error of this package, or nil
	cause   error         // the underlying error, or nil
	passing bool          // another try may succeed
	after   time.Duration // how long the server asks to wait; 0: it does not say
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s: ", e.Provider)
	if e.Status != 0 {
		fmt.Fprintf(&b, "%d %s: ", e.Status, statusText(e.Status))
	}
	b.WriteString(e.Message)
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (asked %d times)", e.Tries)
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// Unwrap returns the kind and the cause, for errors.Is.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// statusOverloaded is Anthropic's own status: the provider has too many requests.
const statusOverloaded = 529

func statusText(status int) string {
	if status == statusOverloaded {
		return "overloaded"
	}
	return strings.ToLower(http.StatusText(status))
}

// A refusal is an error that a provider sent instead of a reply, as an HTTP response or as an event
// in the stream.
type refusal struct {
	status  int    // 0: an event without a status
	code    string // the provider's code
	message string
	header  http.Header // of the HTTP response; nil: none
}

// refused turns a refusal into an error.
func (e *endpoint) refused(name string, r refusal) *Error {
	message := strings.TrimSpace(r.message)
	if message == "" {
		message = r.code
	}
	err := &Error{Provider: e.provider, Status: r.status, Message: quote(e.scrub(message)), after: retryAfter(r.header)}
	switch {
	case tooLong(r):
		err.kind, err.Fix = ErrTooLong, "compact the conversation or begin a new one"
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		err.kind, err.Fix = ErrAuth, e.keyAdvice()
	case r.status == http.StatusNotFound:
		err.Fix = fmt.Sprintf("is there a model %q at %s?", cut(name), e.base)
	case r.code == "insufficient_quota": // 429, but waiting does not help
		err.Fix = "the account has no credit left: add credit on the provider's website"
	default:
		err.passing = r.status == 0 || r.status == http.StatusTooManyRequests || r.status >= 500
	}
	return err
}

func (e *endpoint) keyAdvice() string {
	if e.key.Empty() {
		return fmt.Sprintf("set %s in the environment or in secrets.toml", e.keyName)
	}
	return fmt.Sprintf("check %s, which comes from %s", e.keyName, e.keyFrom)
}

// tooLongWords lists the texts by which servers say that a conversation does not fit. Providers
// have codes for only some cases, and compatible servers have none.
var tooLongWords = []string{
	"prompt is too long",    // Anthropic
	"exceed context limit",  // Anthropic, prompt and max_tokens together
	"context_length",        // OpenAI's code
	"context length",        // OpenAI, vLLM
	"context window",        // OpenAI's newer models, LM Studio
	"context size",          // llama.cpp
	"too many tokens",       // Cohere and others
	"request_too_large",     // Anthropic's code
	"exceed_context_size",   // llama.cpp's code
	"maximum prompt length", // xAI
}

func tooLong(r refusal) bool {
	switch r.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return false
	}
	text := strings.ToLower(r.code + " " + r.message)
	for _, words := range tooLongWords {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// quote makes a foreign text short and safe to print.
func quote(s string) string { return fmt.Sprintf("%q", cut(s)) }

// printable replaces control characters, which a terminal would obey. Part of the text may be
// foreign.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// cut shortens a foreign text.
func cut(s string) string { return excerpt.Of(s, maxForeign) }
