// Package projectfiles reads the files of a project for Patchbay: AGENTS.md, prompts and plugins. A
// project may come from anyone, so each of its files is hostile until it is checked: only regular
// files are read, within limits, and no link may lead out of the project.
//
// Text (AGENTS.md, prompts) is read without asking the user, unless the project belongs to another
// user. Plugins are code. They run only after
// the user has trusted them, from a copy that was made before the user was asked:
// docs/decisions/0024-project-plugins-are-copied.md.
//
// The package starts no process, does not ask the user, and does not know the dialects. Package cli
// shows the result of [Store.Stage] and asks the user. Package pluginhost opens the plugins of
// [Status.Copy]. Package config reads the project's config.toml.
//
//	Store.Look            the state of a project: none, untrusted, changed, trusted, declined, refused
//	└─ take               if the project has a record
//	   ├─ survey          kinds, names, links, sizes; reads no file
//	   └─ trust.Take      hashes
//	Store.Stage           a private copy, hashed, to show to the user
//	├─ survey
//	├─ Staged.Trust       puts the copy in place and records it
//	└─ Staged.Decline     records that the user declined exactly this content
//	Store.Agents          the text of AGENTS.md
//	Store.Prompts         .patchbay/prompts/NAME.md
package projectfiles
