package pluginhost_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// notesManifest and notesScript are a kaged plugin that answers with the config it was started
// with. The script starts no other program.
const (
	notesManifest = `name: notes
version: 1.0.0
kaged_api: 1
description: tells its config
author: Mira Okonkwo
license: MIT
homepage: git+ssh://git@example.org/notes.git
command: [sh, run.sh]
methods: [notes.config, notes.speak]
notifications: [notes.spoken]
config_schema:
  type: object
  properties:
    level: {type: integer, minimum: 0, maximum: 9}
    mode: {enum: [fast, slow]}
    header: {type: string}
knobs:
  level: {type: int_range, label: Level, binds_to: config.level, default: 1}
  mode: {type: enum, label: Mode, binds_to: config.mode, labels: {slow: Slowly}}
  header: {type: multiline, label: Header, binds_to: config.header, max_length: 40}
tools:
  - {name: crash, description: ends the plugin, parameters_schema: {type: object}}
  - {name: where, description: tells its _context, parameters_schema: {type: object}}
`
	notesScript = `while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case "$line" in
  *'"method":"initialized"'*) continue ;;
  *'"method":"initialize"'*)
    conf=${line#*'"config":'}; conf=${conf%%',"system_config"'*}
    result='{"name":"notes","version":"1.0.0","api_version":1,"methods":["notes.config","notes.speak"],"notifications":["notes.spoken"],"capabilities_used":[]}' ;;
  *'"method":"notes.config"'*) result="$conf" ;;
  *'"method":"notes.where"'*) result="{${line#*'"params":{'}"; result=${result%\}} ;;
  *'"method":"notes.speak"'*) printf '{"jsonrpc":"2.0","method":"notes.spoken","params":{"n":1}}\n'; result=null ;;
  *'"method":"notes.crash"'*) echo 'out of ink' >&2; exit 3 ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`
)

// A notebook is a home with that plugin, and a project.
type notebook struct {
	t                     *testing.T
	home, project, config string
}

func newNotebook(t *testing.T, config string) *notebook {
	t.Helper()
	plugtest.NeedTool(t, "sh")
	n := &notebook{t: t, home: t.TempDir(), project: t.TempDir()}
	n.config = filepath.Join(n.home, ".config", "patchbay", "config.toml")
	n.put(filepath.Join(n.home, ".local/share/kaged/plugins/notes/manifest.yaml"), notesManifest)
	n.put(filepath.Join(n.home, ".local/share/kaged/plugins/notes/run.sh"), notesScript)
	n.put(n.config, config)
	return n
}

func (n *notebook) put(path, text string) {
	n.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *notebook) read(path string) string {
	n.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

func (n *notebook) options() *pluginhost.Options {
	return &pluginhost.Options{Dir: n.project, Dialects: []string{"kaged"},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.home, "TMPDIR=" + os.TempDir()}}
}

func (n *notebook) open() *pluginhost.Host {
	n.t.Helper()
	host, err := pluginhost.Open(n.t.Context(), n.options())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if err := host.Close(); err != nil {
			n.t.Error(err)
		}
	})
	return host
}

// given returns the config that the running plugin was started with.
func (n *notebook) given(host *pluginhost.Host) string {
	n.t.Helper()
	result, err := host.CallMethod(n.t.Context(), "notes", "notes.config", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(result)
}

func TestSetKnob(t *testing.T) {
	const before = "# mine\nsandbox = \"off\"\n\n[plugins.notes]   # notes\npriority = 7\nconfig = { mode = 'slow' } # slowly\n\n[chat]\napprove = \"ask\"\n"
	n := newNotebook(t, before)
	host := n.open()
	if got := n.given(host); got != `{"mode":"slow","level":1}` {
		t.Fatalf("the plugin got the config %s", got)
	}
	change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage("4")})
	if err != nil || !change.Restarted || !change.Changed || change.File != n.config || n.read(change.Backup) != before {
		t.Fatalf("%+v, %v", change, err)
	}
	if string(change.Knob.Value) != "4" || change.Knob.Source != "user" {
		t.Errorf("the knob has the value %s, from %s", change.Knob.Value, change.Knob.Source)
	}
	if want := strings.Replace(before, "'slow' }", "'slow', level = 4 }", 1); n.read(n.config) != want {
		t.Errorf("the file is\n%s\nwant\n%s", n.read(n.config), want)
	}
	if got := n.given(host); got != `{"level":4,"mode":"slow"}` {
		t.Errorf("the plugin got the config %s", got)
	}
	t.Run("no value goes back to the default", func(t *testing.T) {
		change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level"})
		if err != nil || n.read(n.config) != before || string(change.Knob.Value) != "1" || change.Knob.Source != "default" {
			t.Errorf("%+v, %v\n%s", change, err, n.read(n.config))
		}
	})
}

func TestAKnobRefuses(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	host := n.open()
	for _, tc := range []struct{ key, value, says string }{
		{"level", "10", "must be at most 9"},
		{"level", `"high"`, "level"},
		{"mode", `"medium"`, "mode"},
		{"header", `"` + strings.Repeat("x", 41) + `"`, "at most 40 characters"},
	} {
		_, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: tc.key, Value: json.RawMessage(tc.value)})
		if !errors.Is(err, pluginhost.ErrBadValue) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s = %s: %v", tc.key, tc.value, err)
		}
	}
	if _, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "levle", Value: json.RawMessage("1")}); !errors.Is(err, pluginhost.ErrNotFound) || !strings.Contains(err.Error(), "level") {
		t.Errorf("a knob that is not there: %v", err)
	}
	if n.read(n.config) != "sandbox = \"off\"\n" {
		t.Errorf("the file was changed:\n%s", n.read(n.config))
	}
}

// TestKnobsSetAtOnce: of several settings at the same moment none is lost, and each reports the
// restart.
func TestKnobsSetAtOnce(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	host := n.open()
	var all sync.WaitGroup
	for key, value := range map[string]string{"level": "2", "mode": `"fast"`, "header": `"Hi"`} {
		all.Go(func() {
			change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: key, Value: json.RawMessage(value)})
			if err != nil || !change.Restarted {
				t.Errorf("%s: %+v, %v", key, change, err)
			}
		})
	}
	all.Wait()
	if got := n.given(host); got != `{"header":"Hi","level":2,"mode":"fast"}` {
		t.Errorf("the plugin got the config %s", got)
	}
}

// TestAKnobAndARefresh: a plugin that is opened again after a knob was set gets the new value.
func TestAKnobAndARefresh(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	host := n.open()
	for rule, refresh := range map[string]func() error{
		"restart": func() error { return host.Restart(t.Context(), "notes") },
		"reload": func() error {
			n.put(filepath.Join(n.home, ".local/share/kaged/plugins/notes/more"), t.Name())
			return host.Reload(t.Context(), nil)
		},
	} {
		value := strconv.Itoa(len(rule))
		set := make(chan error, 1)
		go func() {
			change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage(value)})
			if err == nil && !change.Restarted {
				err = errors.New("not restarted")
			}
			set <- err
		}()
		eventually.True(t, "the file is changed", func() bool { return strings.Contains(n.read(n.config), "level = "+value) })
		if err := refresh(); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
		if err := <-set; err != nil {
			t.Errorf("%s: %v", rule, err)
		}
		if got := n.given(host); got != `{"level":`+value+`}` {
			t.Errorf("%s: the plugin got the config %s", rule, got)
		}
	}
}

// TestAProjectsConfig: the project's values replace the user's, field by field, and `plugin info`
// shows the source of each.
func TestAProjectsConfig(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n[plugins.notes]\nconfig = { level = 2, mode = \"slow\" }\n")
	file := filepath.Join(n.project, ".patchbay", "config.toml")
	n.put(file, "[plugins.notes]\nconfig = { level = 5 }\n")
	host := n.open()
	if got := n.given(host); got != `{"level":5,"mode":"slow"}` {
		t.Errorf("the plugin got the config %s", got)
	}
	detail, err := host.Plugin("notes")
	if err != nil || len(detail.ConfigFiles) != 2 || detail.ConfigFiles[1] != file || detail.Knobs[0].Source != "project" || detail.Knobs[1].Source != "user" {
		t.Errorf("%+v, %v", detail, err)
	}
	change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "mode", Value: json.RawMessage(`"fast"`), Project: true})
	if err != nil || change.File != file || !change.Restarted {
		t.Fatalf("%+v, %v", change, err)
	}
	if want := "[plugins.notes]\nconfig = { level = 5, mode = \"fast\" }\n"; n.read(file) != want {
		t.Errorf("the project's file is %q, want %q", n.read(file), want)
	}
	change, err = host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage("1")})
	if err != nil || string(change.Knob.Value) != "5" || change.Knob.Source != "project" {
		t.Errorf("the project's value counts: %+v, %v", change, err)
	}
}

// TestTheErrorOfAConfigHasItsPlace: the error names file, line and column, and setting the knob
// repairs the plugin.
func TestTheErrorOfAConfigHasItsPlace(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n[plugins.notes]\nconfig = { mode = \"slow\", level = 11 }\n")
	host := n.open()
	detail, err := host.Plugin("notes")
	if err != nil || detail.State != dialect.Broken || len(detail.Problems) != 1 {
		t.Fatalf("%+v, %v", detail, err)
	}
	p := detail.Problems[0]
	if p.Path != n.config || p.Line != 3 || p.Column != 35 || !strings.Contains(p.Message, "plugins.notes.config.level") {
		t.Errorf("%+v", p)
	}
	if want := fmt.Sprintf("%s:3:35", n.config); !strings.Contains(*detail.Error, want) {
		t.Errorf("error %s does not name %s", *detail.Error, want)
	}
	change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage("9")})
	if err != nil || !change.Restarted {
		t.Fatalf("%+v, %v", change, err)
	}
	if got := n.given(host); got != `{"level":9,"mode":"slow"}` {
		t.Errorf("the plugin got the config %s", got)
	}
}

// TestAConfigThatNoFileHas: the fix for a required value says where to write it, and the error
// names no other table's line.
func TestAConfigThatNoFileHas(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n[plugins.other]\nenabled = true\n")
	manifest := strings.Replace(notesManifest, "config_schema:\n", "config_schema:\n  required: [owner]\n", 1) + "system_config_schema: {required: [token]}\n"
	n.put(filepath.Join(n.home, ".local/share/kaged/plugins/notes/manifest.yaml"), manifest)
	detail, err := n.open().Plugin("notes")
	if err != nil || len(detail.Problems) != 2 {
		t.Fatalf("%+v, %v", detail, err)
	}
	for i, want := range []struct{ file, fix string }{
		{n.config, "write [plugins.notes] and below it a line such as config = { owner = … }"},
		{filepath.Join(filepath.Dir(n.config), "secrets.toml"), "write [plugins.notes] and below it token = …"},
	} {
		if p := detail.Problems[i]; p.Path != want.file || p.Line != 0 || p.Fix != want.fix {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
}

func TestAProjectsFileIsChecked(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	n.put(filepath.Join(n.project, ".patchbay", "config.toml"), "[plugins.notes]\ncapabilities = [\"net:*\"]\n")
	host, err := pluginhost.Open(t.Context(), n.options())
	if err == nil || !strings.Contains(err.Error(), "config.toml:2:16") {
		t.Errorf("error %v", err)
	}
	if host != nil {
		t.Error("the host is open")
	}
}

// TestAProjectSwitchesNoPluginOff: a project's config that does not fit is dropped, so that it
// cannot keep a plugin of the user's from starting.
func TestAProjectSwitchesNoPluginOff(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n\n[plugins.notes]\nconfig = { level = 2 }\n")
	n.put(filepath.Join(n.project, ".patchbay", "config.toml"), "[plugins.notes]\nconfig = { level = \"none\" }\n")
	host := n.open()
	detail, err := host.Plugin("notes")
	if err != nil || detail.State != "ready" {
		t.Fatalf("%s: %v, %v", detail.State, detail.Error, err)
	}
	found := func() bool {
		return slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool {
			return strings.Contains(f.Problem, "the project's config for it is left out") && strings.Contains(f.Problem, "config.level") &&
				strings.HasSuffix(f.Where, "config.toml:2:20")
		})
	}
	if !found() {
		t.Error("no finding says that the project's config is left out")
	}
	if k := detail.Knobs[0]; string(k.Value) != "2" || k.Source != "user" || string(detail.ConfigFrom["level"]) != "user" || len(detail.ConfigFiles) != 1 {
		t.Errorf("shown as in force: %s of %s, %v, %s", k.Value, k.Source, detail.ConfigFrom, detail.ConfigFiles)
	}
	change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage("3")})
	if err != nil || !change.Restarted || string(change.Knob.Value) != "3" || change.Knob.Source != "user" {
		t.Errorf("the user's knob: %+v, %v", change, err)
	}
	change, err = host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "level", Value: json.RawMessage("4"), Project: true})
	if err != nil || !change.Restarted || string(change.Knob.Value) != "4" || change.Knob.Source != "project" {
		t.Errorf("a knob that corrects the project's file: %+v, %v", change, err)
	}
	if found() {
		t.Error("a finding says that the corrected config is left out")
	}
	n.put(filepath.Join(n.project, ".patchbay", "config.toml"), "[plugins.notes]\nconfig = { level = \"none\" }\n")
	if restarted, err := host.Reconfigure(t.Context(), "notes"); err != nil || !restarted {
		t.Errorf("%v, %v", restarted, err)
	}
	if !found() {
		t.Error("no finding says that the changed config is left out")
	}
}

// TestTurnsBeginWhileAPluginIsRetried: a broken plugin is opened again with its new config while
// turns begin, which search for plugins.
func TestTurnsBeginWhileAPluginIsRetried(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n\n[plugins.notes]\nconfig = { level = \"none\" }\n")
	host := n.open()
	if detail, err := host.Plugin("notes"); err != nil || detail.State != "broken" {
		t.Fatalf("%s, %v", detail.State, err)
	}
	n.put(n.config, "sandbox = \"off\"\n\n[plugins.notes]\nconfig = { level = 2 }\n")
	done := make(chan error, 1)
	go func() {
		restarted, err := host.Reconfigure(t.Context(), "notes")
		if err == nil && !restarted {
			err = errors.New("it was not restarted")
		}
		done <- err
	}()
	for {
		if err := host.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// TestNotificationsReachTheHost: notifications that the manifest declares are passed on, counted
// and listed.
func TestNotificationsReachTheHost(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	o := n.options()
	heard := make(chan pluginhost.Notification, 1)
	o.OnNotification = func(one pluginhost.Notification) { heard <- one }
	host, err := pluginhost.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := host.CallMethod(t.Context(), "notes", "notes.speak", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case one := <-heard:
		if one.Plugin != "notes" || one.Dialect != "kaged" || one.Method != "notes.spoken" || string(one.Params) != `{"n":1}` {
			t.Errorf("%+v", one)
		}
	case <-time.After(time.Minute):
		t.Fatal("no notification arrived")
	}
	detail, err := host.Plugin("notes")
	if err != nil || detail.Counters.Notifications != 1 || len(detail.Notifications) != 1 || detail.Notifications[0].Method != "notes.spoken" {
		t.Errorf("%+v, %v", detail, err)
	}
	listedElsewhere(t, host)
	if detail.Author != "Mira Okonkwo" || detail.License != "MIT" || detail.Homepage != "git+ssh://git@example.org/notes.git" {
		t.Errorf("%q, %q, %q", detail.Author, detail.License, detail.Homepage)
	}
}

// listedElsewhere checks that the notifications of a plugin in another project are listed and
// counted too, also after that project is closed.
func listedElsewhere(t *testing.T, host *pluginhost.Host) {
	t.Helper()
	other, err := host.In(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.CallMethod(t.Context(), "notes", "notes.speak", nil); err != nil {
		t.Fatal(err)
	}
	both := func() bool {
		d, err := host.Plugin("notes")
		return err == nil && d.Counters.Notifications == 2 && len(d.Notifications) == 2 && !d.Notifications[1].Time.Before(d.Notifications[0].Time)
	}
	for end := time.Now().Add(time.Minute); !both() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	if !both() {
		d, err := host.Plugin("notes")
		t.Fatalf("listed of both projects: %+v, %v", d.Notifications, err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if !both() {
		t.Error("the notifications of a closed project are not listed any more")
	}
}
