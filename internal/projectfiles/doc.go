// Package projectfiles reads what a project brings along for Patchbay: AGENTS.md, prompts and
// plugins. A project comes from somebody else, so every file of it is hostile until it is checked:
// only regular files are read, within bounds, and no link leads out of the project.
//
// Text (AGENTS.md, prompts) is read as it is. Plugins are code. They are used only after a person
// has trusted them, and what runs then is a copy made before the person was asked:
// docs/decisions/0024-project-plugins-are-copied.md.
//
// It starts nothing and asks nobody: package cli shows what [Store.Stage] found and asks, package
// pluginhost opens the plugins of [Status.Copy]. It does not know dialects. The project's
// config.toml is read by package config.
//
//	Store.Look            how a project stands: none, untrusted, changed, trusted, declined, refused
//	├─ survey             kinds, names, links, sizes; nothing is read
//	└─ trust.Take         hashes, where something was recorded for this project
//	Store.Stage           a private copy, hashed, to be shown
//	├─ Staged.Trust       the copy is put in place and recorded
//	└─ Staged.Decline     the person said no to exactly this content
//	Store.Agents          the text of AGENTS.md
//	Store.Prompts         .patchbay/prompts/NAME.md
package projectfiles
