package cli

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestUsageErrors: for every command, a wrong command line is a usage error with its exit code and
// a fix.
func TestUsageErrors(t *testing.T) {
	many := strings.Fields("a b c d e f")
	lines := [][]string{{"serve", "--install", "--uninstall"}, {"job", "run", "x", "--once", "--attempts", "2"}, {"hook", "install", "claude", "--trust"},
		{"job", "history", "-n", "0"}, {"session", "list", "-n", "0"}, {"trace", "list", "-n", "0"}, {"chat", "-p", "x", "--model", "nobody:x"},
		{"chat", "--model", "nobody:x"}, {"chat", "-p", "x", "--continue", "--resume", "y"}, {"mcp", "install", "nobody"},
		{"hook", "install", "nobody"}, {"fire", "turn.input", "--data", "{"}, {"fire", "turn.input", "--data", "@/no/such/file"}, {"completion", "nobody"},
		{"plugin", "list", "--dialect", "nobody"}, {"serve", "--listen", "localhost:99999"}, {"job", "new", "x", "--at", "7"}, {"hook", "nobody"}}
	for _, c := range manCommands(newRootCommand(&app{})) {
		path := strings.Fields(c.CommandPath())[1:]
		lines = append(lines, slices.Concat(path, []string{"--no-such-flag"}))
		if c.Args != nil && c.Args(c, many) != nil {
			lines = append(lines, slices.Concat(path, many))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "json" && f.Value.Type() != "string" && f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
				lines = append(lines, slices.Concat(path, []string{"--" + f.Name + "=%"}))
			}
		})
	}
	for _, line := range lines {
		std := newConsole(t)
		code := std.run(append(line, "--json")...)
		var told struct{ Error errorJSON }
		if err := json.Unmarshal(std.err.Bytes(), &told); err != nil || code != exitUsage || told.Error.Kind != kindUsage || told.Error.Fix == "" {
			t.Errorf("%q ends with %d: %s", line, code, std.err.String())
		}
	}
}

// TestUsageErrorsAreSentences: errors of the command line say what is wrong in the words of the
// help, not in those of a library.
func TestUsageErrorsAreSentences(t *testing.T) {
	for line, want := range map[string]string{
		"serve logs -n x":                  `error: --lines: "x" is not a whole number` + "\n  fix: write a number, as in --lines 20;",
		"job new x --every 5m":             `error: --every: "5m" is not a whole number` + "\n  fix: write a number of minutes, as in --every 20;",
		"trace record x.trace chat -p hi":  "error: unknown shorthand flag: 'p' in -p\n  fix: write -- before a COMMAND that has flags of its own; `patchbay trace record --help` lists the flags",
		"plugin test python3 x.py --stdio": "error: unknown flag: --stdio\n  fix: write -- before a COMMAND that has flags of its own;",
		"approvals remove":                 "error: patchbay approvals remove: missing COMMAND\n  fix: usage: patchbay approvals remove COMMAND | --all [flags]",
		"plugin test x --timeout soon":     `error: --timeout: "soon" is not a duration` + "\n  fix: write a number and a unit, as in --timeout 90s;",
		"plugin list --json=maybe":         `error: --json: "maybe" is neither true nor false` + "\n  fix: write --json or --json=false;",
		"chat -p":                          "error: -p: the value is missing\n  fix: write -p PROMPT;",
		"serve --listen":                   "error: --listen: the value is missing\n  fix: write --listen HOST:PORT;",
		"job history a b":                  `error: patchbay job history: too many arguments: "b"`,
		"job import a b":                   `error: patchbay job import: too many arguments: "b"`,
		"serve --listen localhost:99999":   `error: --listen "localhost:99999" is not an address` + "\n  fix: write HOST:PORT",
		"plugin list --dialect scafold":    `error: --dialect "scafold": no such dialect` + "\n  fix: did you mean scaffold? it is one of dotagent,",
		"mcp instal":                       `error: unknown command "instal" for "patchbay mcp"` + "\n  fix: did you mean install?",
		"serve install":                    `error: unknown command "install" for "patchbay serve"` + "\n  fix: did you mean `patchbay serve --install`?",
		"serve start":                      "fix: did you mean `patchbay serve`?",
		"uninstall x":                      "fix: did you mean `patchbay plugin remove`?",
		"job stop x":                       "fix: did you mean `patchbay job cancel`?",
		"mcp uninstall claude":             "fix: did you mean `patchbay mcp install --uninstall`?",
		"hook uninstall claude":            "fix: did you mean `patchbay hook install --uninstall`?",
		"resume":                           "fix: did you mean `patchbay chat --resume`?",
		"config show modl":                 "fix: did you mean model?",
		"run nosuchprogram":                "error: cannot start nosuchprogram: it is not in the PATH",
		"mcp install nosuch":               `error: unknown agent "nosuch"` + "\n  fix: it is one of claude,",
		"hook claude-code":                 "fix: did you mean claude?",
		"hook cluade":                      `error: unknown agent or command "cluade" for "patchbay hook"` + "\n  fix: did you mean claude? AGENT is one of claude,",
		"plugin trust nosuch":              "error: plugin nosuch: not found\n  fix: `patchbay plugin list` lists the plugins",
		"chat -p x --resume nosuch":        "error: session not found: \"nosuch\"\n  fix: `patchbay session list` lists the sessions; without --resume a new one begins",
		"chat -p x --script nowhere.yaml":  "nowhere.yaml: no such file or directory\n  fix: name a path that exists",
		"session list -n 0":                "error: --limit 0: want at least 1\n  fix: leave it out to see the last 20 sessions",
		"trace list -n 0":                  "error: --limit 0: want at least 1\n  fix: leave it out to see the last 20 events",
		"trace export --limit 0":           "error: --limit 0: want at least 1\n  fix: leave it out to export the newest 10000 events",
		"engine backup /nowhere/x":         "error: write /nowhere/x: no such file or directory\n  fix: name a path that exists",
	} {
		c := newConsole(t)
		if code := c.run(strings.Fields(line)...); code == exitOK || !strings.Contains(c.err.String(), want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", line, code, want, c.err.String())
		}
	}
}

// TestFlagGroups: flags that cobra declares as required or exclusive cause usage errors too.
func TestFlagGroups(t *testing.T) {
	for _, args := range [][]string{{"--a", "--b"}, {}, {"--a"}} {
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return errors.New("it ran") }}
		for _, name := range []string{"a", "b", "c"} {
			cmd.Flags().Bool(name, false, "")
		}
		cmd.MarkFlagsMutuallyExclusive("a", "b")
		cmd.MarkFlagsRequiredTogether("a", "c")
		if err := cmd.MarkFlagRequired("c"); err != nil {
			t.Fatal(err)
		}
		wrapUsageErrors(cmd)
		cmd.SetArgs(args)
		if err := cmd.Execute(); statedKind(err) != kindUsage || fixOf(err) == "" {
			t.Errorf("%q: %v, %q", args, err, fixOf(err))
		}
	}
}
