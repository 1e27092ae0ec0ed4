package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// jobs implements [httpapi.Jobs] with the scheduled agents.
type jobs struct{ *Jobs }

func (j jobs) List(ctx context.Context) (any, error) { return j.Jobs.List(ctx) }

func (j jobs) Get(ctx context.Context, agent string) (any, error) {
	all, err := j.Jobs.List(ctx)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(i JobInfo) bool { return i.Agent != agent })
	if len(list) == 0 {
		return nil, httpapi.ErrNoJob
	}
	return list, nil
}

// Start begins a run, and returns as soon as the run has its record. The run goes on in the
// background.
func (j jobs) Start(ctx context.Context, agent, schedule string, once bool) (any, error) {
	m, s, err := j.Find(agent, schedule)
	if err != nil {
		return nil, jobError(err)
	}
	if err := j.Check(ctx, m); err != nil {
		return nil, jobError(err)
	}
	began := make(chan job.Run, 1)
	refused := make(chan error, 1)
	attempts := 0
	if once {
		attempts = 1
	}
	running, done, err := j.core.running.begin(context.WithoutCancel(ctx), "job "+agent)
	if err != nil {
		return nil, jobError(err)
	}
	j.manual.Go(func() {
		defer done()
		told := false
		_, err := j.Runner.RunNow(running, m, s, job.RunOptions{Attempts: attempts, Insist: true, Began: func(r job.Run) {
			if !told { // only for the first attempt
				told = true
				began <- r
			}
		}})
		if !told { // if RunNow returned no error, another run began in the same millisecond
			refused <- cmp.Or(err, job.ErrBusy)
		} else if err != nil {
			j.core.log.Warn("cannot record a run", "agent", agent, "err", err)
		}
	})
	select {
	case r := <-began:
		return r, nil
	case err := <-refused:
		return nil, jobError(err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Cancel ends a run, also if another process runs it.
func (j jobs) Cancel(ctx context.Context, id string) (any, error) {
	r, err := j.Runner.Cancel(ctx, id)
	return r, jobError(err)
}

func (j jobs) Runs(ctx context.Context, agent string, p httpapi.Page) (any, error) {
	return j.History(ctx, agent, p)
}

// A RunPage is a page of runs, as `job history --json` prints it.
type RunPage struct {
	Runs []job.Run `json:"runs" doc:"First those in progress, then the others, beginning with the one that ended last."`
	Next string    `json:"next,omitempty" doc:"The value of after for the next page; absent if there is none." example:"cnVuczoxIDU"`
}

// History returns a page of the runs of an agent, or of all agents if agent is "". It returns an
// [*httpapi.InvalidRequestError] if the cursor does not belong to this list.
func (j *Jobs) History(ctx context.Context, agent string, p httpapi.Page) (RunPage, error) {
	after, err := httpapi.Place(runList, p.After)
	if err != nil {
		return RunPage{}, err
	}
	runs, next, err := j.Store.List(ctx, agent, after, p.Limit)
	if errors.Is(err, job.ErrPlace) {
		err = httpapi.BadCursor(runList, p.After)
	}
	if next != "" {
		next = httpapi.Cursor(runList, next)
	}
	return RunPage{Runs: runs, Next: next}, err
}

const runList = "runs"

func (j jobs) Run(ctx context.Context, id string) (any, error) {
	r, err := j.Store.Run(ctx, id)
	return r, jobError(err)
}

func (j jobs) Output(ctx context.Context, id string, each func(json.RawMessage) error) error {
	if _, err := j.Store.Run(ctx, id); err != nil {
		return jobError(err)
	}
	return j.Store.Output(ctx, id, encodeLines(each))
}

func (j jobs) Follow(ctx context.Context, id string, each func(json.RawMessage) error) error {
	return jobError(j.Store.Follow(ctx, id, encodeLines(each)))
}

func encodeLines(each func(json.RawMessage) error) func(job.Line) error {
	return func(l job.Line) error {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		return each(data)
	}
}

func jobError(err error) error {
	if none, ok := errors.AsType[*NoJobError](err); ok && none.Schedule != "" {
		return fmt.Errorf("%w: %w", httpapi.ErrNoJob, none) // the agent exists
	}
	switch {
	case errors.Is(err, pluginhost.ErrNotFound), errors.Is(err, job.ErrNoRun):
		return httpapi.ErrNoJob
	case errors.Is(err, job.ErrBusy):
		return httpapi.ErrJobBusy
	case errors.Is(err, job.ErrOver):
		return httpapi.ErrRunOver
	case errors.Is(err, job.ErrStillRuns):
		return &httpapi.UnavailableError{Reason: err.Error()}
	}
	if broken, ok := errors.AsType[*BrokenJobError](err); ok {
		return &httpapi.UnavailableError{Reason: broken.Error()}
	}
	return turnError(err)
}

// agentOf returns the name of a manifest's directory, which stands for the agent's name if the
// manifest is broken.
func agentOf(path string) string {
	if filepath.Base(path) == "agent.toml" {
		path = filepath.Dir(path)
	}
	return filepath.Base(path)
}
