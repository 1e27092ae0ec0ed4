package cli

import (
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestPayloadFaults checks what fire says about payloads whose fields are not those of the point.
func TestPayloadFaults(t *testing.T) {
	const fields = "; the fields are command, args, flags, result, timestamp"
	for payload, want := range map[string][]payloadFault{
		`{"command":"echo","args":["a"],"flags":{"x":"y"},"result":5}`: nil,
		`{"command":"echo","project":"p"}`:                             nil, // other fields are allowed
		`{"command":"echo","args":null}`:                               nil,
		`{"command":"echo","args":"SLOW"}`: {{`the payload's "args" is not a list of strings, as events at command.before have it, so plugins may not get it`,
			`write "args": ["…"]`}},
		`{"command":"echo","arg":[]}`: {{`the payload has "arg", which events at command.before do not have`, `did you mean "args"?`}},
		`{}`:                          {{`the payload has no "command", which events at command.before need` + fields, `write "command": "…"`}},
	} {
		object, err := rawjson.Parse([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		spec, _ := hook.CommandBefore.Spec()
		if got := payloadFaults(spec, object); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

// TestEveryFieldTypeIsOfAPoint checks that fieldTypes has no field that no point has, and every
// field that a point needs.
func TestEveryFieldTypeIsOfAPoint(t *testing.T) {
	for _, s := range hook.Points() {
		if s.Subject != "" && (fieldTypes[s.Subject] == "" || !slices.Contains(s.Fields, s.Subject)) {
			t.Errorf("%s needs %s, which has no type or is not one of its fields", s.Point, s.Subject)
		}
	}
	for name := range fieldTypes {
		if !slices.ContainsFunc(hook.Points(), func(s hook.Spec) bool { return slices.Contains(s.Fields, name) }) {
			t.Errorf("no point has %s", name)
		}
	}
}

// TestFixesOfCrashes checks that -v is advised only if it shows more.
func TestFixesOfCrashes(t *testing.T) {
	for stderr, want := range map[string]string{
		"":           "`patchbay plugin test p` tries it with other calls",
		"one\n":      "`patchbay plugin test p` tries it with other calls",
		"one\ntwo\n": "run the command again with -v to see all that the plugin wrote to stderr",
	} {
		if got := fixOf(&hook.Error{Plugin: "p", Kind: hook.Crash, Stderr: stderr}); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}
