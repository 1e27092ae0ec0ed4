// Package secretenv knows which variables of the host's environment must not reach child processes:
// Patchbay's own, and the keys of model providers, because the output of a child ends in logs,
// traces and transcripts. Other credentials of the user are not among them: a sink may need
// NOTION_API_KEY, and `git push` a token.
package secretenv

import (
	"slices"
	"strings"
)

// own is the prefix of Patchbay's own variables.
const own = "PATCHBAY_"

// keys are the variables in which the programs of model providers look for their keys.
var keys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_ADMIN_KEY", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
	"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY", "CODEX_API_KEY",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "XAI_API_KEY",
	"DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY",
	"COHERE_API_KEY", "PERPLEXITY_API_KEY", "OLLAMA_API_KEY",
}

// Is reports whether the variable must not reach child processes.
func Is(name string) bool {
	name = strings.ToUpper(name) // Windows ignores case in names
	return strings.HasPrefix(name, own) || slices.Contains(keys, name)
}

// Without returns an environment of "NAME=value" without these variables, and without entries that
// are not variables.
func Without(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, ok := strings.Cut(v, "=")
		return !ok || Is(name)
	})
}

// secretParts are the parts of a variable's name that mark its value as secret.
var secretParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH_KEY"}

// Looks reports whether a variable's name suggests that its value is secret and must not be shown.
// A number in a variable such as MAX_TOKENS is a limit, and no secret: removing secrets from logs
// would remove that number everywhere.
func Looks(name, value string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "TOKENS") && strings.Trim(value, "0123456789") == "" {
		return false
	}
	return slices.Contains(keys, name) || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// Keys returns the names of the model providers' keys that an environment contains.
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
