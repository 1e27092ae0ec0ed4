package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newTraceShowCommand(a *app) *cobra.Command {
	turn := ""
	cmd := &cobra.Command{
		Use:   "show ID | --turn TURN",
		Short: "Show an event, or all events of a turn: what each plugin was sent, answered and changed",
		Long: `Show an event of the journal as ` + "`patchbay fire --trace`" + ` does: for each plugin
what it was sent, what it answered, what that changed, how long it took and what
went wrong. Messages are cut to one line; -v shows them whole. ID is an id from
` + "`patchbay trace list`" + `. With --turn, show every event of a turn, in order. If a
message was too long for the journal, the trace says so.`,
		Example: `  patchbay trace show 42
  patchbay trace show --turn turn_01m7ewsr29qp62vnxax7qgqs14 -v
  patchbay trace show 42 --json | jq '.outcome.steps[].diff'`,
		Annotations: exits(exit{exitOK, "the events were shown"}, exit{exitNotFound, "no such event or turn, or it is older than a week"}),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case turn == "":
				return arguments("ID")(cmd, args)
			case len(args) > 0:
				return usage("leave one of them out", "%s: --turn cannot be used with ID", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: completeOnce(func(context.Context) []cobra.Completion { return nil }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJournal(cmd.Context(), func(j *journal.Journal) error {
				if turn != "" {
					return a.showTurn(cmd.Context(), j, turn)
				}
				return a.showTrace(cmd.Context(), j, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&turn, "turn", "", "show every event of this `TURN`")
	return cmd
}

const traceListFix = "`patchbay trace list` lists the events; they are kept for a week"

func (a *app) showTrace(ctx context.Context, j *journal.Journal, text string) error {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 || id == math.MaxUint64 {
		return usage(traceListFix, "%.60q is not the ID of an event", text)
	}
	t, err := daemon.FindTrace(ctx, j, id)
	if errors.Is(err, daemon.ErrNoTrace) {
		return &problem{kind: kindNotFound, err: err, fix: traceListFix}
	}
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(&t)
	}
	return a.drawTrace(&t)
}

// maxTurnTraces limits how many events of a turn are shown. A turn with more has gone wrong.
const maxTurnTraces = 10_000

// turnJSON is the result of `trace show --turn --json`.
type turnJSON struct {
	Turn   string             `json:"turn"`
	Traces []daemon.KeptTrace `json:"traces"`
}

func (a *app) showTurn(ctx context.Context, j *journal.Journal, turn string) error {
	all, err := daemon.AllTraces(ctx, j, daemon.TraceQuery{Turn: turn}, maxTurnTraces)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return &problem{kind: kindNotFound, err: fmt.Errorf("no events of a turn %.60q", turn), fix: traceListFix}
	}
	if a.flags.json {
		return a.printJSON(turnJSON{turn, all})
	}
	for i := range all {
		if i > 0 {
			a.printf("\n")
		}
		if err := a.drawTrace(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) drawTrace(t *daemon.KeptTrace) error {
	screen := a.screen()
	head := fmt.Sprintf("%d  %s", t.ID, t.Time.Local().Format(time.DateTime))
	if t.Session != "" {
		head += "  session " + t.Session
	}
	if t.Turn != "" {
		head += "  turn " + t.Turn
	}
	a.sayf("%s\n", screen.Paint(render.StyleDim, head))
	screen.Wire = true
	return render.Trace(a.out, t.Outcome.Outcome, screen)
}
