package modeltest

import (
	"path"
	"testing"
)

// A Format is one provider's wire format.
type Format string

// The formats.
const (
	Messages        Format = "messages"         // Anthropic's
	ChatCompletions Format = "chat completions" // OpenAI's, and that of everybody who is compatible with it
	Responses       Format = "responses"        // OpenAI's
	GenerateContent Format = "generate content" // Google's
)

// formats lists each format with its address and its voice. Google's address ends in the model and
// the verb.
var formats = []struct {
	format  Format
	address string // a pattern of package path
	voice   voice
}{
	{Messages, "/v1/messages", anthropicVoice{}},
	{ChatCompletions, "/v1/chat/completions", openaiVoice{}},
	{Responses, "/v1/responses", responsesVoice{}},
	{GenerateContent, "/v1beta/models/*:streamGenerateContent", geminiVoice{}},
}

// heard returns the format that is spoken at an address, and the voice for it.
func heard(address string) (Format, voice) {
	for _, f := range formats {
		if ok, _ := path.Match(f.address, address); ok { // the patterns above are well formed
			return f.format, f.voice
		}
	}
	return "", nil
}

// only answers one format, at its own address.
func only(format Format) func(string) (Format, voice) {
	return func(address string) (Format, voice) {
		if f, v := heard(address); f == format {
			return f, v
		}
		return "", nil
	}
}

// Scripted starts a server that speaks every format, each at its own address below /v1 or /v1beta.
// next decides on each reply by what was asked; it is called by one request at a time. It may be
// asked at addresses where nothing is served: the answer there is 404 whatever it says.
func Scripted(t testing.TB, next func(Request) Reply) *Server {
	t.Helper()
	s := &Server{t: t, voice: heard, next: next}
	s.start("")
	return s
}
