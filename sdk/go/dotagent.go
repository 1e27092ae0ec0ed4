package plugin

import (
	"context"
	"encoding/json"
	"io"
	"strings"
)

// dotagent answers one verb.
func (s *session) dotagent(ctx context.Context, verb string) int {
	s.dialect = Dotagent
	if !s.plugin.speaks(Dotagent) {
		return s.refused(s.plugin.unspoken(Dotagent).Error(), "", exitFailed)
	}
	if verb == "info" {
		return s.say(s.plugin.dotagentInfo(), exitOK)
	}
	input, err := io.ReadAll(io.LimitReader(s.process.Stdin, mostLine))
	if err != nil {
		return s.refused(err.Error(), "", exitFailed)
	}
	if verb == "validate" {
		return s.validate(input)
	}
	return s.invoke(with(ctx, Call{Dialect: Dotagent}), input)
}

func (p *Plugin) dotagentInfo() object {
	info := object{{"name", p.name}, {"version", p.version}, {"description", p.description}, {"kinds", list(p.hooks(Dotagent))}}
	if len(p.Platforms) > 0 {
		info = append(info, field{"platforms", list(p.Platforms)})
	}
	if p.config != nil {
		info = append(info, field{"schema", p.config.schema})
	}
	return info
}

// validate checks a config.
func (s *session) validate(config []byte) int {
	if s.plugin.config == nil {
		if o, err := parseObject(config); err != nil {
			return s.refused("the config is not a JSON object", "", exitOK)
		} else if len(o) > 0 {
			return s.refused(s.plugin.name+" takes no config", "", exitOK)
		}
	} else if err := s.plugin.config.fill(config); err != nil {
		return s.refused(err.Error(), "", exitOK)
	}
	return s.say(object{{"ok", true}}, exitOK)
}

// invoke calls the handlers of the payload's kind.
func (s *session) invoke(ctx context.Context, payload []byte) int {
	var in struct {
		Kind    string          `json:"kind"`
		Config  json.RawMessage `json:"config"`
		Message *string         `json:"message"`
		JobEvent
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return s.refused("the payload: "+decoding(err).Error(), "", exitFailed)
	}
	if !contains(s.plugin.hooks(Dotagent), in.Kind) {
		return s.refused(s.plugin.name+" is no "+in.Kind+" plugin, but "+strings.Join(s.plugin.hooks(Dotagent), ", "), "", exitFailed)
	}
	if err := s.begin(ctx, orEmpty(in.Config), nil); err != nil {
		return s.refused(err.Error(), "", exitFailed)
	}
	event := in.JobEvent
	if in.Message != nil {
		event.Message = *in.Message
	}
	s.running.Add(1)
	v := s.plugin.ask(ctx, "job."+in.Kind, &event, "")
	s.running.Add(-1)
	s.end(ctx)
	switch v.kind {
	case kindFail:
		return s.refused(v.reason, "", exitFailed)
	case kindDeny:
		return s.refused(v.reason, v.suggest, exitOK)
	}
	return s.say(object{{"ok", true}}, exitOK)
}

func (s *session) refused(reason, suggest string, code int) int {
	out := object{{"ok", false}, {"error", reason}}
	if suggest != "" {
		out = append(out, field{"suggest", suggest})
	}
	return s.say(out, code)
}

// say writes the only answer of a process.
func (s *session) say(answer object, code int) int {
	text, err := marshal(answer)
	if err == nil {
		err = s.out.line(text)
	}
	if err != nil {
		s.complain("%v", err)
		return exitFailed
	}
	return code
}
