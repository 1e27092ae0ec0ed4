package modeltest

import (
	"path"
	"testing"
)

// A Format is the format of one provider.
type Format string

// The formats.
const (
	Messages        Format = "messages"         // of Anthropic
	ChatCompletions Format = "chat completions" // of OpenAI and compatible servers
	Responses       Format = "responses"        // of OpenAI
	GenerateContent Format = "generate content" // of Google
)

// formats lists each format with its address and its encoder. Google's address ends in the model
// and the method.
var formats = []struct {
	format  Format
	address string // a pattern of package path
	encoder encoder
}{
	{Messages, "/v1/messages", anthropicEncoder{}},
	{ChatCompletions, "/v1/chat/completions", openaiEncoder{}},
	{Responses, "/v1/responses", responsesEncoder{}},
	{GenerateContent, "/v1beta/models/*:streamGenerateContent", geminiEncoder{}},
}

// formatAt returns the format of an address, and its encoder.
func formatAt(address string) (Format, encoder) {
	for _, f := range formats {
		if ok, _ := path.Match(f.address, address); ok { // the patterns above are well formed
			return f.format, f.encoder
		}
	}
	return "", nil
}

// only returns a function that accepts one format, at its own address.
func only(format Format) func(string) (Format, encoder) {
	return func(address string) (Format, encoder) {
		if f, v := formatAt(address); f == format {
			return f, v
		}
		return "", nil
	}
}

// Scripted starts a server that speaks every format, each at its own address below /v1 or /v1beta.
// It calls next for each reply, one request at a time. For other addresses it answers 404, whatever
// next returns.
func Scripted(t testing.TB, next func(Request) Reply) *Server {
	t.Helper()
	s := &Server{t: t, formatAt: formatAt, next: next}
	s.start("")
	return s
}
