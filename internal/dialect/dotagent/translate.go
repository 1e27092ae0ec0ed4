package dotagent

import (
	"encoding/json"
	"errors"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one kind of plugin at one point: what the event there is in the protocol's
// words.
type translation struct {
	kind  string
	point hook.Point
	of    func(p hook.Object) occasion
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.kind, Point: t.point} }

// An occasion is what an event fills into an invocation.
type occasion struct {
	agent    json.RawMessage // nil: the host
	schedule json.RawMessage // nil: the point
	event    string
	message  json.RawMessage // nil: null
	config   json.RawMessage // nil: the plugin's own
}

// native are the three kinds at the points of a job.
var native = []translation{
	{kindPreflight, hook.JobPreflight, ofPreflight},
	{kindSink, hook.JobSink, ofJob},
	{kindNotify, hook.JobNotify, ofJob},
}

// ofJob takes what the event says. A sink's event is success unless it says otherwise: "Sinks run
// after a successful run".
func ofJob(p hook.Object) occasion {
	o := occasion{agent: dialect.AsText(p.Get("agent")), schedule: dialect.AsText(p.Get("schedule")),
		event: eventSuccess, message: dialect.AsText(p.Get("message")), config: p.Get("config")}
	if event, ok := p.String("event"); ok && event != "" {
		o.event = event
	}
	return o
}

// ofPreflight: the rulings, "message is null for preflight, never absent".
func ofPreflight(p hook.Object) occasion {
	o := ofJob(p)
	o.event, o.message = eventPreflight, nil
	return o
}

// invocation is the payload of an event. The rulings: "Payload key order: kind, agent, schedule,
// event, message, config". own is the plugin's config.
func (t *translation) invocation(p hook.Object, own json.RawMessage) (json.RawMessage, error) {
	o := t.of(p)
	config := dialect.Or(o.config, own, emptyConfig)
	if config[0] != '{' {
		return nil, errors.New("the event's config is not an object")
	}
	return hook.Object{
		{Name: "kind", Value: rawjson.String(t.kind)},
		{Name: "agent", Value: dialect.Or(o.agent, rawjson.String("patchbay"))},
		{Name: "schedule", Value: dialect.Or(o.schedule, rawjson.String(string(t.point)))},
		{Name: "event", Value: rawjson.String(o.event)},
		{Name: "message", Value: dialect.OrNull(o.message)},
		{Name: "config", Value: config},
	}.JSON(), nil
}

// refused is what ok:false comes to. A preflight's is an answer: "ok=false to abort the run", with
// suggest "so the user knows what to fix". A sink's or a notifier's is a failure: it was to do
// something, and did not.
func (t *translation) refused(reply hook.Reply, a answer) (hook.Reply, error) {
	if t.kind != kindPreflight {
		return reply, hook.Failure(hook.Refused, errors.New(a.reason))
	}
	reply.Verdict, reply.Reason, reply.Suggest = hook.Deny, a.reason, a.suggest
	return reply, nil
}
