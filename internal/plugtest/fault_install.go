//go:build linux

package plugtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// InstallFault installs a plugin with a fault where its dialect looks for it below home. Its name
// is [Fault.Plugin].
func InstallFault(t testing.TB, home, dialect string, f Fault) {
	t.Helper()
	dir, file, manifest := faultPlace(dialect, f)
	dir = filepath.Join(home, filepath.FromSlash(dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if manifest != "" {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(manifest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if dialect != Python {
		InstallSelf(t, filepath.Join(dir, dialect+programInfix+f.Plugin()))
	}
}

// faultPlace returns the directory of a plugin, and the file that is there beside its program, or
// in place of it.
func faultPlace(dialect string, f Fault) (dir, file, text string) {
	name := f.Plugin()
	switch dialect {
	case Scaffold:
		return ".local/scaffold/plugins", "", ""
	case Kaged:
		return ".local/share/kaged/plugins/" + name, "manifest.yaml", kagedManifest(f)
	case Mine:
		return ".local/share/mine/plugins/" + name, "mine-plugin.toml", mineManifest(name)
	case Dotagent:
		return ".config/dotagent/plugins", "", ""
	case Python:
		return ".agent/plugins", name + ".py", pythonPlugin(f)
	}
	panic("no dialect " + dialect)
}

// kagedManifest has the shortest times that the protocol allows.
func kagedManifest(f Fault) string {
	var text strings.Builder
	fmt.Fprintf(&text, "name: %[1]s\nversion: 1.0.0\nkaged_api: 1\ndescription: a plugin at fault\n"+
		"command: [./kaged-plugin-%[1]s]\nhooks: [on_session_start]\nshutdown_timeout_sec: 1\nhealth_interval_sec: 5\n"+
		"tools:\n", f.Plugin())
	tools := 1
	if f.Act == "many-tools" {
		tools = 20_000
	}
	for i := range tools {
		name := "make"
		if i > 0 {
			name = fmt.Sprintf("tool-%d", i)
		}
		fmt.Fprintf(&text, "  - {name: %s, description: makes, parameters_schema: {type: object}}\n", name)
	}
	return text.String()
}

func mineManifest(name string) string {
	return fmt.Sprintf("[plugin]\nname = %q\nversion = \"1.0.0\"\ndescription = \"a plugin at fault\"\nauthor = \"Ada\"\n"+
		"protocol_version = \"1.0.0\"\n[[hooks]]\ncommand = \"*\"\nstage = \"preexec\"\nmode = \"transform\"\n", name)
}
