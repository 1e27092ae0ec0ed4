package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// natsCheck is the fix of check and repair if the engine is another server.
const natsCheck = "in a cluster every server has a copy; `nats stream report` shows their state"

func newEngineCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Read all stored data, and report what is damaged",
		Long: `Read every block (a file of stored records), and report which records are intact
and which are lost. Nothing is changed. While the engine runs, no block is read:
the command then reports the damage that the engine has found so far.`,
		Example: `  patchbay engine check
  patchbay engine check --json | jq '.read.findings[] | {stream, block, kind, lost}'`,
		Annotations: exits(exit{exitOK, "there is no known damage, or `patchbay engine repair` has handled all of it"},
			exit{exitFailed, "there is damage that `patchbay engine repair` has not handled"}),
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error { return a.runEngineCheck() },
	}
}

func (a *app) runEngineCheck() error {
	dir, err := a.engineDir(natsCheck)
	if err != nil {
		return err
	}
	r, err := engine.Check(dir, false, a.logger())
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.printJSON(checkJSON{OK: r.OK(), CheckResult: r})
	} else {
		a.showCheck(r)
	}
	if err != nil || r.OK() {
		return err
	}
	return alreadyPrinted(kindFailed, "`patchbay engine repair` recovers the intact records, and accepts the loss of the others", "the store is damaged, or `patchbay engine repair` has not handled earlier damage yet")
}

type checkJSON struct {
	OK bool `json:"ok"`
	*engine.CheckResult
}

func (a *app) showCheck(r *engine.CheckResult) {
	o := a.screen()
	a.sayf("%s\n", a.place(r.Dir))
	fine := "nothing is damaged"
	if r.Read == nil {
		who := "another process"
		if r.Running != 0 {
			who = fmt.Sprintf("process %d", r.Running)
		}
		fine = "it has found no damage so far"
		a.sayf("  %s runs the engine, so no block was read; end it to read them all\n", who)
	} else {
		a.sayf("  %s, %s, %s\n", render.Count(r.Read.Streams, "stream"), render.Count(r.Read.Blocks, "block"), render.Count(r.Read.Messages, "record"))
		for _, f := range r.Read.Findings {
			a.sayf("  %s %s\n", o.Paint(render.StyleRed, "damaged:"), render.Line(f.String()))
		}
		for _, name := range r.Read.Gone {
			a.sayf("  %s stream %s existed at the last clean stop\n", o.Paint(render.StyleRed, "missing:"), render.Line(name))
		}
		for _, name := range r.Read.Skipped {
			a.sayf("  %s stream %s is compressed or encrypted, which this engine does not support\n", o.Paint(render.StyleYellow, "not checked:"), render.Line(name))
		}
	}
	a.showReports(r.Reports)
	if r.OK() {
		a.sayf("  %s\n", o.Paint(render.StyleGreen, fine))
	} else {
		a.sayf("  %s patchbay engine repair\n", o.Paint(render.StyleGreen, "fix:"))
	}
}

// showReports prints the damage that engines have found before.
func (a *app) showReports(reports []engine.Report) {
	for _, r := range reports {
		a.sayf("  found on %s, kept in %s\n", r.Time.Local().Format("2006-01-02 15:04:05"), a.place(r.Dir))
		for _, f := range r.Findings {
			a.sayf("    %s\n", render.Line(f.String()))
		}
	}
}

func newEngineRepairCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Recover intact records, and accept the loss of the others",
		Long: `Copy damaged blocks (files of stored records) aside, and write them again with
every intact record. Then open the result with NATS, as the engine does, and
compare the number of records with the number that was written. From then on,
the damage found so far is no longer reported, and the health checks of the
daemon pass again. The copies stay in the directory ` + "`damaged`" + `.

The engine must not run.`,
		Example: `  patchbay engine repair
  patchbay engine repair --json | jq '.settled[].findings[]'`,
		Annotations: exits(exit{exitOK, "every intact record is back; damaged records may be lost"},
			exit{exitFailed, "the engine runs, or the store could not be repaired"}),
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runEngineRepair(cmd.Context()) },
	}
}

func (a *app) runEngineRepair(ctx context.Context) error {
	dir, err := a.engineDir(natsCheck)
	if err != nil {
		return err
	}
	r, err := engine.Repair(ctx, dir, a.logger())
	if err != nil {
		return withStopFix(err)
	}
	if a.flags.json {
		return a.printJSON(r)
	}
	a.sayf("%s\n", a.place(r.Dir))
	if len(r.Acknowledged) == 0 {
		a.sayf("  %s\n", a.screen().Paint(render.StyleGreen, "nothing is damaged"))
		return nil
	}
	a.showReports(r.Acknowledged)
	lost := 0
	for _, s := range r.Acknowledged {
		_, n, _ := s.Totals()
		lost += n
	}
	a.sayf("  %s in place, %d lost; the engine can open the store\n", render.Count(r.Read.Messages, "record"), lost)
	return nil
}
