package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// A unit is a service that keeps the daemon running for a user.
type unit struct {
	system  string // the name of the service manager
	path    string // the path of the service file
	text    string
	command []string   // the command of the service
	probe   []string   // fails if the service manager does not work
	active  []string   // succeeds if the service runs
	failed  []string   // succeeds if the service has ended with an error and is not started again; nil: unknown
	before  []string   // removes an old service; fails if there is none
	begin   [][]string // start the service, now and at every login
	end     [][]string // end the service
	reload  []string   // runs after the file is removed
	linger  string     // a file that exists if services survive a logout; "": the system has no such file
}

// installed marks a file as ours. Files without it are not overwritten.
const installed = "written by patchbay serve, with its install flag"

// unit returns the service for a system. If command is nil, the service is one that install wrote:
// only its paths and commands are used.
func (a *app) unit(goos string, dirs config.Dirs, command []string) (unit, error) {
	env, keys := a.keptEnvironment()
	for _, text := range append(append(slices.Clone(command), env...), keys...) {
		if command != nil && strings.ContainsFunc(text, unicode.IsControl) {
			return unit{}, usage("remove the control characters", "a service cannot contain control characters: %q", text)
		}
	}
	switch goos {
	case "linux":
		return a.systemdUnit(dirs, command, env, keys), nil
	case "darwin":
		return launchdUnit(dirs, command, env), nil
	}
	return unit{}, &problem{kind: kindFailed, err: fmt.Errorf("%w: want systemd or launchd, not %s; nothing was written", errNoServices, goos),
		fix: "run `patchbay serve` from a service manager of your own"}
}

// errNoServices is returned on a system for which Patchbay cannot write a service.
var errNoServices = errors.New("cannot install a service")

func (a *app) systemdUnit(dirs config.Dirs, command, env, keys []string) unit {
	base := a.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(dirs.Home, ".config")
	}
	systemctl := func(words ...string) []string { return append([]string{"systemctl", "--user"}, words...) }
	return unit{system: "systemd", command: command, text: systemdText(command, env, keys),
		path:  filepath.Join(base, "systemd", "user", "patchbay.service"),
		probe: systemctl("show-environment"), active: systemctl("is-active", "--quiet", "patchbay.service"),
		failed: systemctl("is-failed", "--quiet", "patchbay.service"),
		begin:  [][]string{systemctl("daemon-reload"), systemctl("enable", "patchbay.service"), systemctl("restart", "patchbay.service")},
		end:    [][]string{systemctl("disable", "--now", "patchbay.service")},
		reload: systemctl("daemon-reload"),
		linger: filepath.Join("/var/lib/systemd/linger", cmp.Or(a.getenv("USER"), a.getenv("LOGNAME"), "?"))}
}

func launchdUnit(dirs config.Dirs, command, env []string) unit {
	const label = "dev.patchbay.patchbay"
	path := filepath.Join(dirs.Home, "Library", "LaunchAgents", label+".plist")
	return unit{system: "launchd", command: command, text: launchdText(label, command, env), path: path,
		probe: []string{"launchctl", "list"}, active: []string{"launchctl", "list", label},
		before: []string{"launchctl", "unload", path}, begin: [][]string{{"launchctl", "load", "-w", path}},
		end: [][]string{{"launchctl", "unload", "-w", path}}}
}

// kept lists the variables that say where files are. Without them the service would find other
// plugins, or none.
var kept = []string{"PATH", "PATCHBAY_HOME", "PATCHBAY_MODEL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
	"DOTAGENT_PLUGIN_PATH", "SCAFFOLD_HOME"}

// keptEnvironment returns the environment of the service: the variables that say where files are,
// as NAME=VALUE, and the names of keys, whose values we never write to a file.
func (a *app) keptEnvironment() (env, keys []string) {
	for _, name := range kept {
		if value := a.getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env, secretenv.Keys(a.Environ)
}

// systemdText returns the file for systemd. The service is not restarted after exit codes that a
// restart cannot fix.
func systemdText(command, env, keys []string) string {
	var b strings.Builder
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = systemdQuote(strings.ReplaceAll(word, "$", "$$"))
	}
	fmt.Fprintf(&b, `# %s
[Unit]
Description=Patchbay, plugins and scheduled agents

[Service]
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=%d %d %d
KillMode=mixed
TimeoutStopSec=90
`, installed, strings.Join(quoted, " "), exitUsage, exitConfig, exitTaken)
	for _, v := range env {
		fmt.Fprintf(&b, "Environment=%s\n", systemdQuote(v))
	}
	if len(keys) > 0 {
		fmt.Fprintf(&b, "# The values are not in this file: they come from secrets.toml, or from the environment of systemd.\nPassEnvironment=%s\n", strings.Join(keys, " "))
	}
	b.WriteString("\n[Install]\nWantedBy=default.target\n")
	return b.String()
}

// systemdQuote quotes a word for systemd, where % has a meaning and quotes group words.
func systemdQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s)
	if s == "" || strings.ContainsAny(s, " \t';") {
		return `"` + s + `"`
	}
	return s
}

// launchdText returns the file for launchd.
func launchdText(label string, command, env []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- %s -->
<plist version="1.0">
<dict>
	<key>Label</key><string>%s</string>
	<key>ProgramArguments</key>
	<array>
`, installed, label)
	for _, word := range command {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", xmlQuote(word))
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "\t\t<key>%s</key><string>%s</string>\n", xmlQuote(name), xmlQuote(value))
	}
	b.WriteString(`	</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>ExitTimeOut</key><integer>90</integer>
</dict>
</plist>
`)
	return b.String()
}

func xmlQuote(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// services runs the programs of a service manager.
type services struct {
	group *proc.Group
	env   []string
}

func (a *app) services() *services {
	return &services{proc.NewGroup(a.logger()), secretenv.Without(a.Environ)}
}

func (s *services) close() { _ = s.group.Close() } // its programs have ended

// serviceTime limits one program of the service manager. It is long, because systemctl waits until
// the service has ended.
const serviceTime = 2 * time.Minute

// run runs a program. An exit code other than 0 is an error with the program's output.
func (s *services) run(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	result, err := s.group.Run(ctx, proc.Spec{Path: command[0], Args: command[1:], Env: s.env}, proc.Call{MaxStdout: 4 << 10, Grace: time.Second})
	if err != nil {
		return err
	}
	if result.Exit.Code != 0 {
		return fmt.Errorf("%s: %s: %s", strings.Join(command, " "), result.Exit, strings.TrimSpace(cmp.Or(result.Stderr, string(result.Stdout))))
	}
	return nil
}
