package engine

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// TestRepair damages a block of a stopped engine. A check reports it and changes nothing; a repair
// recovers and acknowledges.
func TestRepair(t *testing.T) {
	for i, h := range harms() {
		for j, k := range keptKinds() {
			if !soak.Pair(i+1, j, 2) { // the other kind than in TestDamagedBlock
				continue
			}
			t.Run(k.name+" "+h.name, func(t *testing.T) {
				dir := t.TempDir()
				fill(t, dir, k)
				lost, _ := h.do(t, blockPath(dir, k.stream, 1))
				for range 2 { // a check changes nothing, so a second one finds the same
					wantCheck(t, dir, wrote-len(lost), len(lost))
				}
				r, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				if r.Found == nil || len(r.Acknowledged) != 1 || r.Read.Messages != wrote-len(lost) {
					t.Errorf("repair: %+v, %+v", r, r.Read)
				}
				if c, err := Check(dir, false, slog.New(slog.DiscardHandler)); err != nil || !c.OK() {
					t.Errorf("a check after the repair: %+v, %v", c, err)
				}
				e := open(t, Options{Dir: dir})
				wantMessages(t, k.read(t, e), lost)
				if reports, err := e.Damage(); err != nil || len(reports) != 0 {
					t.Errorf("after the repair: %+v, %v", reports, err)
				}
			})
		}
	}
}

func wantCheck(t *testing.T, dir string, whole, lost int) {
	t.Helper()
	c, err := Check(dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if c.OK() || len(c.Read.Findings) != 1 || c.Read.Messages != whole || c.Read.Findings[0].Lost != lost {
		t.Errorf("check: %+v; want %d whole, %d lost", c.Read, whole, lost)
	}
}

// TestRepairAcknowledges checks that a repair acknowledges the reports of an engine's start.
func TestRepairAcknowledges(t *testing.T) {
	k := keptKinds()[0]
	dir := t.TempDir()
	fill(t, dir, k)
	lost, _ := flipAt(10).do(t, blockPath(dir, k.stream, 1))
	e := open(t, Options{Dir: dir})

	if c, err := Check(dir, false, slog.New(slog.DiscardHandler)); err != nil || c.Running == 0 || len(c.Reports) != 1 || c.OK() {
		t.Errorf("a check while the engine runs: %+v, %v", c, err)
	}
	_, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
	if used, ok := errors.AsType[*InUseError](err); !ok || used.PID == 0 {
		t.Errorf("a repair while the engine runs: %v", err)
	}
	closeEngine(t, e)

	r, err := Repair(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil || r.Found != nil || len(r.Acknowledged) != 1 || r.Read.Messages != wrote-len(lost) {
		t.Errorf("repair: %+v, %v", r, err)
	}
	e = open(t, Options{Dir: dir})
	if reports, err := e.Damage(); err != nil || len(reports) != 0 {
		t.Errorf("after the repair: %+v, %v", reports, err)
	}
}
