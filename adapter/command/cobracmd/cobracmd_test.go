package cobracmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a host whose plugins are functions of the test. It remembers the events that were fired.
type host struct {
	hook.Bus
	fired []string
}

func (h *host) Fire(ctx context.Context, p hook.Point, payload any) (*hook.Outcome, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	out, err := h.Bus.Fire(ctx, p, raw)
	_, shown, _ := strings.Cut(string(raw), `"command":`)
	shown, _, _ = strings.Cut(shown, `,"timestamp"`)
	h.fired = append(h.fired, string(p)+" "+shown)
	return out, err
}

func (h *host) Wants(p hook.Point, payload any) bool {
	raw, err := json.Marshal(payload)
	return err == nil && h.Bus.Wants(p, raw)
}

func plugin(p hook.Point, field, raw string) hook.Hook {
	return hook.Hook{Plugin: "p", Dialect: "mine", Name: "h", Point: p, Call: func(context.Context, *hook.Event) (hook.Reply, error) {
		return hook.Reply{Set: hook.Object{{Name: field, Value: json.RawMessage(raw)}}}, nil
	}}
}

// program is a little Cobra program.
func program(out *bytes.Buffer) *cobra.Command {
	root := &cobra.Command{Use: "app", SilenceUsage: true, SilenceErrors: true}
	todo := &cobra.Command{Use: "todo"}
	var tags string
	add := &cobra.Command{Use: "add TEXT", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		if args[0] == "fail" {
			return errors.New("no room")
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "added %s [%s]\n", args[0], tags)
		return err
	}}
	add.Flags().StringVar(&tags, "tags", "", "")
	list := &cobra.Command{Use: "list", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %v\n", cmd.Flag("owner").Value, cmd.Flag("only").Value)
		return err
	}}
	list.Flags().String("owner", "", "")
	list.Flags().StringSlice("only", nil, "")
	if err := list.MarkFlagRequired("owner"); err != nil {
		panic(err)
	}
	todo.AddCommand(list)
	count := &cobra.Command{Use: "count", RunE: func(cmd *cobra.Command, _ []string) error { return SetResult(cmd, map[string]int{"n": 3}) }}
	halfway := &cobra.Command{Use: "halfway", RunE: func(cmd *cobra.Command, _ []string) error {
		cmd.Print("half ", cmd.Flag("file").Value)
		return errHalfway
	}}
	root.PersistentFlags().StringP("file", "f", "", "")
	todo.AddCommand(add, count, halfway)
	says := func(use string) *cobra.Command {
		return &cobra.Command{Use: use, RunE: func(cmd *cobra.Command, args []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Name(), args)
			return err
		}}
	}
	shelf := says("shelf") // has subcommands, and can be run itself
	shelf.Args = cobra.ArbitraryArgs
	shelf.AddCommand(says("clear"), says("help"), says("completion"))
	root.AddCommand(todo, shelf, says("__drop"))
	root.SetOut(out)
	root.SetErr(out)
	return root
}

var errHalfway = errors.New("only half of it")

func execute(t *testing.T, args string, hooks ...hook.Hook) (string, *host, error) {
	t.Helper()
	h := new(host)
	h.Failures = dialect.Failures
	if err := h.Set(hooks); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := Execute(t.Context(), program(&out), strings.Fields(args), h)
	return out.String(), h, err
}

func TestFourStages(t *testing.T) {
	out, h, err := execute(t, "todo add milk --tags a")
	if err != nil || out != "added milk [a]\n" {
		t.Fatalf("%q, %v", out, err)
	}
	want := []string{
		`command.validate "todo.add","args":["milk","--tags","a"],"flags":{"tags":"a"},"result":null`,
		`command.before "todo.add","args":["milk"],"flags":{"tags":"a"},"result":null`,
		`command.after "todo.add","args":["milk"],"flags":{"tags":"a"},"result":null`,
		`command.done "todo.add","args":["milk"],"flags":{"tags":"a"},"result":null`,
	}
	if got := strings.Join(h.fired, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("fired\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestPluginsChangeACommand(t *testing.T) {
	for _, c := range []struct {
		rule, args, want string
		hook             hook.Hook
	}{
		{"raw arguments before they are parsed", "todo add milk", "added milk [x]\n", plugin(hook.CommandValidate, "args", `["milk","--tags","x"]`)},
		{"flags before they are parsed", "todo add milk", "added milk [v]\n", plugin(hook.CommandValidate, "flags", `{"tags":"v","unknown":"z"}`)},
		{"flags before they are parsed, instead of those that were typed", "todo add milk --tags a", "added milk [v]\n", plugin(hook.CommandValidate, "flags", `{"tags":"v"}`)},
		{"a typed flag that no plugin changes", "todo add milk --tags a", "added milk [a]\n", plugin(hook.CommandValidate, "flags", `{"tags":"a","mood":"good"}`)},
		{"a word after a dash-dash is not a flag", "todo add -- --tags=a", "added --tags=a [v]\n", plugin(hook.CommandValidate, "flags", `{"tags":"v"}`)},
		{"a flag that is required may come from a plugin", "todo list", "ada []\n", plugin(hook.CommandValidate, "flags", `{"owner":"ada"}`)},
		{"a list that was typed is replaced", "todo list --owner ada --only a", "ada [b,c]\n", plugin(hook.CommandValidate, "flags", `{"only":"b,c"}`)},
		{"a list is replaced after it was parsed", "todo list --owner ada --only a", "ada [b,c]\n", plugin(hook.CommandBefore, "flags", `{"owner":"ada","only":"[b,c]"}`)},
		{"flags after they are parsed", "todo add milk", "added milk [y]\n", plugin(hook.CommandBefore, "flags", `{"tags":"y","unknown":"z"}`)},
		{"arguments after they are parsed", "todo add milk", "added bread []\n", plugin(hook.CommandBefore, "args", `["bread"]`)},
		{"the output", "todo add milk", "done\n", plugin(hook.CommandAfter, "result", `"done\n"`)},
		{"the command's own value", "todo count", "{\"n\":4}\n", plugin(hook.CommandAfter, "result", `{"n":4}`)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if out, _, err := execute(t, c.args, c.hook); err != nil || out != c.want {
				t.Errorf("%q, %v; want %q", out, err, c.want)
			}
		})
	}
}

// TestAnotherCommandIsNotRun: Cobra can run only the command that was typed. If a plugin changes
// its name, it does not run, because the plugins that check it may not have been called.
func TestAnotherCommandIsNotRun(t *testing.T) {
	for _, point := range []hook.Point{hook.CommandValidate, hook.CommandBefore} {
		out, _, err := execute(t, "todo add milk", plugin(point, "command", `"todo.list"`))
		want := fmt.Sprintf(`plugin p (mine) h at %s changed the command todo.add to "todo.list", which cannot be run in its place; let it change args and flags, or refuse the command`, point)
		if err == nil || err.Error() != want || out != "" {
			t.Errorf("%s: %q, %v; want %s", point, out, err, want)
		}
	}
}

// TestOtherWordsNameAnotherCommand: Cobra takes the first argument of a command for a subcommand.
// The plugins that check the subcommand have not been called, so it does not run.
func TestOtherWordsNameAnotherCommand(t *testing.T) {
	out, h, err := execute(t, "shelf", plugin(hook.CommandValidate, "args", `["clear","all"]`))
	want := "plugin p (mine) h at command.validate changed the command shelf to \"shelf.clear\", which cannot be run in its place; let it change args and flags, or refuse the command"
	if err == nil || err.Error() != want || out != "" {
		t.Errorf("%q, %v; want %s; fired %q", out, err, want, h.fired)
	}
	if out, _, err := execute(t, "shelf", plugin(hook.CommandValidate, "args", `["low"]`)); err != nil || out != "shelf [low]\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestCommandsWithTheNamesOfCobras: plugins are called for a program's own commands, whatever their
// names are.
func TestCommandsWithTheNamesOfCobras(t *testing.T) {
	for args, command := range map[string]string{"shelf help": "shelf.help", "shelf completion x": "shelf.completion", "__drop": "__drop"} {
		if out, h, err := execute(t, args); err != nil || len(h.fired) != 4 || !strings.Contains(h.fired[1], strconv.Quote(command)) {
			t.Errorf("%s: %q, %v, fired %q", args, out, err, h.fired)
		}
	}
}

// TestFlagsBeforeTheCommand: flags of the program may come before the words that name a command,
// and between them. A flag may have such a word as its value.
func TestFlagsBeforeTheCommand(t *testing.T) {
	for _, args := range []string{"--file todo todo halfway", "todo --file todo halfway", "todo halfway --file todo", "-f todo todo halfway"} {
		out, h, err := execute(t, args)
		if !errors.Is(err, errHalfway) || out != "half todo" || !strings.HasPrefix(h.fired[1], `command.before "todo.halfway","args":[],"flags":{"file":"todo"}`) {
			t.Errorf("%s: %q, %v, fired %q", args, out, err, h.fired)
		}
	}
}

// TestTheOutputOfACommandThatFails: plugins get what it has printed, and it is shown as they leave
// it, or withheld if they refuse.
func TestTheOutputOfACommandThatFails(t *testing.T) {
	out, h, err := execute(t, "todo halfway", plugin(hook.CommandAfter, "", ""))
	if err != errHalfway || out != "half " || !strings.Contains(h.fired[2], `command.after "todo.halfway","args":[],"flags":{},"result":"half "`) {
		t.Errorf("%q, %v, fired %q", out, err, h.fired)
	}
	if out, _, err := execute(t, "todo halfway", plugin(hook.CommandAfter, "result", `"***"`)); err != errHalfway || out != "***" {
		t.Errorf("%q, %v", out, err)
	}
	broken := plugin(hook.CommandAfter, "", "")
	broken.Dialect = "mine"
	broken.Call = func(context.Context, *hook.Event) (hook.Reply, error) {
		return hook.Reply{}, hook.Failure(hook.Crash, errors.New("boom"))
	}
	if out, _, err := execute(t, "todo halfway", broken); !errors.Is(err, errHalfway) || !errors.Is(err, hook.Crash) || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestTypedFlags: plugins see the flags of a command line before it is parsed.
func TestTypedFlags(t *testing.T) {
	for args, want := range map[string]string{
		"todo add milk":                             `{}`,
		"todo add milk --tags=a --tags b":           `{"tags":"b"}`,
		"todo list --only a --only b,c --owner ada": `{"only":"[a,b,c]","owner":"ada"}`,
		"todo add milk --nonsense --tags a":         `{"tags":"a"}`,
		"todo add -- --tags a":                      `{}`,
	} {
		_, h, _ := execute(t, args)
		if got := h.fired[0]; !strings.Contains(got, `"flags":`+want+`,"result"`) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestFlagsOfPluginsReachTheLaterStages: the later stages get all flags that a plugin adds, also
// those that the program does not know.
func TestFlagsOfPluginsReachTheLaterStages(t *testing.T) {
	_, h, err := execute(t, "todo add milk", plugin(hook.CommandValidate, "flags", `{"tags":"v","mood":"good"}`))
	want := `command.before "todo.add","args":["milk"],"flags":{"mood":"good","tags":"v"},"result":null`
	if err != nil || h.fired[1] != want {
		t.Errorf("%v, fired\n%s\nwant\n%s", err, h.fired[1], want)
	}
}

// TestAFlagOfAPluginThatCobraRefuses: the error names the flag.
func TestAFlagOfAPluginThatCobraRefuses(t *testing.T) {
	bad := plugin(hook.CommandValidate, "args", `["--tags"]`)
	if _, _, err := execute(t, "todo add milk", bad); err == nil || !strings.Contains(err.Error(), "--tags") {
		t.Errorf("%v", err)
	}
}

func TestCobraReportsItsOwnErrorsAndHelp(t *testing.T) {
	if _, h, err := execute(t, "todo add"); err == nil || !strings.Contains(err.Error(), "accepts 1 arg") || len(h.fired) != 2 {
		t.Errorf("%v, fired %q", err, h.fired)
	}
	if _, h, err := execute(t, "todo nothing"); err != nil || len(h.fired) != 0 {
		t.Errorf("%v, fired %q", err, h.fired)
	}
	if out, h, err := execute(t, "help todo"); err != nil || !strings.Contains(out, "add") || len(h.fired) != 0 {
		t.Errorf("%q, %v, fired %q", out, err, h.fired)
	}
	if _, _, err := execute(t, "todo add fail"); err == nil || err.Error() != "no room" {
		t.Errorf("the command's own error: %v", err)
	}
}

// TestAPluginsFailureIsPrintedOnce: if a plugin fails before or after Cobra is called, the error is
// printed once.
func TestAPluginsFailureIsPrintedOnce(t *testing.T) {
	for _, point := range []hook.Point{hook.CommandValidate, hook.CommandBefore} {
		h := new(host)
		broken := plugin(point, "", "")
		broken.Dialect = "mine"
		broken.Call = func(context.Context, *hook.Event) (hook.Reply, error) {
			return hook.Reply{}, hook.Failure(hook.Unavailable, errors.New("its program is missing"))
		}
		h.Failures = dialect.Failures
		if err := h.Set([]hook.Hook{broken}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		root := program(&out)
		root.SilenceErrors = false
		err := Execute(t.Context(), root, []string{"todo", "add", "milk"}, h)
		if !errors.Is(err, hook.Unavailable) || strings.Count(out.String(), "its program is missing") != 1 {
			t.Errorf("%s: %v, printed %q", point, err, out.String())
		}
	}
}

func TestARefusalNamesThePlugin(t *testing.T) {
	deny := plugin(hook.CommandBefore, "", "")
	deny.Call = func(context.Context, *hook.Event) (hook.Reply, error) {
		return hook.Reply{Verdict: hook.Deny, Reason: "not on Sundays"}, nil
	}
	out, _, err := execute(t, "todo add milk", deny)
	refused, ok := errors.AsType[*command.Refused](err)
	if !ok || refused.Plugin != "p" || refused.Reason != "not on Sundays" || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}
