package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/attach"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// chatFlags holds the flags of chat.
type chatFlags struct {
	modelFlags
	prompt  string
	plugins []string
	resume  string
	last    bool // --continue
	yes     bool
	stream  bool

	expanded bool // the prompt is one of the project's prompts
}

// Values of --resume that are not ids: ids never contain the letters i, l, o and u.
const (
	resumeChosen = "(choose)" // --resume without an id: the user chooses a session
	resumeLast   = "(last)"   // --continue
)

// maxPrompt limits a prompt from stdin. It is more than any model reads.
const maxPrompt = 8 << 20

func newChatCommand(a *app) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:        "chat",
		SuggestFor: []string{"agent", "ask"},
		Short:      "Talk to the agent, through your plugins",
		GroupID:    groupAgent,
		Long: `Talk to the agent. Every message goes through your plugins, a model and tools.
In the conversation, /plugins lists the plugins that take part, /trace shows
what each of them changed, and /help lists all commands.

The model is set by --model, by $PATCHBAY_MODEL, or by [model] in the
configuration. Without one, a built-in offline model answers: it echoes, or
plays a script. Keys come from the environment (ANTHROPIC_API_KEY,
OPENAI_API_KEY) or from secrets.toml.

AGENTS.md in the root of the project is part of the prompt; --no-agents-md
leaves it out. If the project has plugins, you are asked once, on a terminal,
whether to trust them: see ` + "`patchbay project`" + `.

A message that begins with /NAME sends the prompt in the project's file
.patchbay/prompts/NAME.md. If there is no such file, the message goes to the
plugins that hook turn.input, which may treat it as a command. Without such
plugins, ` + "`patchbay chat -p /NAME`" + ` fails. Put a space before the slash to send
the text to the model.

@path in a prompt attaches that file of the working directory. In the
conversation, !command runs a command of your own, Ctrl+R searches your earlier
messages, and Ctrl+G opens the message in $VISUAL or $EDITOR.

Tools that change things (shell, write_file, edit_file) ask first. Press p at
the question to approve a command for this project: see ` + "`patchbay approvals`" + `.
With -p you are not asked: approved commands run, and everything else that
changes things needs --yes, or [chat] approve = "auto".`,
		Example: `  patchbay chat
  patchbay chat -p 'what changed in this repository today?'
  patchbay chat -p 'explain @go.mod'
  git diff | patchbay chat -p 'review this:' --json
  patchbay chat -p 'explain this' --json --stream | jq -r 'select(.type == "text") | .text'
  patchbay chat --continue
  patchbay chat --resume
  patchbay chat --resume 01m7ewsr29 -p 'and now?'`,
		Annotations: exits(exit{exitOK, "the answer was printed"}, exit{exitFailed, "the model failed, or a plugin failed and ended the turn"},
			exit{exitRefused, "a plugin refused or dropped the message"},
			exit{exitNotFound, "no such session or python plugin"}, exit{exitConfig, "the configuration has an error"},
			exit{exitInterrupted, "interrupted; the session is stored"}),
		Args: f.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runChat(cmd.Context(), f, cmd.Flags().Changed("prompt"))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.prompt, "prompt", "p", "", "send this `PROMPT`, print the answer and exit; stdin is appended (- sends only stdin)")
	flags.StringSliceVar(&f.plugins, "plugins", nil, "use only these python plugins, in this order: `NAME,…` (default: all)")
	flags.StringVar(&f.resume, "resume", "", "continue the session with this `ID`; without ID, choose one on the terminal")
	flags.Lookup("resume").NoOptDefVal = resumeChosen
	flags.BoolVarP(&f.last, "continue", "c", false, "continue the session of this directory that was used last")
	a.completeResume(cmd, &f)
	flags.BoolVar(&f.stream, "stream", false, "with -p and --json: print each event as a line of JSON when it happens, and the result as the last line")
	flags.BoolVar(&f.noAgents, "no-agents-md", false, "do not add the project's AGENTS.md to the prompt")
	flags.BoolVar(&f.yes, "yes", false, "let tools change things without asking")
	f.add(cmd)
	return cmd
}

// arguments accepts `--resume ID` without an equals sign, which cobra requires for an optional
// value.
func (f *chatFlags) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case f.last && f.resume != "":
		return usage("leave one of them out", "%s: --continue and --resume cannot be used together: each names a session", cmd.CommandPath())
	case f.last:
		f.resume = resumeLast
	}
	if f.resume == resumeChosen && len(args) == 1 {
		f.resume = args[0]
		return nil
	}
	if len(args) > 0 {
		return usage("to ask something: patchbay chat -p '"+strings.Join(args, " ")+"'", "%s: unexpected argument %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func (a *app) runChat(ctx context.Context, f chatFlags, once bool) error {
	terminal := a.InTTY && a.OutTTY && !a.flags.json
	if f.stream && !a.flags.json {
		return usage("add --json", "chat: --stream needs --json: it prints events as JSON. On a terminal, -p without --stream shows the answer as it comes")
	}
	if f.resume == resumeChosen && (once || !terminal || a.dumb()) {
		return usage("--continue continues the last session of this directory; `patchbay session list` lists the ids",
			"chat: --resume needs the ID of a session, because only a conversation shows a list to choose from, on a terminal that Patchbay can draw on")
	}
	if text, ok := a.expandPrompt(f.prompt); ok {
		f.prompt, f.expanded = text, true
	}
	prompt, err := a.prompt(ctx, f, once, terminal)
	if err != nil {
		return err
	}
	if prompt == "" {
		if err := a.askProject(ctx); err != nil {
			return err
		}
	}
	if prompt == "" && !a.dumb() { // the conversation uses the screen, so the log goes to a file
		dirs, err := config.Locate(a.getenv, runtime.GOOS)
		if err != nil {
			return err
		}
		file, err := openLog(dirs.State, "chat.log")
		if err != nil {
			return err
		}
		defer file.Close()
		a.log = longLog(file)
	}
	return a.withCore(ctx, f.modelFlags, func(core *daemon.Core) error {
		if err := refuseUnknownCommand(core, f); err != nil {
			return err
		}
		c, err := a.openConversation(ctx, core, f)
		if err != nil {
			return err
		}
		if prompt != "" {
			if hint := modelHint(core); hint != "" && !a.flags.json {
				a.tellf("%s\n", hint)
			}
			return a.printTurn(ctx, c, a.attached(c, f.prompt, prompt), f.stream)
		}
		if a.dumb() {
			return a.runLines(ctx, c)
		}
		return a.runTUI(ctx, c)
	})
}

// prompt returns the text to send, or "" for a conversation on the terminal.
func (a *app) prompt(ctx context.Context, f chatFlags, once, terminal bool) (string, error) {
	if !once && terminal {
		return "", nil
	}
	if !once && a.InTTY {
		return "", usage("write the prompt with -p PROMPT", "chat: a conversation needs a terminal to show it on")
	}
	text := f.prompt
	if !a.InTTY && a.In != nil {
		input, err := interruptible(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.In, maxPrompt+1)) })
		if err != nil {
			return "", err
		}
		if len(input) > maxPrompt {
			return "", usage("send less", "chat: stdin has more than %d bytes", maxPrompt)
		}
		if text == "-" {
			text = ""
		}
		text = strings.TrimSpace(text + "\n\n" + string(input))
	}
	if text == "" {
		return "", usage("write the prompt with -p PROMPT", "chat: the prompt is empty")
	}
	return text, nil
}

// refuseUnknownCommand refuses a prompt that begins with a command if no plugin could handle it. A
// model does not know such commands, and the user may have misspelt it. Input from a pipe is not
// checked, because it may begin with anything.
func refuseUnknownCommand(core *daemon.Core, f chatFlags) error {
	name, near := tui.CommandOf(f.prompt)
	if name == "" || f.expanded || core.Alters("", f.plugins, hook.TurnInput) {
		return nil
	}
	fix := "to send it to the model, put a space before it: -p ' " + name + "'"
	switch {
	case near == name:
		fix = "it is a command of `patchbay chat` on a terminal; " + fix
	case near != "":
		fix = "did you mean " + near + ", a command of `patchbay chat` on a terminal? " + fix
	}
	return usage(fix, "chat: no plugin takes the command %s", excerpt.Of(name, 80))
}

// openConversation opens the session that the flags ask for.
func (a *app) openConversation(ctx context.Context, core *daemon.Core, f chatFlags) (*conversation, error) {
	c := &conversation{core: core, home: a.getenv("HOME"), log: a.logger(), plugins: f.plugins}
	if err := c.checkPluginNames(ctx); err != nil {
		return nil, err
	}
	c.approve = approver(core.Config().Chat.Approve, f.yes, &c.asks)
	var err error
	switch f.resume {
	case "":
		c.session, err = c.create(ctx)
	case resumeLast:
		c.session, err = core.Sessions.Last(ctx, core.Dir())
	case resumeChosen:
		err = a.pickSession(ctx, c)
	default:
		c.session, err = c.find(ctx, f.resume)
	}
	if err == nil {
		err = c.remember(a.approvals)
	}
	if err != nil {
		return nil, sessionProblem(err, "`patchbay session list` lists the sessions; without "+f.flag()+" a new one begins")
	}
	return c, nil
}

// approver returns the approver for tools that change things. If the user has to be asked, it sets
// *asks to the approver that asks on the terminal.
func approver(configured config.Approve, yes bool, asks **tui.Approver) chat.Approver {
	switch {
	case configured == config.ApproveDeny:
		return daemon.Deny("the configuration does not allow tools that change things")
	case yes || configured == config.ApproveAuto:
		return nil
	}
	*asks = tui.NewApprover()
	return (*asks).Approve
}

// runTUI runs the conversation on a terminal.
func (a *app) runTUI(ctx context.Context, c *conversation) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // SIGHUP means that the terminal was closed
	defer stop()
	err := tui.Run(ctx, c, tui.Options{In: a.In, Out: a.Out, NoColor: !a.colors(), Approver: c.asks, Logger: a.logger(),
		HistoryFile: filepath.Join(c.core.Dirs.State, "chat_history"), Edit: a.editMessage, Hint: modelHint(c.core),
		Prompts: c.promptCommands, Banner: c.banner, Short: a.place})
	return errors.Join(err, c.end(context.WithoutCancel(ctx)))
}

// attached returns a prompt with the files that it mentions. Input from a pipe is not searched for
// mentions, because it may contain any @.
func (a *app) attached(c *conversation, typed, prompt string) string {
	m := attach.Compose(c.Session().WorkingDir, prompt, attach.Mentions(typed))
	for _, left := range m.Left {
		if !a.flags.json {
			fmt.Fprintln(a.Err, render.Line(left))
		}
	}
	return m.Text
}

// printTurn sends one message and prints its answer.
func (a *app) printTurn(ctx context.Context, c *conversation, prompt string, stream bool) error {
	refused := refusals{remembered: c.remembered}
	if c.asks != nil {
		c.approve = refused.refuse
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, show := a.words(), a.printJSON
	observe := w.see
	if stream {
		observe, show = a.eventLines(cancel), a.printLine
	}
	result, err := c.Send(hook.WithCalls(ctx, &w.calls), prompt, observe)
	w.wait.end()
	if result == nil {
		return err
	}
	if a.flags.json {
		if jsonErr := show(result); jsonErr != nil {
			return jsonErr
		}
	} else if w.out != nil {
		w.finish(result.Text)
	} else if result.Text != "" {
		a.printf("%s\n", result.Text)
	}
	if len(refused.tools) > 0 && !a.flags.json {
		a.tellf("not run: %s; --yes lets tools change things\n", strings.Join(refused.tools, ", "))
	}
	switch {
	case err != nil:
		return err
	case result.Skipped:
		return &problem{kind: kindRefused, fix: result.Suggest,
			err: fmt.Errorf("the message was not sent: %s", cmp.Or(result.Reason, "a plugin dropped it"))}
	}
	return nil
}

// refusals collects the tools that were not run because there was no terminal to ask on.
type refusals struct {
	mu    sync.Mutex // protects tools: several may be called at the same time
	tools []string

	remembered *approval.Project // the approvals of this project; nil: none
}

// refuse allows approved commands and refuses all others. It is a [chat.Approver].
func (r *refusals) refuse(_ context.Context, t chat.Tool, c model.ToolCall) (chat.Approval, error) {
	if r.remembered != nil {
		if allowed, _, err := r.remembered.AllowsCall(t.Name, t.Plugin, c.Arguments); allowed || err != nil {
			return chat.Approval{Allowed: allowed}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.tools, t.Name) {
		r.tools = append(r.tools, t.Name)
	}
	return chat.Approval{Reason: "tools that change things need --yes if there is no terminal to ask on"}, nil
}

// words returns the observer that shows a turn as it happens.
func (a *app) words() *words {
	w := &words{}
	if a.OutTTY && !a.flags.json {
		w.out = &wordWrap{out: a.out, width: a.Width}
	}
	if a.ErrTTY && !a.flags.json {
		w.remarks = a.Err
	}
	w.wait.line = a.line()
	w.wait.slow = func() string { return tui.SlowPlugin(&w.calls) }
	return w
}

// firstPart returns the beginning of a tool's arguments, enough to recognize the call.
func firstPart(s string) string {
	const most = 100
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
