package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugindev"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A devDesk is `plugin dev` on a terminal.
type devDesk struct {
	*devRun
	session *plugindev.Session
	console *tui.Console
	log     *os.File

	mu      sync.Mutex // protects the fields below
	state   string     // the state of the plugin, for the status line
	style   render.Style
	busy    string // the running command, or ""
	verbose bool
	targets []plugindev.Target
	edited  plugindev.Command // the last command, with the payload as the user edited it
}

// runOnTerminal shows events above a line of keys.
func (d *devRun) runOnTerminal(ctx context.Context) error {
	dirs, err := d.configDirs()
	if err != nil {
		return err
	}
	log, err := openLog(dirs.State, "plugin-dev.log")
	if err != nil {
		return err
	}
	defer log.Close()
	k := &devDesk{devRun: d, log: log, state: devName(d.path) + " is starting", style: render.StyleDim, verbose: d.flags.verbose}
	k.console = &tui.Console{In: d.In, Out: d.Out, NoColor: !d.screen().Color, Status: k.status, Busy: k.doing, Keys: k.keys()}
	if k.session, err = d.start(ctx, k.emit); err != nil {
		return err
	}
	k.console.Print(k.help(false))
	err = k.console.Run(ctx)
	slow := time.AfterFunc(time.Second, func() { fmt.Fprintln(d.Err, "ending the plugin …") })
	closeErr := k.session.Close()
	slow.Stop()
	for _, draw := range k.console.Rest() { // events that came after the last key
		d.printf("%s\n", strings.Join(draw(d.screen()), "\n"))
	}
	if err == nil && ctx.Err() != nil {
		return &problem{kind: kindInterrupted, err: errors.New("interrupted")}
	}
	return errors.Join(err, closeErr)
}

// emit shows an event, and writes it to the log.
func (k *devDesk) emit(e plugindev.Event) {
	k.note(e)
	k.mu.Lock()
	verbose := k.verbose
	k.mu.Unlock()
	k.console.Print(func(o render.Options) []string {
		o.Verbose = verbose
		return plugindev.Lines(e, o)
	})
	lines := plugindev.Lines(e, render.Options{Verbose: true})
	if _, err := io.WriteString(k.log, strings.Join(lines, "\n")+"\n"); err != nil { // the event is shown nevertheless
		k.console.Print(func(render.Options) []string { return []string{"cannot write the log: " + err.Error()} })
	}
}

// note updates the status line after an event.
func (k *devDesk) note(e plugindev.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.Event {
	case plugindev.Ready:
		k.targets, k.style = e.List, render.StyleGreen
		k.state = render.Line(fmt.Sprintf("%s (%s) is ready", e.Plugin.Name, e.Plugin.Dialect))
		if e.Plugin.Pid != nil {
			k.state += fmt.Sprintf(", process %d", *e.Plugin.Pid)
		}
	case plugindev.Broken:
		k.targets, k.style = nil, render.StyleRed
		k.state = render.Line(devName(k.path)) + " does not work: fix it and save it"
	case plugindev.Changed:
		k.state, k.style = render.Line(devName(k.path))+" is restarting", render.StyleDim
	}
}

func (k *devDesk) status() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := render.Options{Color: k.screen().Color}
	return o.Paint(k.style, "● "+k.state)
}

func (k *devDesk) doing() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.busy
}

// runUnlessBusy calls do, and shows what as the running command until do returns. If another
// command is running, it does nothing and returns false.
func (k *devDesk) runUnlessBusy(what string, do func()) bool {
	k.mu.Lock()
	if k.busy != "" {
		k.mu.Unlock()
		return false
	}
	k.busy = what
	k.mu.Unlock()
	do()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = ""
	return true
}

// send sends a command, unless another one is running.
func (k *devDesk) send(ctx context.Context, c plugindev.Command) {
	sent := k.runUnlessBusy(c.Verb+" "+c.Name, func() { _ = k.session.Do(ctx, c) }) // events report what went wrong
	if !sent {
		k.printRemark("a command is still running: wait for it, or press r to restart the plugin")
	}
}

// printRemark shows a remark of Patchbay among the events.
func (k *devDesk) printRemark(text string) {
	k.console.Print(func(o render.Options) []string { return []string{o.Paint(render.StyleDim, text)} })
}

func (k *devDesk) keys() []tui.ConsoleKey {
	return []tui.ConsoleKey{
		{Key: "f", Label: "fire", Choices: k.choices, Do: k.fire},
		{Key: "e", Label: "edit", Exec: k.editLast, Do: k.sendEdited},
		{Key: "a", Label: "again", Do: func(ctx context.Context, _ int) { k.send(ctx, plugindev.Command{Verb: "again"}) }},
		{Key: "r", Label: "restart", Do: k.restart},
		{Key: "l", Label: "log", Exec: func(ctx context.Context, _ int) error { return k.openLog(ctx) }},
		{Key: "v", Label: "verbose", Do: k.toggle},
		{Key: "?", Label: "help", Do: func(context.Context, int) { k.console.Print(k.help(true)) }},
		{Key: "q", Label: "quit", Leave: true},
	}
}

// choices lists what can be sent to the plugin.
func (k *devDesk) choices() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var labels []string
	for _, t := range k.targets {
		label := t.Verb + " " + t.Name
		if t.Hook != "" {
			label += "  " + t.Hook + strings.TrimSuffix(" for "+t.For, " for ")
		}
		labels = append(labels, label)
	}
	if len(labels) == 0 {
		k.printRemark("nothing can be sent: the plugin does not work, or has no hooks and no tools")
	}
	return labels
}

func (k *devDesk) fire(ctx context.Context, choice int) {
	k.mu.Lock()
	if choice >= len(k.targets) { // the plugin was restarted in the meantime
		k.mu.Unlock()
		return
	}
	t := k.targets[choice]
	k.mu.Unlock()
	k.send(ctx, plugindev.Command{Verb: t.Verb, Name: t.Name, Payload: t.Sample})
}

// restart cancels the running command and restarts the plugin.
func (k *devDesk) restart(ctx context.Context, _ int) {
	k.mu.Lock()
	k.state, k.style = render.Line(devName(k.path))+" is restarting", render.StyleDim
	k.mu.Unlock()
	k.session.GiveUp()
	_ = k.session.Do(ctx, plugindev.Command{Verb: "restart"}) // events report what went wrong
}

func (k *devDesk) toggle(context.Context, int) {
	k.mu.Lock()
	k.verbose = !k.verbose
	now := k.verbose
	k.mu.Unlock()
	k.printRemark(map[bool]string{true: "messages are shown whole from now on", false: "messages are shown on one line from now on"}[now])
}

// editLast opens the last payload in the user's editor.
func (k *devDesk) editLast(ctx context.Context, _ int) error {
	last, ok := k.session.Last()
	if !ok {
		return errors.New("nothing was sent yet: press f first")
	}
	payload, err := k.editPayload(ctx, last.Payload)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.edited = plugindev.Command{Verb: last.Verb, Name: last.Name, Payload: payload}
	return nil
}

func (k *devDesk) sendEdited(ctx context.Context, _ int) {
	k.mu.Lock()
	c := k.edited
	k.mu.Unlock()
	k.send(ctx, c)
}

func (k *devDesk) editPayload(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, payload, "", "  "); err != nil {
		return nil, err
	}
	became, err := k.editText(ctx, "payload.json", text.String()+"\n")
	if err != nil {
		return nil, err
	}
	edited := []byte(became)
	if err := rawjson.Check(edited); err != nil {
		return nil, errors.New(syntaxMessage("the payload", edited, err))
	}
	if _, err := rawjson.Parse(edited); err != nil {
		return nil, fmt.Errorf("the payload is not a JSON object: %w", err)
	}
	return rawjson.Compact(edited), nil
}

// openLog shows the log in the user's pager.
func (k *devDesk) openLog(ctx context.Context) error {
	pager := cmp.Or(k.getenv("PAGER"), "less -R +G")
	streams, err := k.streams(false)
	if err != nil {
		return err
	}
	return k.runOn(ctx, pager, k.log.Name(), [3]*os.File{streams.in.file, streams.out.file, streams.err.file})
}

// help explains the keys, or only how to begin.
func (k *devDesk) help(whole bool) tui.Draw {
	return func(o render.Options) []string {
		if !whole {
			return []string{o.Paint(render.StyleDim, "Save a file of the plugin to restart it. Press f to send it something, ? for help.")}
		}
		out := []string{}
		for _, row := range [][2]string{
			{"f", "fire a sample event or call a tool: choose one of its hooks and tools"},
			{"e", "edit the last payload in $VISUAL or $EDITOR, and send it"},
			{"a", "send the last one again"},
			{"r", "restart the plugin, and cancel what is running"},
			{"l", "open the log in $PAGER: " + k.log.Name()},
			{"v", "show messages whole, or on one line"},
			{"q", "quit; also Ctrl-C"},
		} {
			out = append(out, "  "+o.Paint(render.StyleCyan, row[0])+"  "+render.Line(row[1]))
		}
		return out
	}
}
