package model

import "strings"

// The windows of unknown models. Every model of Anthropic has at least 200,000 tokens, and most
// compatible servers are configured for 128k.
const (
	anthropicWindow = 200_000
	openaiWindow    = 128_000
	offlineWindow   = 128_000
)

// anthropicOutput is the limit of a reply if the request has none. Anthropic requires a number, and
// no more than the model allows. Thinking counts too.
const anthropicOutput = 32_000

// limits are the limits of a model, in tokens.
type limits struct {
	prefix string
	window int
	output int // 0: need not be sent
}

// The limits of known models, from the providers' pages; the first matching prefix counts.
var (
	anthropicLimits = []limits{
		{"claude-3-5-", anthropicWindow, 8_192},
		{"claude-3-7-", anthropicWindow, anthropicOutput},
		{"claude-3-", anthropicWindow, 4_096},
		{"", anthropicWindow, anthropicOutput},
	}
	openaiLimits = []limits{
		{"gpt-3.5", 16_385, 0},
		{"gpt-4.1", 1_047_576, 0},
		{"gpt-4-turbo", 128_000, 0},
		{"gpt-4o", 128_000, 0},
		{"gpt-4-32k", 32_768, 0},
		{"gpt-4-0125", 128_000, 0},
		{"gpt-4-1106", 128_000, 0},
		{"gpt-4", 8_192, 0},
		{"gpt-5-chat", 128_000, 0},
		{"gpt-5", 400_000, 0},
		{"o1-mini", 128_000, 0},
		{"o1-preview", 128_000, 0},
		{"o1", 200_000, 0},
		{"o3", 200_000, 0},
		{"o4", 200_000, 0},
		{"", openaiWindow, 0},
	}
)

// limitsOf returns the limits of a model. The config overrides the table.
func limitsOf(c Config) limits {
	table := openaiLimits
	switch c.Provider {
	case ProviderAnthropic:
		table = anthropicLimits
	case ProviderOffline:
		table = []limits{{"", offlineWindow, 0}}
	}
	found := limits{}
	for _, l := range table {
		if strings.HasPrefix(c.Name, l.prefix) {
			found = l
			break
		}
	}
	if c.Window > 0 {
		found.window = c.Window
	}
	return found
}

// Estimate returns about how many tokens messages have: a quarter of their bytes, which is close
// for English and code, and a constant for each message. Callers use it to decide when to compact.
func Estimate(messages []Message) int {
	n := 0
	for _, m := range messages {
		n += perMessage + tokens(m.Content)
		for _, c := range m.ToolCalls {
			n += perMessage + tokens(c.Name) + tokens(c.Arguments)
		}
	}
	return n
}

// Estimate returns about how many tokens the request has, with tools and system prompt.
func (r *Request) Estimate() int {
	n := tokens(r.System) + Estimate(r.Messages)
	for _, t := range r.Tools {
		n += perMessage + tokens(t.Name) + tokens(t.Description) + tokens(t.Parameters)
	}
	return n
}

// perMessage is about how many tokens a message costs in addition to its text: its role and its
// separators.
const perMessage = 4

func tokens[T ~string | ~[]byte](s T) int { return (len(s) + 3) / 4 }
