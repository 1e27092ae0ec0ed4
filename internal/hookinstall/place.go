package hookinstall

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// A Place is the file in which an agent reads its hooks.
type Place struct {
	Agent   codehook.Agent
	Project bool   // the file of a project, not the user's
	Dir     string // the user's home, the project, or the directory that the agent's variable names; if the file is a link, the directory of the file it leads to
	Name    string // below Dir, with slashes
}

// Path returns the path of the file.
func (p Place) Path() string { return filepath.Join(p.Dir, filepath.FromSlash(p.Name)) }

// ErrAgent is wrapped by the error for an unknown agent.
var ErrAgent = errors.New("no such agent")

// A layout says where an agent reads its hooks.
type layout struct {
	user     string // below the home directory
	project  string // below a project's root
	variable string // the name of an environment variable of the agent; if it is set, its value replaces base
	base     string // such as ".claude", the first directory of the path in user
}

var layouts = map[codehook.Agent]layout{
	codehook.Claude:   {user: ".claude/settings.json", project: ".claude/settings.json", variable: "CLAUDE_CONFIG_DIR", base: ".claude"},
	codehook.Codex:    {user: ".codex/hooks.json", project: ".codex/hooks.json", variable: "CODEX_HOME", base: ".codex"},
	codehook.Gemini:   {user: ".gemini/settings.json", project: ".gemini/settings.json"},
	codehook.Copilot:  {user: ".copilot/hooks/patchbay.json", project: ".github/hooks/patchbay.json", variable: "COPILOT_HOME", base: ".copilot"},
	codehook.Qwen:     {user: ".qwen/settings.json", project: ".qwen/settings.json"},
	codehook.Cursor:   {user: ".cursor/hooks.json", project: ".cursor/hooks.json"},
	codehook.OpenCode: {user: ".config/opencode/plugins/patchbay.js", project: ".opencode/plugins/patchbay.js", variable: "XDG_CONFIG_HOME", base: ".config"},
}

// Find returns the file in which an agent reads its hooks: the user's, or the project's if project
// is not "".
func Find(agent codehook.Agent, home, project string, getenv func(string) string) (Place, error) {
	l, ok := layouts[agent]
	if !ok {
		return Place{}, fmt.Errorf("%w: %.64q", ErrAgent, string(agent))
	}
	if project != "" {
		return Place{Agent: agent, Project: true, Dir: project, Name: l.project}, nil
	}
	return l.place(agent, l.user, home, getenv)
}

// place returns the user's file with this name. It is below the home directory, or below the
// directory that the agent's variable names.
func (l layout) place(agent codehook.Agent, name, home string, getenv func(string) string) (Place, error) {
	if l.variable != "" {
		if dir := getenv(l.variable); filepath.IsAbs(dir) {
			rest, err := filepath.Rel(l.base, filepath.FromSlash(name))
			return followLink(Place{Agent: agent, Dir: dir, Name: filepath.ToSlash(rest)}), err
		}
	}
	if home == "" {
		return Place{}, errors.New("there is no home directory: set HOME, or install into a project with --project")
	}
	return followLink(Place{Agent: agent, Dir: home, Name: name}), nil
}

// followLink returns the place that a symbolic link leads to, because some users keep such files
// elsewhere. A link of a project is not followed: it came with the project.
func followLink(p Place) Place {
	if real, err := filepath.EvalSymlinks(p.Path()); err == nil && real != p.Path() {
		p.Dir, p.Name = filepath.Dir(real), filepath.Base(real)
	}
	return p
}
