// Package approval stores which commands the user lets the agent's shell run without a question, by
// project.
//
// A [Rule] is one exact command line, or the first words of one. A prefix is compared with the
// words of a simple command, never with the raw line. A line matches a prefix only if it is one
// program with its arguments. programs.go says which words may follow an offered prefix. So options
// that run other programs, write files or lead out of the project still need a question. Any
// argument may follow a prefix that the user has typed.
//
// The rules are in one file of the user's state directory, by the path of the project. A repository
// cannot contain rules.
//
// The package is not a sandbox, and decides only about the shell tool.
//
//	Project.AllowsCall    store.go: a call of the shell
//	  Command             rule.go: the command line in its arguments
//	  Project.Allows      the rules that are on disk now
//	    Rule.Allows
//	      Words           words.go: splits one simple command
//	      program.allows  programs.go: what may follow a prefix
//	  Offer               rule.go: the rule that the user could make of the command line
package approval
