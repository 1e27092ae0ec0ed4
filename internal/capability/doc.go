// Package capability parses the strings in which plugins declare what they need, such as
// read:fs:/srv/notes and net:example.org:443. The strings are those of the kaged protocol
// (docs/protocols/kaged.md, "Capabilities"). Declarations of other dialects are translated into
// them.
//
// The package grants nothing and enforces nothing. Package sandbox enforces the capabilities.
package capability
