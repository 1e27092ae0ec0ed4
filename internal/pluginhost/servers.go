package pluginhost

import (
	"errors"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/mcp"
)

// find lists the plugins of a dialect: the user's own, then those of a trusted project.
func (s *setup) find(d dialect.Dialect) []dialect.Found {
	return append(s.installed(d), s.projectPlugins(d)...)
}

// installed lists the user's own plugins. MCP servers come from the configuration, all others from
// their dialect's places.
func (s *setup) installed(d dialect.Dialect) []dialect.Found {
	if d.Name() != mcp.Name {
		return d.Find(s.env)
	}
	var found []dialect.Found
	for _, m := range s.config.MCP {
		found = append(found, s.server(m).Found())
	}
	return found
}

// server returns one [[mcp]] table with its secrets filled in.
func (s *setup) server(m config.MCP) *mcp.Server {
	out := &mcp.Server{Name: m.Name, Command: m.Command, URL: m.URL, Prefix: m.Prefix}
	var errs []error
	fill := func(what string, texts map[string]string) map[string]mcp.Hidden {
		filled := make(map[string]mcp.Hidden, len(texts))
		for name, text := range texts {
			value, err := s.expand(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s.%s: %w", what, name, err))
			}
			filled[name] = func() string { return value }
		}
		return filled
	}
	out.Env, out.Headers = fill("env", m.Env), fill("headers", m.Headers)
	if own := s.sections(namesOf(out.Found()), census{namesOf(out.Found())}); m.URL != "" {
		if grants, _ := own.granted(); grants != nil {
			errs = append(errs, dialect.WithFix(errors.New("it has capabilities, but nothing can enforce them for a server at a url"),
				fmt.Sprintf("remove capabilities from [plugins.%s]", m.Name)))
		}
	}
	out.Err = errors.Join(errs...)
	return out
}

// expand replaces ${NAME} by the secret of that name, or else by the environment variable; $${
// stands for ${ itself. An error names the secret, never its value.
func (s *setup) expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(before)
			return out.String(), nil
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("has a ${ without a } (write $${ for the characters themselves)")
		}
		secret, ok := s.secrets.Lookup(name)
		value := secret.Reveal()
		if !ok {
			value = s.env.Get(name)
		}
		if value == "" {
			return "", dialect.WithFix(fmt.Errorf("the secret %.64q is neither in the secrets file nor in the environment", name),
				fmt.Sprintf("write it into %s", s.dirs.SecretsFile))
		}
		out.WriteString(before + value)
		text = rest
	}
}

// sameServer reports whether the table of an MCP server equals the one it was opened with. It is
// true for all other plugins.
func sameServer(a, b dialect.Found) bool {
	one, ok := a.Manifest.(*mcp.Server)
	other, both := b.Manifest.(*mcp.Server)
	return !ok || !both || one.Same(other)
}
