package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// keepEvery is the pause between two calls of the plugin that stores notes, commandEvery the pause
// between two commands for the process-per-call plugin.
const (
	keepEvery    = 200 * time.Millisecond
	commandEvery = 2 * time.Second
)

// A keeper uses the plugins that no turn uses: one that stores notes, and one with a process for
// each call.
type keeper struct {
	client *drive.Client
	ledger *ledger
}

// keep makes a plugin store a note, read it back, and delete the previous note, so that only one
// key is left.
func (k *keeper) keep(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		if err := k.note(context.WithoutCancel(ctx), n); err != nil {
			k.ledger.fault("storage failed", "%v", err)
		} else {
			k.ledger.notes.Add(1)
		}
		pause(ctx, keepEvery)
	}
}

func (k *keeper) note(ctx context.Context, n int) error {
	note := fmt.Sprintf("note %d", n)
	in := map[string]any{"arguments": map[string]string{"key": fmt.Sprintf("note/%d", n), "old": fmt.Sprintf("note/%d", n-1), "note": note}}
	var out struct {
		Success bool   `json:"success"`
		Result  string `json:"result"`
		Error   string `json:"error"`
	}
	if err := k.client.Call(ctx, "POST", "/v1/tools/notes.keep/call", in, &out); err != nil {
		return err
	}
	var kept struct {
		Note string `json:"note"`
		Keys int    `json:"keys"`
	}
	if !out.Success {
		return fmt.Errorf("note %d: %s", n, out.Error)
	}
	if err := json.Unmarshal([]byte(out.Result), &kept); err != nil || kept.Note != note || kept.Keys != 1 {
		return fmt.Errorf("note %d: stored %q, read back %.200q; wanted the note and one key", n, note, out.Result)
	}
	return nil
}

// command fires the event of a command, for which the plugin's process is started, called and
// ended.
func (k *keeper) command(ctx context.Context) {
	for ctx.Err() == nil {
		var out struct {
			Verdict string `json:"verdict"`
			Steps   []struct {
				Error any `json:"error"`
			} `json:"steps"`
		}
		in := map[string]any{"point": "command.before", "data": map[string]any{"command": "git", "args": []string{"status"}, "flags": map[string]string{}}}
		err := k.client.Call(context.WithoutCancel(ctx), "POST", "/v1/fire", in, &out)
		if err != nil || out.Verdict != "continue" || len(out.Steps) != 1 || out.Steps[0].Error != nil {
			k.ledger.fault("command failed", "%v: %+v", err, out)
		} else {
			k.ledger.commands.Add(1)
		}
		pause(ctx, commandEvery)
	}
}

// runs returns the ticks of the agent's runs, the oldest first. It is an error if a run did not
// succeed, or if there was not one for each minute.
func runs(ctx context.Context, client *drive.Client) (ticks []time.Time, err error) {
	var all []struct {
		ID     string    `json:"id"`
		Tick   time.Time `json:"tick"`
		Status string    `json:"status"`
	}
	if err := client.List(ctx, "/v1/runs?agent=tick&limit=1000", "runs", &all); err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if r.Status != "succeeded" {
			return ticks, fmt.Errorf("run %s is %s", r.ID, r.Status)
		}
		if n := len(ticks); n > 0 && r.Tick.Sub(ticks[n-1]) != time.Minute {
			return ticks, fmt.Errorf("run %s is %v after the one before", r.ID, r.Tick.Sub(ticks[n-1]))
		}
		ticks = append(ticks, r.Tick)
	}
	return ticks, nil
}
