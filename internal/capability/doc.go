// Package capability reads the strings in which plugins declare what they need, such as
// read:fs:/srv/notes and net:example.org:443. They are those of seed 002, and every dialect's own
// declarations are put in their words.
//
// What it is not: it grants nothing and enforces nothing; see package sandbox.
package capability
