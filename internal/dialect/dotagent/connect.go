package dotagent

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists the points to which a kind can be connected, besides its point of [native]: a
// preflight to points before something happens, a sink to points with a text to store, a notifier
// to points after something happened. In the payload for a point that is not of a job, agent is the
// host and schedule is the name of the point.
var elsewhere = []translation{
	{kindPreflight, hook.TurnBegin, aboutToHappen},
	{kindPreflight, hook.ToolBefore, aboutToHappen},
	{kindPreflight, hook.CommandValidate, aboutToHappen},
	{kindPreflight, hook.CommandBefore, aboutToHappen},

	{kindSink, hook.TurnFinal, turnText},
	{kindSink, hook.TurnDone, turnText},
	{kindSink, hook.ToolAfter, toolResult},
	{kindSink, hook.CommandAfter, commandOutput},
	{kindSink, hook.CommandDone, commandOutput},
	{kindSink, hook.SessionIdle, func(p hook.Object) occasion {
		return occasion{event: eventSuccess, message: dialect.AsText(p.Get("transcript"))}
	}},
	{kindSink, hook.JobNotify, ofJob},

	{kindNotify, hook.TurnDone, turnNews},
	{kindNotify, hook.ToolAfter, toolNews},
	{kindNotify, hook.CommandDone, commandNews},
	{kindNotify, hook.SessionIdle, successText("the session has gone quiet")},
	{kindNotify, hook.SessionEnd, sessionNews},
	{kindNotify, hook.JobSink, ofJob},
}

// connection returns the entry of a kind at a point. The error names the points to which that kind
// can be connected.
func connection(kind string, point hook.Point) (*translation, error) {
	return dialect.Connection(Name, dialect.Spot{Hook: kind, Point: point}, (*translation).spot, native, elsewhere)
}

func aboutToHappen(hook.Object) occasion { return occasion{event: eventPreflight} }

// outcome returns the protocol's event for a success or a failure.
func outcome(failed bool) string {
	if failed {
		return eventFailed
	}
	return eventSuccess
}

func turnText(p hook.Object) occasion {
	return occasion{event: outcome(turnError(p) != ""), message: dialect.AsText(p.Get("text"))}
}

func toolResult(p hook.Object) occasion {
	return occasion{event: outcome(toolFailed(p)), message: dialect.AsText(p.Get("result"))}
}

// commandOutput returns the stdout of a program, as a sink of a job gets the agent's stdout. Any
// other result is serialised.
func commandOutput(p hook.Object) occasion {
	o := occasion{event: outcome(commandError(p) != "" || exitCode(p) != ""), message: dialect.AsText(p.Get("result"))}
	if result, err := rawjson.Parse(p.Get("result")); err == nil && result.Get("stdout") != nil {
		o.message = dialect.AsText(result.Get("stdout"))
	}
	return o
}

// successText returns a function for a [translation]. The event is a success, and the message is
// the given text.
func successText(format string, args ...any) func(hook.Object) occasion {
	return func(hook.Object) occasion {
		return occasion{event: eventSuccess, message: rawjson.String(fmt.Sprintf(format, args...))}
	}
}

func turnNews(p hook.Object) occasion {
	if why := turnError(p); why != "" {
		return failure("the turn failed: " + why)
	}
	return turnText(p)
}

func toolNews(p hook.Object) occasion {
	tool := dialect.Plain(p.Get("tool"))
	if !toolFailed(p) {
		return successText("%s has run", tool)(p)
	}
	why := dialect.Plain(p.Get("error"))
	if why == "" {
		why = dialect.Plain(p.Get("result"))
	}
	return failure(tool + " failed: " + why)
}

func commandNews(p hook.Object) occasion {
	if why := commandError(p); why != "" {
		return failure(why)
	}
	command := dialect.Plain(p.Get("command"))
	if code := exitCode(p); code != "" {
		return failure(command + " failed with exit code " + code)
	}
	return successText("%s has run", command)(p)
}

func sessionNews(p hook.Object) occasion {
	return successText("session %s has ended", dialect.Plain(p.Get("session_id")))(p)
}

func failure(message string) occasion {
	return occasion{event: eventFailed, message: rawjson.String(message)}
}

func turnError(p hook.Object) string { return dialect.Plain(p.Get("error")) }

// commandError returns why a command was refused or could not run, "" if it has run.
func commandError(p hook.Object) string { return dialect.Plain(p.Get("error")) }

func toolFailed(p hook.Object) bool {
	return string(p.Get("success")) == "false" || dialect.Plain(p.Get("error")) != ""
}

// exitCode returns the exit code of a program that failed. It returns "" if the program succeeded,
// or if the result has no exit code.
func exitCode(p hook.Object) string {
	result, err := rawjson.Parse(p.Get("result"))
	if err != nil {
		return ""
	}
	if code := dialect.Plain(result.Get("exit_code")); code != "0" {
		return code
	}
	return ""
}
