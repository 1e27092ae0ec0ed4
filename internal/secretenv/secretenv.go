// Package secretenv knows which variables of the host's environment are its own affair: Patchbay's,
// and the keys that pay for the model. A plugin or a command may need the user's other credentials
// (a sink its NOTION_API_KEY, a push its token), but never these: what a child prints ends in logs,
// traces and transcripts.
package secretenv

import (
	"slices"
	"strings"
)

// own is what Patchbay's own variables begin with.
const own = "PATCHBAY_"

// keys are the names under which model providers' programs look for their keys.
var keys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_ADMIN_KEY", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
	"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY", "CODEX_API_KEY",
	"GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "XAI_API_KEY",
	"DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY",
	"COHERE_API_KEY", "PERPLEXITY_API_KEY", "OLLAMA_API_KEY",
}

// Is tells whether a variable of that name is the host's own affair.
func Is(name string) bool {
	name = strings.ToUpper(name) // Windows does not tell cases apart
	return strings.HasPrefix(name, own) || slices.Contains(keys, name)
}

// Without is an environment of "NAME=value" less what is secret, and less what is no variable.
func Without(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, ok := strings.Cut(v, "=")
		return !ok || Is(name)
	})
}

// telling are the parts of a variable's name that say that its value is secret.
var telling = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH_KEY"}

// Looks tells whether a variable's name says that its value is secret, and must be kept out of what
// others read.
func Looks(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(keys, name) || slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) })
}

// Keys are the names of the models' keys that an environment has.
func Keys(environ []string) []string {
	var names []string
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); value != "" && slices.Contains(keys, strings.ToUpper(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
