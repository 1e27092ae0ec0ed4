package dotagent

import (
	"encoding/json"
	"time"
)

// The protocol's figures, all from the rulings: "Deadlines: info 10 s, validate 30 s, preflight 30
// s, sink 300 s, notify 15 s" and "on the deadline the group gets SIGTERM, 5 s later SIGKILL".
const (
	infoTimeout      = 10 * time.Second
	validateTimeout  = 30 * time.Second
	preflightTimeout = 30 * time.Second
	sinkTimeout      = 300 * time.Second
	notifyTimeout    = 15 * time.Second
	killGrace        = 5 * time.Second
)

// mostStdout bounds a reply. The protocol names no limit; a reply is a few words, and a schema, the
// longest thing a plugin prints, has kilobytes.
const mostStdout = 4 << 20

// filePrefix: seed 000, "any binary named dotagent-plugin-<name>".
const filePrefix = "dotagent-plugin-"

// systemPlace: seed 000, the third of the places that are searched.
const systemPlace = "/usr/local/lib/dotagent/plugins"

// The verbs. Seed 000: "A plugin must accept exactly one positional argument: the verb".
const (
	verbInfo     = "info"
	verbValidate = "validate"
	verbInvoke   = "invoke"
)

// The kinds of plugin, which are also the names of its hooks.
const (
	kindPreflight = "preflight"
	kindSink      = "sink"
	kindNotify    = "notify"
)

// kinds are all of them, in the order in which a job meets them.
var kinds = []string{kindPreflight, kindSink, kindNotify}

// timeouts are how long an invoke of each kind may take.
var timeouts = map[string]time.Duration{
	kindPreflight: preflightTimeout,
	kindSink:      sinkTimeout,
	kindNotify:    notifyTimeout,
}

// The events that the host itself names; the others come with a job's event.
const (
	eventPreflight = "preflight"
	eventSuccess   = "success"
	eventFailed    = "attempt_failed"
)

// emptyConfig: the rulings, "config left out of the manifest is sent as {} (typed plugins cannot
// parse null)".
var emptyConfig = json.RawMessage("{}")

// Reply fields with a meaning. Seed 000 of all others: "Extra fields are forwarded into dotagent's
// logs and --verbose output".
const (
	fieldOK      = "ok"
	fieldError   = "error"
	fieldSuggest = "suggest"
)
