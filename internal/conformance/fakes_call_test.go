//go:build unix

package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// leave leaves a process running.
func leave() {
	if err := exec.Command("sleep", "300").Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// crash ends the process as an interpreter does after an error that was not handled.
func crash() {
	fmt.Fprint(os.Stderr, "Traceback (most recent call last):\n  File \"plugin\", line 4, in <module>\nKeyError: 'contxt'\n")
	syscall.Exit(1)
}

// kill ends the process by a signal.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Hour) // the signal ends it
}

// say prints an answer.
func say(fault, text string) {
	switch fault {
	case "debug":
		fmt.Println("DEBUG: here")
	case "latin-1":
		text = strings.TrimSuffix(text, "}") + ",\"note\":\"caf\xe9\"}"
	case "leaves":
		leave()
	}
	fmt.Println(text)
}

func playDotagent(fault string) {
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	switch verb {
	case "info":
		dotagentInfo_(fault)
	case "validate", "invoke":
		if fault == "ignores-term" && verb == "invoke" {
			ignoreTerm()
		}
		if fault == "early" && verb == "invoke" {
			fmt.Println(`{"ok":true}`)
			_, _ = io.ReadAll(os.Stdin)
			return
		}
		stdin, _ := io.ReadAll(os.Stdin) // unreadable input is not JSON
		dotagentAnswer(fault, verb, stdin)
	default:
		switch fault {
		case "any-verb":
			return
		case "verb-crashes":
			crash()
		}
		fmt.Fprintln(os.Stderr, "usage")
		syscall.Exit(2)
	}
}

func dotagentInfo_(fault string) {
	name, version, kinds, schema := fault, `"1.0.0"`, `["sink","notify"]`, `{"type":"object","required":["to"],"properties":{"to":{"type":"string"},"n":{"type":"integer"}}}`
	switch fault {
	case "info-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	case "info-text":
		fmt.Println("a plugin")
		return
	case "info-exit":
		defer syscall.Exit(1)
	case "name":
		name = ""
	case "other-name":
		name = "somebody"
	case "fields":
		version = "1"
	case "kinds-text":
		kinds = `"sink"`
	case "kinds":
		kinds = `["sink","notifier"]`
	case "schema":
		schema = `{"type":"objekt"}`
	case "schema-any", "misfit-crashes":
		schema = `{"type":"object","properties":{"to":{}}}`
	case "preflight":
		kinds = `["preflight"]`
	}
	say(fault, fmt.Sprintf(`{"name":%q,"version":%s,"kinds":%s,"platforms":["linux","darwin","windows"],"schema":%s}`, name, version, kinds, schema))
}

func dotagentAnswer(fault, verb string, stdin []byte) {
	var p struct {
		Message *string
		Config  map[string]any
		Kind    string
	}
	if err := json.Unmarshal(stdin, &p); err != nil || verb == "invoke" && p.Kind == "" {
		if fault == "garbled-ok" {
			say(fault, `{"ok":true}`)
			return
		}
		switch fault {
		case "garbled-hangs":
			time.Sleep(time.Hour) // the planted fault: it hangs
		case "garbled-killed":
			kill()
		}
		fmt.Fprintln(os.Stderr, "no JSON")
		syscall.Exit(1)
	}
	if verb == "validate" {
		switch fault {
		case "validate-text":
			fmt.Println("fine")
			return
		case "validate-crashes":
			crash()
		case "misfit-crashes":
			if strings.Contains(string(stdin), "[[") {
				crash()
			}
		}
		say(fault, `{"ok":true}`)
		return
	}
	switch fault {
	case "no-ok":
		say(fault, `{"done":true}`)
	case "exit-code":
		say(fault, `{"ok":true}`)
		syscall.Exit(3)
	case "no-reason":
		say(fault, `{"ok":false}`)
	case "huge-dies":
		if len(stdin) > 128<<10 {
			fmt.Fprintln(os.Stderr, "argument list too long")
			syscall.Exit(126)
		}
		say(fault, `{"ok":true}`)
	case "lock":
		fakeLock()
		say(fault, `{"ok":true}`)
	case "invoke-crashes":
		crash()
	case "invoke-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	default:
		say(fault, `{"ok":true}`)
	}
}

// fakeLock fails if another process has the lock, and holds it for a moment.
func fakeLock() {
	lock, err := os.OpenFile(os.Getenv("HOME")+"/lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		fmt.Fprintln(os.Stderr, "another one is running")
		syscall.Exit(3)
	}
	time.Sleep(300 * time.Millisecond) // the planted fault: it blocks others for so long
}

// mineFake returns a manifest, changed by a fault.
func mineFake(fault string) string {
	text := `[plugin]
name = "` + fault + `"
version = "1.0.0"
description = "A fake"
author = "Ada"
protocol_version = "1.0.0"

[[hooks]]
command = "todo.*"
stage = "preexec"
mode = "transform"

[[hooks]]
command = "*"
stage = "notify"
mode = "notify"

[[commands]]
name = "show"
description = "shows"
`
	switch fault {
	case "manifest":
		return strings.Replace(text, `author = "Ada"`, "", 1)
	case "odd":
		return strings.Replace(text, `author = "Ada"`, "author = \"Ada\"\nautor = \"Ada\"", 1)
	}
	return text
}

func playMine(fault string) {
	if fault == "early" {
		fmt.Println(`{"status":"ok"}`)
	}
	stdin, _ := io.ReadAll(os.Stdin) // unreadable input is not JSON
	var call struct {
		Version string `json:"protocol_version"`
		Type    string
		Stage   string
		Event   string
		Context json.RawMessage
	}
	if json.Unmarshal(stdin, &call) != nil {
		switch fault {
		case "garbled-ok":
			return
		case "garbled-hangs":
			time.Sleep(time.Hour) // the planted fault: it hangs
		case "garbled-killed":
			kill()
		}
		fmt.Fprintln(os.Stderr, "no JSON")
		syscall.Exit(1)
	}
	if !strings.HasPrefix(call.Version, "1.") && fault != "any-version" {
		if fault == "version-crashes" {
			crash()
		}
		fmt.Fprintln(os.Stderr, `{"status":"error","error":"unsupported protocol version"}`)
		syscall.Exit(1)
	}
	switch {
	case call.Type == "lifecycle":
		mineEvent(fault, call.Event)
	case call.Type == "command":
		mineCommand_(fault)
	case call.Type == "hook" && call.Stage == "preexec":
		mineHook(fault, call.Context, len(stdin))
	case call.Type == "hook" && call.Stage == "notify":
		if fault == "notify-fails" {
			fmt.Fprintln(os.Stderr, "cannot")
			syscall.Exit(1)
		}
	case fault == "unknown-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	}
}

func mineEvent(fault, event string) {
	switch {
	case event == "health" && fault == "health":
		fmt.Println(`{"status":"poorly"}`)
	case event == "health" && fault == "health-killed":
		kill()
	case event == "init" && fault == "init-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	case event == "health":
		fmt.Println(`{"status":"ok"}`)
	}
}

func mineCommand_(fault string) {
	switch fault {
	case "command":
		syscall.Exit(1)
	case "command-crashes":
		crash()
	case "fine": // a command may ask the user, and must work without one
		if _, err := os.Open("/dev/tty"); err != nil {
			fmt.Fprintln(os.Stderr, "no terminal:", err)
		}
	}
	fmt.Println("shown")
}

func mineHook(fault string, context json.RawMessage, size int) {
	switch fault {
	case "hook-hangs":
		time.Sleep(time.Hour) // the planted fault: it hangs
	case "hook-killed":
		kill()
	case "hook-crashes":
		crash()
	case "hook-silent":
		syscall.Exit(1)
	case "not-json":
		fmt.Println("tagged")
	case "status":
		fmt.Println(`{"status":"fine"}`)
	case "context":
		fmt.Println(`{"status":"ok","context":{"flags":{"n":1}}}`)
	case "context-misspelt":
		fmt.Println(`{"status":"ok","contxt":{"args":[]},"context":{"flags":{"n":1}}}`)
	case "context-null":
		fmt.Println(`{"status":"ok","context":{"args":null}}`)
	case "misspelt":
		fmt.Println(`{"status":"ok","contxt":{"args":[]}}`)
	case "unsaid":
		fmt.Fprintln(os.Stderr, "cannot")
		syscall.Exit(1)
	case "huge-dies":
		if size > 128<<10 {
			fmt.Fprintln(os.Stderr, `{"error":"argument list too long"}`)
			syscall.Exit(126)
		}
	case "lock":
		fakeLock()
	case "file":
		if _, err := os.ReadFile(secret()); err != nil {
			fmt.Fprintf(os.Stderr, "{\"status\":\"error\",\"error\":%q}\n", err.Error())
			syscall.Exit(1)
		}
	}
	if fault != "not-json" && fault != "status" && !strings.HasPrefix(fault, "context") && fault != "misspelt" && fault != "early" {
		say(fault, fmt.Sprintf(`{"status":"ok","context":%s}`, context))
	}
}
