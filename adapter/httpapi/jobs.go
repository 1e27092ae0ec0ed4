package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Jobs manages scheduled agents. A value of type any is encoded to JSON, in the form that `patchbay
// job` prints with --json; [Shapes] has its type.
type Jobs interface {
	List(ctx context.Context) (any, error)                                              // `job list`
	Get(ctx context.Context, agent string) (any, error)                                 // the same for one agent; ErrNoJob
	Start(ctx context.Context, agent, schedule string, once bool) (run any, err error)  // ErrNoJob, ErrJobBusy
	Cancel(ctx context.Context, id string) (run any, err error)                         // returns when the run has ended; ErrNoJob, ErrRunOver
	Runs(ctx context.Context, agent string, p Page) (any, error)                        // `job history`; *InvalidRequestError
	Run(ctx context.Context, id string) (any, error)                                    // ErrNoJob
	Output(ctx context.Context, id string, each func(line json.RawMessage) error) error // the output so far; ErrNoJob
	Follow(ctx context.Context, id string, each func(line json.RawMessage) error) error // until the run ends; ErrNoJob
}

// Errors of Jobs that clients see.
var (
	ErrNoJob   = errors.New("no such job")
	ErrJobBusy = errors.New("the previous run is still in progress")
	ErrRunOver = errors.New("the run is over")
)

type agentName struct {
	Agent string `path:"agent" maxLength:"256" doc:"The agent's name."`
}

type startJob struct {
	Agent string `path:"agent" maxLength:"256" doc:"The agent's name."`
	Body  *struct {
		Schedule string `json:"schedule,omitempty" doc:"The id of one of its schedules; the default is the first." example:"daily"`
		Once     bool   `json:"once,omitempty" doc:"Make only one attempt." example:"false"`
	}
}

type runQuery struct {
	Agent string `query:"agent" maxLength:"256" doc:"Only runs of this agent."`
	PageQuery
}

// A runPath holds the id of a run. Its parts are parts of the path.
type runPath struct {
	Agent    string `path:"agent" maxLength:"256" doc:"The agent's name."`
	Schedule string `path:"schedule" maxLength:"256" doc:"The schedule's id."`
	Time     string `path:"time" maxLength:"64" doc:"The last part of the run's id."`
	Accept   string `header:"Accept" hidden:"true"`
}

func (p *runPath) id() string { return p.Agent + "/" + p.Schedule + "/" + p.Time }

func (a *api) addJobs() {
	const tag = "jobs"
	missing := []int{404, 422}
	add(a, route{method: "GET", path: "/v1/jobs", id: "list-jobs", tag: tag, summary: "List the scheduled agents",
		doc:   "One entry for each schedule, and one for each broken manifest.",
		shape: a.Shapes.Jobs}, func(ctx context.Context, _ *struct{}) (*answer[json.RawMessage], error) {
		return encoded(a.Jobs.List(ctx))
	})
	add(a, route{method: "GET", path: "/v1/jobs/{agent}", id: "get-job", tag: tag, summary: "Show a scheduled agent",
		doc:   "One entry for each of its schedules.",
		shape: a.Shapes.Jobs, errors: missing}, func(ctx context.Context, in *agentName) (*answer[json.RawMessage], error) {
		return encoded(a.Jobs.Get(ctx, in.Agent))
	})
	add(a, route{method: "POST", path: "/v1/jobs/{agent}/run", id: "run-job", tag: tag, summary: "Run an agent now",
		doc:   "Answers with the run when it has begun. Follow its output to see how it ends.",
		shape: a.Shapes.Run, errors: []int{404, 409, 503}}, a.startJob)
	add(a, route{method: "GET", path: "/v1/runs", id: "list-runs", tag: tag, summary: "List runs",
		doc: "First those in progress, then the others, beginning with the one that ended last.", shape: a.Shapes.Runs, errors: []int{400, 422}}, func(ctx context.Context, in *runQuery) (*answer[json.RawMessage], error) {
		return encoded(a.Jobs.Runs(ctx, in.Agent, in.page()))
	})
	const run = "/v1/runs/{agent}/{schedule}/{time}"
	add(a, route{method: "GET", path: run, id: "get-run", tag: tag, summary: "Show a run",
		shape: a.Shapes.Run, errors: missing}, func(ctx context.Context, in *runPath) (*answer[json.RawMessage], error) {
		return encoded(a.Jobs.Run(ctx, in.id()))
	})
	add(a, route{method: "POST", path: run + "/cancel", id: "cancel-run", tag: tag, summary: "Cancel a run",
		doc: "Works for runs of every process. Answers with the run when it has ended: as `cancelled`, unless it ended by itself at that moment. " +
			"If the run waits for its next attempt, that attempt is not made.",
		shape: a.Shapes.Run, errors: []int{404, 409, 503}}, func(ctx context.Context, in *runPath) (*answer[json.RawMessage], error) {
		return encoded(a.Jobs.Cancel(ctx, in.id()))
	})
	add(a, route{method: "GET", path: run + "/output", id: "run-output", tag: tag, summary: "Show what a run has printed",
		doc:   "With `Accept: text/event-stream` the lines come as they are printed, until the run ends.",
		shape: a.Shapes.Output, events: true, errors: []int{404, 422, 503}}, a.output)
}

func (a *api) startJob(ctx context.Context, in *startJob) (*answer[json.RawMessage], error) {
	schedule, once := "", false
	if in.Body != nil {
		schedule, once = in.Body.Schedule, in.Body.Once
	}
	return encoded(a.Jobs.Start(ctx, in.Agent, schedule, once))
}

func (a *api) output(ctx context.Context, in *runPath) (*huma.StreamResponse, error) {
	if wantsEvents(in.Accept) {
		return streamed(func(w http.ResponseWriter, r *http.Request) { a.streamOutput(w, r, in.id()) }), nil
	}
	lines := []json.RawMessage{}
	err := a.Jobs.Output(ctx, in.id(), func(line json.RawMessage) error {
		lines = append(lines, line)
		return nil
	})
	out, err := encoded(lines, err)
	if err != nil {
		return nil, err
	}
	return atOnce(out.Body), nil
}

// streamOutput sends lines until the run ends.
func (a *api) streamOutput(w http.ResponseWriter, r *http.Request, id string) {
	leave, ok := a.enter(w)
	if !ok {
		return
	}
	defer leave()
	s, ctx := a.open(w, r, nil)
	defer a.closed(s)
	err := a.Jobs.Follow(ctx, id, func(line json.RawMessage) error { return s.send(Event{Kind: "line", Data: line}) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.fail(a.problem(err, "stream of output"))
	default:
		run, err := a.Jobs.Run(ctx, id)
		out, err := encoded(run, err)
		if err != nil {
			s.fail(a.problem(err, "stream of output"))
			return
		}
		_ = s.send(Event{Kind: "result", Data: out.Body}) // a.closed logs the error
	}
}
