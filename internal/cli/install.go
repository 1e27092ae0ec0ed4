package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A unit is how a system is told to keep the daemon running for a user.
type unit struct {
	path  string // of the file
	text  string
	begin string // the command that starts it, now and at every login
	end   string // the command that takes it back
}

// installed marks a file as ours: what somebody else wrote is not overwritten.
const installed = "written by patchbay serve, with its install flag"

// unitFile is the file for systemd.
func unitFile(command []string) string {
	return `# ` + installed + `
[Unit]
Description=Patchbay, plugins and scheduled agents
After=network-online.target

[Service]
ExecStart=` + strings.Join(command, " ") + `
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
`
}

// plistFile is the file for launchd.
func plistFile(command []string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + installed + ` -->
<plist version="1.0">
<dict>
	<key>Label</key><string>dev.patchbay.patchbay</string>
	<key>ProgramArguments</key>
	<array>
		<string>` + strings.Join(command, "</string>\n\t\t<string>") + `</string>
	</array>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>ExitTimeOut</key><integer>60</integer>
</dict>
</plist>
`
}

// install writes the file that keeps the daemon running. It starts nothing.
func (a *app) install(listen string) error {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if strings.Contains(self, "go-build") {
		return usage("build or install the command first: go install ./cmd/patchbay", "--install: %s is gone when go run ends", self)
	}
	u, err := a.unit(runtime.GOOS, dirs, serveCommand(self, a.path(a.flags.config), listen))
	if err != nil {
		return err
	}
	if err := writeUnit(u); err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(map[string]string{"path": u.path, "start": u.begin, "remove": u.end})
	}
	a.printf("wrote %s\n\nStart it, now and at every login:\n  %s\nTake it back:\n  %s\n", u.path, u.begin, u.end)
	return nil
}

func serveCommand(self, configFile, listen string) []string {
	command := []string{self, "serve"}
	if configFile != "" {
		command = append(command, "--config", configFile)
	}
	if listen != "" {
		command = append(command, "--listen", listen)
	}
	return command
}

// unit is the file for a system.
func (a *app) unit(goos string, dirs config.Dirs, command []string) (unit, error) {
	u := unit{}
	file, quote := unitFile, systemdQuote
	switch goos {
	case "linux":
		base := a.getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(base) {
			base = filepath.Join(dirs.Home, ".config")
		}
		u.path = filepath.Join(base, "systemd", "user", "patchbay.service")
		u.begin = "systemctl --user daemon-reload && systemctl --user enable --now patchbay"
		u.end = "systemctl --user disable --now patchbay && rm " + u.path
	case "darwin":
		file, quote = plistFile, xmlQuote
		u.path = filepath.Join(dirs.Home, "Library", "LaunchAgents", "dev.patchbay.patchbay.plist")
		u.begin = "launchctl load -w " + u.path
		u.end = "launchctl unload -w " + u.path + " && rm " + u.path
	default:
		return u, usage("run `patchbay serve` from a service manager of your own", "--install knows systemd and launchd, not %s", goos)
	}
	for i := range command {
		command[i] = quote(command[i])
	}
	u.text = file(command)
	return u, nil
}

// systemdQuote makes a word safe in ExecStart, where % and $ have a meaning and quotes group.
func systemdQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(s)
	if strings.ContainsAny(s, " \t'") {
		return `"` + s + `"`
	}
	return s
}

func xmlQuote(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// maxUnit is more than any unit has.
const maxUnit = 1 << 20

// writeUnit writes the file as a whole, unless there is one of somebody else's.
func writeUnit(u unit) error {
	old, err := plainfile.Read(u.path, maxUnit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !bytes.Contains(old, []byte(installed)) {
		return &problem{kind: kindRefused, err: fmt.Errorf("%s is there already, and not ours", u.path), fix: "move it away, and try again"}
	}
	if err := os.MkdirAll(filepath.Dir(u.path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(u.path, []byte(u.text), atomicfile.Options{Mode: 0o644})
}
