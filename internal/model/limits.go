package model

import "strings"

// The windows of models that nothing is known of. Every model of Anthropic's has at least 200,000
// tokens; of compatible servers most are set up for 128k.
const (
	anthropicWindow = 200_000
	openaiWindow    = 128_000
	offlineWindow   = 128_000
)

// anthropicOutput is what a reply may have where the request does not say: Anthropic wants a
// number, and takes no more than the model can. Thinking counts.
const anthropicOutput = 32_000

// limits are what a model can take and give, in tokens.
type limits struct {
	prefix string
	window int
	output int // 0: need not be said
}

// Known models, from their providers' model pages; the first prefix that fits counts.
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

// limitsOf looks a model up. What the config says goes before what is known.
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

// Estimate is about how many tokens messages have: a quarter of their bytes, which is near the
// truth for English and code and on the safe side for neither, plus what the frame of a message
// costs. It is for deciding when to compact.
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

// Estimate is about how many tokens the request has, tools and system prompt too.
func (r *Request) Estimate() int {
	n := tokens(r.System) + Estimate(r.Messages)
	for _, t := range r.Tools {
		n += perMessage + tokens(t.Name) + tokens(t.Description) + tokens(t.Parameters)
	}
	return n
}

// perMessage is what the frame of a message costs, about: its role and its marks.
const perMessage = 4

func tokens[T ~string | ~[]byte](s T) int { return (len(s) + 3) / 4 }
