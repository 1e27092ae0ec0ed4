package model

// Known lists names of models for --model and /model, the usual choice of each provider first. They
// are for completion: any other name is allowed too, and the provider says whether it exists.
func Known() []string {
	return []string{
		"anthropic:claude-sonnet-4-5", "anthropic:claude-opus-4-1", "anthropic:claude-haiku-4-5",
		"openai:gpt-5", "openai:gpt-5-mini", "openai:gpt-4.1", "openai:gpt-4.1-mini", "openai:gpt-4o", "openai:gpt-4o-mini", "openai:o3", "openai:o4-mini",
		ProviderOffline,
	}
}

// Reachable returns an environment variable that is set and with which a provider can be reached,
// and a model to begin with. It returns "" if none is set. The models of a custom endpoint are not
// known, so its model is NAME.
func Reachable(getenv func(string) string) (variable, suggestion string) {
	for _, s := range []site{anthropicEndpoint, openaiEndpoint} {
		if getenv(s.prefix+"_BASE_URL") != "" {
			return s.prefix + "_BASE_URL", s.provider + ":NAME"
		}
	}
	for _, s := range []site{anthropicEndpoint, openaiEndpoint} {
		if getenv(s.prefix+"_API_KEY") != "" {
			return s.prefix + "_API_KEY", usual(s.provider)
		}
	}
	return "", ""
}

// usual returns the first known model of a provider.
func usual(provider string) string {
	for _, name := range Known() {
		if p, _, err := ParseName(name); err == nil && p == provider {
			return name
		}
	}
	return provider + ":NAME"
}
