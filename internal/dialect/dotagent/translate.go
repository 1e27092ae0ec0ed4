package dotagent

import (
	"encoding/json"
	"errors"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one kind of plugin at one point, with the function that turns the event there
// into an occasion.
type translation struct {
	kind  string
	point hook.Point
	of    func(p hook.Object) occasion
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.kind, Point: t.point} }

// An occasion holds the fields of an invocation that depend on the event.
type occasion struct {
	agent    json.RawMessage // nil: the host
	schedule json.RawMessage // nil: the point
	event    string
	message  json.RawMessage // nil: null
	config   json.RawMessage // nil: the plugin's own, from the configuration
}

// native lists the three kinds at the points of a job.
var native = []translation{
	{kindPreflight, hook.JobPreflight, ofPreflight},
	{kindSink, hook.JobSink, ofJob},
	{kindNotify, hook.JobNotify, ofJob},
}

// ofJob copies the fields of a job's event. The event is success if the field is missing.
func ofJob(p hook.Object) occasion {
	o := occasion{agent: dialect.AsText(p.Get("agent")), schedule: dialect.AsText(p.Get("schedule")),
		event: eventSuccess, message: dialect.AsText(p.Get("message")), config: p.Get("config")}
	if event, ok := p.String("event"); ok && event != "" {
		o.event = event
	}
	return o
}

// ofPreflight copies the fields of a job's event, except the message, which is null:
// docs/protocols/dotagent.md, row D31.
func ofPreflight(p hook.Object) occasion {
	o := ofJob(p)
	o.event, o.message = eventPreflight, nil
	return o
}

// invocation returns the payload for an event, with its keys in the order of
// docs/protocols/dotagent.md, row D30. own is the plugin's config.
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

// refused turns the answer ok:false into a reply or an error. From a preflight the answer is a
// refusal, with a reason and a suggestion: docs/protocols/dotagent.md, row D36. From a sink or a
// notifier it is a failure: row D38.
func (t *translation) refused(reply hook.Reply, a answer) (hook.Reply, error) {
	if t.kind != kindPreflight {
		return reply, hook.Failure(hook.Refused, errors.New(a.reason))
	}
	reply.Verdict, reply.Reason, reply.Suggest = hook.Deny, a.reason, a.suggest
	return reply, nil
}
