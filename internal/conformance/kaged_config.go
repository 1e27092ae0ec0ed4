package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema/sample"
	"github.com/patchbay-dev/patchbay/internal/version"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// command returns the process that the manifest names.
func (s *kagedSuite) command() launch {
	extra := []string{"KAGED_CONFIG_ROOT=" + s.env.InConfigHome("kaged"), "KAGED_PROJECT_ROOT=" + s.work, "KAGED_PROJECT_ID=project"}
	for name, value := range s.manifest.Env {
		extra = append(extra, name+"="+value)
	}
	return launch{path: s.manifest.Command[0], args: s.manifest.Command[1:], dir: s.target.Path, env: s.env.Pick(dialect.BaseNames, extra...)}
}

// hello returns the params of initialize.
func (s *kagedSuite) hello(config, system json.RawMessage) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"daemon_version":%s,"api_version":1,"plugin_name":%s,"storage_available":true,"projects":["project"],"config":%s,"system_config":%s}`,
		rawjson.String(version.Number), rawjson.String(s.manifest.Name), config, system))
}

// greetWith makes the handshake.
func (s *kagedSuite) greetWith(d *dialogue, config, system json.RawMessage) error {
	a, err := d.ask("initialize", s.hello(config, system), kagedHandshake)
	if err != nil {
		return err
	}
	if a.err != nil {
		return a.err
	}
	return d.tell("initialized", json.RawMessage(`{}`))
}

// configs returns pairs of configurations that fit the schemas.
func (s *kagedSuite) configs() (pairs [][2]json.RawMessage) {
	config, system := samples(s.manifest.ConfigSchema.JSON()), samples(s.manifest.SystemConfigSchema.JSON())
	for i := range max(len(config), len(system)) {
		pair := [2]json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{}`)}
		for j, list := range [][]sample.Value{config, system} {
			if len(list) > 0 {
				pair[j] = list[min(i, len(list)-1)].JSON
			}
		}
		whole, err := s.manifest.Complete(pair[0], pair[1])
		if err == nil {
			pairs = append(pairs, [2]json.RawMessage{whole, pair[1]})
		}
	}
	return pairs
}

func (s *kagedSuite) initialize(t *trial) {
	if pairs := s.configs(); len(pairs) > 0 {
		s.config, s.system = pairs[0][0], pairs[0][1]
	}
	a := s.greeted(t, request{"initialize", s.hello(s.config, s.system), kagedHandshake})
	if t.failed() {
		return
	}
	if a.err != nil {
		t.failf("initialize was answered with %v", a.err)
		return
	}
	var err error
	if s.welcome, err = rawjson.Parse(a.result); err != nil {
		t.failf("initialize was answered with %s instead of an object", shown(a.result))
		return
	}
	if err := s.talking.tell("initialized", json.RawMessage(`{}`)); err != nil {
		t.failf("it ended after initialize: %v", err)
		return
	}
	where := ""
	if yes, why := s.confined(); !yes {
		where = "; without a sandbox: " + why
	}
	t.passf("answered in %s%s", a.took.Round(time.Millisecond), where)
}

func (s *kagedSuite) apiVersion(t *trial) {
	v := s.welcome.Get("api_version")
	var number float64
	switch {
	case rawjson.Missing(v):
		t.warnf("the answer to initialize has no api_version: 1 is assumed")
	case json.Unmarshal(v, &number) != nil || number != 1:
		t.failf("api_version is %s, and must be 1", shown(v))
	}
}

func (s *kagedSuite) welcomeFields(t *trial) {
	for _, pair := range [][2]string{{"name", s.manifest.Name}, {"version", s.manifest.Version}} {
		field, want := pair[0], pair[1]
		if text, ok := s.welcome.String(field); rawjson.Missing(s.welcome.Get(field)) {
			t.warnf("%s is left out", field)
		} else if !ok {
			t.failf("%s is not a string: %s", field, shown(s.welcome.Get(field)))
		} else if text != want {
			t.warnf("%s is %s, in the manifest %s", field, shown(text), shown(want))
		}
	}
	var capabilities, callable []string
	for _, c := range s.manifest.Capabilities {
		capabilities = append(capabilities, c.String())
	}
	callable = slices.Clone(s.manifest.Methods)
	for _, tool := range s.manifest.Tools {
		callable = append(callable, s.manifest.Name+"."+tool.Name)
	}
	s.sameNames(t, "methods", s.manifest.Methods, callable)
	s.sameNames(t, "notifications", s.manifest.Notifications, s.manifest.Notifications)
	s.sameNames(t, "capabilities_used", nil, capabilities)
}

// sameNames compares a list in the answer to initialize with the manifest: it must have all of
// least, and nothing beyond most.
func (s *kagedSuite) sameNames(t *trial, field string, least, most []string) {
	have, err := stringList(s.welcome.Get(field))
	if err != nil {
		t.failf("%s is not a list of strings: %s", field, shown(s.welcome.Get(field)))
		return
	}
	for _, name := range have {
		if !slices.Contains(most, name) {
			t.warnf("%s has %s, which the manifest does not declare", field, shown(name))
		}
	}
	for _, name := range least {
		if !slices.Contains(have, name) {
			t.warnf("%s lacks %s, which the manifest declares", field, shown(name))
		}
	}
}

func (s *kagedSuite) configRefused(t *trial) {
	config, system := s.manifest.ConfigSchema.JSON(), s.manifest.SystemConfigSchema.JSON()
	if config == nil && system == nil {
		t.skipf("it has no schema for its config")
		return
	}
	for _, raw := range []json.RawMessage{config, system} {
		if raw != nil && t.status != Warn {
			t.status = ""
			t.checkRefusals(raw, nil)
		}
	}
}

func (s *kagedSuite) configAccepted(t *trial) {
	if s.manifest.ConfigSchema == nil && s.manifest.SystemConfigSchema == nil {
		t.skipf("it has no schema for its config")
		return
	}
	pairs := s.configs()
	for _, pair := range pairs {
		d := s.mustLive(t, s.begin)
		if d == nil {
			return
		}
		if err := s.greetWith(d, pair[0], pair[1]); err != nil {
			t.failf("with the config %s: initialize: %v", shown(pair[0]), err)
			d.kill()
			return
		}
		d.kill()
	}
	if len(pairs) == 0 {
		t.skipf("no config could be made that fits its schemas and knobs")
		return
	}
	t.passf("%s", plural(len(pairs), "config"))
}

func (s *kagedSuite) health(t *trial) { s.ask(t, "health.check", s.ping) }

func (s *kagedSuite) answersShutdown(t *trial) {
	s.ended, _ = s.shutdown(t, request{"shutdown", json.RawMessage(`{}`), s.manifest.ShutdownTimeout})
}

// silent sends notifications and then a request. An answer to a notification would come before the
// answer to the request.
func (s *kagedSuite) silent(t *trial) {
	d := s.mustLive(t, s.live)
	if d == nil {
		return
	}
	for _, method := range []string{"initialized", "conformance.no-such-notification"} {
		if err := d.tell(method, json.RawMessage(`{}`)); err != nil {
			t.failf("it ended after the notification %s", method)
			s.dropLive()
			return
		}
	}
	s.ask(t, "a request after notifications", s.ping)
	summary(sawReply, "notifications have no answers")(t)
}

func (s *kagedSuite) huge(t *trial) {
	s.large(t, request{"health.check", json.RawMessage(fmt.Sprintf(`{"conformance":%s}`, long())), kagedHealth})
}

// many returns requests to send at once.
func (s *kagedSuite) many() []request {
	var list []request
	for _, tool := range s.manifest.Tools {
		for _, v := range samples(tool.JSON) {
			list = append(list, request{s.manifest.Name + "." + tool.Name, s.withContext(v.JSON), kagedCall})
		}
	}
	for len(list) < 8 {
		list = append(list, s.ping)
	}
	return append(list[:7:7], s.ping)
}

// withContext adds the fields that every tool and hook gets about the call.
func (s *kagedSuite) withContext(params json.RawMessage) json.RawMessage {
	o, _ := rawjson.Parse(params) // we wrote it
	context := fmt.Sprintf(`{"operator_id":"local","project_id":"project","agent_path":"primary","session_id":"ses_1","request_id":"%s","project_root":%s}`,
		strings.Repeat("0a", 16), rawjson.String(s.work))
	return o.With(rawjson.Field{Name: "_context", Value: json.RawMessage(context)}).JSON()
}
