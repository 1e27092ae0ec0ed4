package daemon

import "github.com/patchbay-dev/patchbay/internal/projectfiles"

// Instructions returns the project's AGENTS.md as it is now, or nothing if it is turned off.
func (c *Core) Instructions(root string) projectfiles.Agents {
	if c.options.Load().NoAgentsMD || c.Config().Chat.NoAgentsMD {
		return projectfiles.Agents{}
	}
	agents := projectfiles.In(c.Dirs).Agents(root)
	if agents.Err != nil {
		c.log.Warn(agents.Banner(), "project", root)
	}
	return agents
}
