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
		{"hook", "install", "nobody"}, {"fire", "turn.input", "--data", "{"}, {"fire", "turn.input", "--data", "@/no/such/file"}, {"completion", "nobody"}}
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
