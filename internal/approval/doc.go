// Package approval remembers which commands the person lets the agent's shell run without a
// question, by project.
//
// A [Rule] is one command line exactly, or the first words of one. A prefix is compared with the
// words of a simple command, never with text: a line that a shell would take for anything else than
// one program and its arguments matches no prefix. What may follow a prefix that was offered is
// known for each program (programs.go), so that options which run other programs, write files or
// reach out of the project are asked about. Only prefixes that the person has typed let any
// argument follow.
//
// The rules are kept in one file of the user's state directory, under the path of the project. A
// repository cannot bring rules of its own.
//
// It is not a sandbox, and decides about no other tool than the shell.
//
//	Project.Judge         store.go: a call of the shell
//	  Command             rule.go: the command line in its arguments
//	  Project.Allows      the rules as they are on disk now
//	    Rule.Allows
//	      Words           words.go: one simple command, or nothing
//	      program.takes   programs.go: what may follow a prefix
//	  Offer               what could be remembered of it
package approval
