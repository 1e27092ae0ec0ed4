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

// What an error of a model comes down to, for errors.Is.
var (
	// ErrTooLong says that the conversation does not fit into the model's window.
	ErrTooLong = errors.New("the conversation is too long for the model")
	// ErrAuth says that the provider wants another key, or any.
	ErrAuth = errors.New("the provider does not accept the key")
	// ErrIdle says that the server sent nothing for too long.
	ErrIdle = errors.New("the server sent nothing for too long")
)

// maxForeign bounds what an error repeats of a provider's words.
const maxForeign = 500

// An Error says why a model gave no reply. It never holds the key, nor the request with its
// headers.
type Error struct {
	Provider string
	Status   int    // of HTTP; 0: no answer came
	Message  string // what the provider said, or what went wrong on the way
	Fix      string // what a person could do; "": nothing is known
	Tries    int    // how often it was asked

	kind    error         // a sentinel of this package, or nil
	cause   error         // what went wrong on the way, or nil
	passing bool          // another try may go better
	after   time.Duration // how long the server wants to be left alone; 0: it does not say
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

// Unwrap gives errors.Is the sentinel and the cause.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// statusOverloaded is Anthropic's own: all its customers ask too much at once.
const statusOverloaded = 529

func statusText(status int) string {
	if status == statusOverloaded {
		return "overloaded"
	}
	return strings.ToLower(http.StatusText(status))
}

// A refusal is what a provider answered in place of a reply, in either form: the status and body of
// an HTTP response, or an error event in mid-stream.
type refusal struct {
	status  int    // 0: an event that does not tell
	code    string // the provider's word for it
	message string
	header  http.Header // of the HTTP response; nil: none
}

// refused makes an error of a refusal.
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
	case r.code == "insufficient_quota": // 429, but it will not pass by waiting
		err.Fix = "the account has no credit left"
	default:
		err.passing = r.status == 0 || r.status == http.StatusTooManyRequests || r.status >= 500
	}
	return err
}

func (e *endpoint) keyAdvice() string {
	if e.key.Empty() {
		return fmt.Sprintf("set %s in the environment or in secrets.toml", e.keyName)
	}
	return fmt.Sprintf("look at %s, which comes from %s", e.keyName, e.keyFrom)
}

// tooLongWords are how the servers say that a conversation does not fit. The providers have codes
// for it only in part, compatible servers none.
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

// quote makes a foreign text safe to print, and short.
func quote(s string) string { return fmt.Sprintf("%q", cut(s)) }

// printable takes out of a text, part of which may be foreign, what a terminal obeys.
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
