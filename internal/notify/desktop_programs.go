package notify

import (
	"context"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// notifySend uses the program of libnotify, which finds desktops that [sessionBus] does not.
func notifySend(p programs) way {
	return way{
		name: "notify-send",
		show: func(ctx context.Context, c card) error {
			return p.run(ctx, program{name: "notify-send", args: notifySendArgs(c)})
		},
		reach: func(ctx context.Context) error {
			if err := notifySendError(p); err != nil {
				return fmt.Errorf("notify-send: %w", err)
			}
			return p.run(ctx, program{name: "notify-send", args: []string{"--version"}})
		},
	}
}

func notifySendArgs(c card) []string {
	args := []string{"--app-name=" + appName}
	if c.urgency != "" {
		args = append(args, "--urgency="+c.urgency)
	}
	if c.icon != "" {
		args = append(args, "--icon="+c.icon)
	}
	if c.expireMS != nil {
		args = append(args, "--expire-time="+strconv.FormatInt(*c.expireMS, 10))
	}
	switch {
	case c.soundName() != "":
		args = append(args, "--hint=string:sound-name:"+c.soundName())
	case c.loud != nil:
		args = append(args, "--hint=boolean:suppress-sound:true")
	}
	// notify-send cannot tell whether the desktop interprets markup. The common ones do.
	return append(args, "--", c.title, html.EscapeString(c.underSubtitle()))
}

// appleScriptText is the whole script. It never changes: the texts are passed as arguments.
const appleScriptText = `on run argv
	if item 4 of argv is "" then
		display notification (item 1 of argv) with title (item 2 of argv) subtitle (item 3 of argv)
	else
		display notification (item 1 of argv) with title (item 2 of argv) subtitle (item 3 of argv) sound name (item 4 of argv)
	end if
end run
`

func appleScript(p programs) way {
	return way{
		name: "osascript",
		show: func(ctx context.Context, c card) error {
			sound := c.sound
			if sound == "" && c.loud != nil && *c.loud {
				sound = "default"
			}
			return p.run(ctx, osascript(appleScriptText, c.body, c.title, c.subtitle, sound))
		},
		reach: func(ctx context.Context) error { return p.run(ctx, osascript("return\n")) },
	}
}

// powerShellText shows a toast. It never changes: the texts are passed as environment variables and
// become text nodes, not XML. It has no double quotes, because Windows' command lines do not
// preserve them. A toast must come from an application that is registered with Windows; PowerShell
// itself is one.
const powerShellText = `$ErrorActionPreference = 'Stop'
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$null = [Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom, ContentType = WindowsRuntime]
$manager = [Windows.UI.Notifications.ToastNotificationManager]
$xml = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$texts = $xml.GetElementsByTagName('text')
$null = $texts.Item(0).AppendChild($xml.CreateTextNode($env:NOTIFY_TITLE))
$null = $texts.Item(1).AppendChild($xml.CreateTextNode($env:NOTIFY_BODY))
if ($env:NOTIFY_SILENT) { $audio = $xml.CreateElement('audio'); $audio.SetAttribute('silent', 'true'); $null = $xml.DocumentElement.AppendChild($audio) }
$app = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\WindowsPowerShell\v1.0\powershell.exe'
$manager::CreateToastNotifier($app).Show([Windows.UI.Notifications.ToastNotification]::new($xml))
`

func powerShell(p programs) way {
	return way{
		name: "powershell",
		show: func(ctx context.Context, c card) error {
			return p.run(ctx, powerShellRun(powerShellText, powerShellEnv(c)...))
		},
		reach: func(ctx context.Context) error { return p.run(ctx, powerShellRun("exit 0")) },
	}
}

func powerShellEnv(c card) []string {
	// A line end in a value does no harm: Windows ends a variable with a NUL, which clean removes.
	env := []string{"NOTIFY_TITLE=" + c.title, "NOTIFY_BODY=" + c.underSubtitle()}
	if c.loud != nil && !*c.loud {
		env = append(env, "NOTIFY_SILENT=1")
	}
	return env
}

// powerShellRun runs a script in Windows PowerShell, which every Windows has. The newer PowerShell
// cannot show toasts.
func powerShellRun(script string, env ...string) program {
	line := strings.ReplaceAll(strings.TrimSpace(script), "\n", "; ")
	return program{name: "powershell", args: []string{"-NoProfile", "-NonInteractive", "-Command", line}, env: env}
}
