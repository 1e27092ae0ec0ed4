// Package cli is the command patchbay: its subcommands, what they print, and their exit codes. It
// contains no plugin logic. Each subcommand makes a few calls to a [pluginhost.Host] or a
// [daemon.Core], and shows the result.
//
// # One command line
//
// [Main] runs one command line and returns its exit code. It gets the streams, the environment and
// the terminal as an [IO], so a test can run a command line without a process:
//
//	var out, err bytes.Buffer
//	std := cli.IO{In: strings.NewReader(""), Out: &out, Err: &err, Environ: []string{"HOME=" + dir}}
//	code := cli.Main(ctx, []string{"plugin", "list", "--json"}, std)
//
// # The call tree
//
//	Main                    main.go      runs the command line under a watchdog (interrupt.go)
//	  newRootCommand        root.go      builds the tree of commands and the global flags
//	    new…Command         cmd_*.go     one file for each command: its flags, help and run function
//	      app.withHost      host.go      opens the plugins that the command needs, and closes them
//	      app.withCore      core.go      opens host, engine, model and agent, and closes them
//	      app.jsonObject    input.go     reads JSON from a flag, a file or stdin
//	      app.printJSON     output.go    prints the result with --json
//	      render.…                       prints the result as text
//	  app.runForeign        cmd_foreign.go   runs a plugin's own command: patchbay PLUGIN COMMAND
//	  app.report            exit.go      prints the error, and returns the exit code
//
// # Adding a command
//
// A command is a file cmd_NAME.go with a function that returns a [cobra.Command]. Its Use names
// every argument in capitals, its Long says what the command does, its Example can be typed as it
// is, and its Annotations list the exit codes with exits. TestHelpIsWhole and TestUsageErrors check
// every command of the tree.
//
// # Output and errors
//
// Results go to stdout, everything else to stderr. With --json a result is one JSON value on
// stdout. If the exit code is not 0, the last line of stderr is then one object
// {"error":{"kind","message","fix"}}.
//
// A run function returns an error and prints none. A [problem] is an error with its kind and its
// fix. The function classify maps every error to a kind and an exit code; no other function does.
package cli
