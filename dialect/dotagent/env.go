package dotagent

import (
	"path"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/dialect"
)

// secret are the variables that no plugin inherits. dotagent plugins see their
// host's environment, "as theirs always did, less Patchbay's own secrets and
// model keys": a sink may need NOTION_API_KEY, but what pays for the model is the
// host's own affair. These are the names under which model providers' programs
// look for their keys.
var secret = []string{
	"PATCHBAY_*",
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_ADMIN_KEY", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
	"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY", "CODEX_API_KEY",
	"GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "XAI_API_KEY",
	"DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY",
	"COHERE_API_KEY", "PERPLEXITY_API_KEY", "OLLAMA_API_KEY",
}

// narrowed is what a plugin still gets where the configuration lists its
// environment: it finds programs and its own files.
var narrowed = []string{"PATH", "HOME"}

// environment is what a plugin sees. passed is the configuration's list: nil is
// none, and then it is everything but secrets.
func environment(env dialect.Env, passed []string) []string {
	if passed != nil {
		return env.Pick(append(slices.Clone(narrowed), passed...))
	}
	values := make(map[string]string)
	for _, v := range env.Vars {
		if name, _, ok := strings.Cut(v, "="); ok && !isSecret(name) {
			values[name] = v // the last of a name counts
		}
	}
	vars := make([]string, 0, len(values))
	for _, v := range values {
		vars = append(vars, v)
	}
	slices.Sort(vars)
	return vars
}

func isSecret(name string) bool {
	return slices.ContainsFunc(secret, func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ToUpper(name)) // Windows does not tell cases apart
		return ok && err == nil
	})
}
