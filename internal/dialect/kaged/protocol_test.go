package kaged

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestInitializeParams: the params have all fields in their order, and objects and lists are never
// null.
func TestInitializeParams(t *testing.T) {
	h := hello{daemonVersion: "1.2", pluginName: "p", storageAvailable: true,
		projects: []string{"a \"b\"", "two"}, config: json.RawMessage(`{ "n": 1 }`)}
	const want = `{"daemon_version":"1.2","api_version":1,"plugin_name":"p","storage_available":true,` +
		`"projects":["a \"b\"","two"],"config":{"n":1},"system_config":{}}`
	if got := string(h.params()); got != want {
		t.Errorf("params\n%s, want\n%s", got, want)
	}
	const empty = `{"daemon_version":"","api_version":1,"plugin_name":"","storage_available":false,"projects":[],"config":{},"system_config":{}}`
	if got := string((&hello{}).params()); got != empty {
		t.Errorf("params\n%s, want\n%s", got, empty)
	}
}

func TestWelcome(t *testing.T) {
	m := &Manifest{Name: "p", Version: "1.0.0", Methods: []string{"p.count"}, Notifications: []string{"p.tick"},
		Tools: []Tool{{Name: "add"}}, Capabilities: []capability.Capability{{Kind: capability.StorageRead}}}
	const good = `{"name":"p","version":"1.0.0","api_version":1,"methods":["p.count"],"notifications":["p.tick"],"capabilities_used":["kaged:storage:read"]}`
	for _, tc := range []struct{ rule, answer, warns, refuses string }{
		{"an answer like the manifest is fine", good, "", ""},
		{"api_version 1.0 is 1", strings.Replace(good, `"api_version":1`, `"api_version":1.0`, 1), "", ""},
		{"tools may be listed among the methods", strings.Replace(good, `["p.count"]`, `["p.count","p.add"]`, 1), "", ""},
		{"another api_version is a refusal", strings.Replace(good, `"api_version":1`, `"api_version":2`, 1), "", `api_version 2, this host 1`},
		{"an api_version that is not a number is a refusal", strings.Replace(good, `"api_version":1`, `"api_version":"one"`, 1), "", "api_version"},
		{"a missing api_version is a warning", strings.Replace(good, `"api_version":1,`, "", 1), "left out api_version", ""},
		{"another name is a warning", strings.Replace(good, `"p"`, `"q"`, 1), `its name is "q"`, ""},
		{"another version is a warning", strings.Replace(good, `1.0.0`, `2.0.0`, 1), `its version is "2.0.0"`, ""},
		{"a method too few is a warning", strings.Replace(good, `["p.count"]`, `[]`, 1), `lacks methods that the manifest declares: "p.count"`, ""},
		{"a method too many is a warning", strings.Replace(good, `["p.count"]`, `["p.count","p.drop"]`, 1), `does not declare: "p.drop"`, ""},
		{"an undeclared notification is a warning", strings.Replace(good, `["p.tick"]`, `["p.tick","p.tock"]`, 1), `"p.tock"`, ""},
		{"a capability beyond the declared is a warning", strings.Replace(good, `kaged:storage:read`, `net:*`, 1), `"net:*"`, ""},
		{"a field of another type is a warning", strings.Replace(good, `["p.tick"]`, `7`, 1), "has the notifications 7", ""},
		{"a notification too few is a warning", strings.Replace(good, `["p.tick"]`, `[]`, 1), `lacks notifications that the manifest declares: "p.tick"`, ""},
		{"a capability that is not used is fine", strings.Replace(good, `["kaged:storage:read"]`, `[]`, 1), "", ""},
		{"a name that is left out is a warning", strings.Replace(good, `"name":"p",`, "", 1), `left out name, which is "p" in the manifest`, ""},
		{"a version that is left out is a warning", strings.Replace(good, `"version":"1.0.0",`, "", 1), `left out version, which is "1.0.0" in the manifest`, ""},
		{"a list that is left out is empty", strings.Replace(good, `,"notifications":["p.tick"],"capabilities_used":["kaged:storage:read"]`, "", 1), `lacks notifications that the manifest declares: "p.tick"`, ""},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			w, err := readWelcome(json.RawMessage(tc.answer))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.refusal(); tc.refuses == "" && err != nil || tc.refuses != "" && (err == nil || !strings.Contains(err.Error(), tc.refuses)) {
				t.Errorf("refusal %v, want %q", err, tc.refuses)
			}
			warnings := strings.Join(w.differences(m), "\n")
			if tc.warns == "" && warnings != "" || strings.Contains(warnings, "\n") || !strings.Contains(warnings, tc.warns) {
				t.Errorf("warnings %q, want %q", warnings, tc.warns)
			}
		})
	}
}

func TestAWelcomeMustBeAnObject(t *testing.T) {
	for _, answer := range []string{`null`, `[]`, `"hi"`, `7`} {
		if _, err := readWelcome(json.RawMessage(answer)); !errors.Is(err, hook.Garbled) {
			t.Errorf("%s: error %v", answer, err)
		}
	}
}

func TestForeignNamesInWarningsAreCut(t *testing.T) {
	var w welcome
	for range 1000 {
		w.methods = append(w.methods, strings.Repeat("x", 1000))
	}
	if text := strings.Join(w.differences(&Manifest{}), ""); len(text) > 2000 {
		t.Errorf("the warning has %d bytes", len(text))
	}
}

// FuzzWelcome: no answer to initialize makes the host panic or print much. An answer is accepted
// only if its api_version is ours or missing.
func FuzzWelcome(tf *testing.F) {
	f := variants.Of(tf)
	long := strings.Repeat("x", 5000)
	for _, seed := range []string{
		`{}`, `{"api_version":1}`, `{"api_version":1e0}`, `{"methods":[1]}`, `{"name":null}`, `[]`, `{"name":"` + long + `","version":"` + long + `"}`,
		`{"name":[` + strings.Repeat("1,", 3000) + `1]}`, `{"notifications":["` + strings.Repeat(`a","`, 1000) + `"]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		w, err := readWelcome(json.RawMessage(answer))
		if err != nil {
			return
		}
		if text := strings.Join(w.differences(&Manifest{}), "\n"); len(text) > 16<<10 { // six fields, ten names of some hundred bytes each
			t.Errorf("the warnings have %d bytes", len(text))
		}
		var got struct {
			Version *float64 `json:"api_version"`
		}
		if json.Unmarshal([]byte(answer), &got) == nil && w.refusal() == nil && got.Version != nil && *got.Version != apiVersion && len(w.odd) == 0 {
			// encoding/json ignores the case of names; the protocol does not.
			if w.apiVersion != nil {
				t.Errorf("%s passed", answer)
			}
		}
	})
}
