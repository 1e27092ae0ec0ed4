// Package cli is the command patchbay: its verbs, what they print, and the codes they exit with. It
// holds no plugin logic; each verb is a few calls to a [patchbay.Host] and a way to show the
// answer.
//
//	Main                    main.go      one command line, from arguments to exit code
//	  newRootCommand        root.go      the tree of commands and the global flags
//	    new…Command         cmd_*.go     one file a verb: its flags, help and run function
//	      app.withHost      host.go      opens what the verb needs, and closes it again
//	      app.jsonFlag      input.go     JSON from a flag, a file or stdin
//	      app.printJSON     output.go    the --json side of every verb
//	      render.…                       the human side
//	  app.report            exit.go      THE place where errors become messages and exit codes
//
// Results go to stdout, everything else to stderr. With --json a result is one JSON value on
// stdout, and whenever the exit code is not 0 the last line of stderr is one object
// {"error":{"kind","message","fix"}}.
package cli
