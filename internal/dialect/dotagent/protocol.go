package dotagent

import (
	"encoding/json"
	"time"
)

// The times of docs/protocols/dotagent.md, rows D40 and D42.
const (
	infoTimeout      = 10 * time.Second
	validateTimeout  = 30 * time.Second
	preflightTimeout = 30 * time.Second
	sinkTimeout      = 300 * time.Second
	notifyTimeout    = 15 * time.Second
	killGrace        = 5 * time.Second
)

// mostStdout limits a reply. The protocol has no limit. Replies are short: the longest text that a
// plugin prints is a schema of some kilobytes.
const mostStdout = 4 << 20

// filePrefix begins the name of a plugin's file: docs/protocols/dotagent.md, row D1.
const filePrefix = "dotagent-plugin-"

// systemPlace is the third place of docs/protocols/dotagent.md, row D21.
const systemPlace = "/usr/local/lib/dotagent/plugins"

// The verbs. Each is the only argument of a call: docs/protocols/dotagent.md, row D25.
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

// kinds lists all kinds, in the order in which a job calls them.
var kinds = []string{kindPreflight, kindSink, kindNotify}

// timeouts has the deadline of invoke for each kind.
var timeouts = map[string]time.Duration{
	kindPreflight: preflightTimeout,
	kindSink:      sinkTimeout,
	kindNotify:    notifyTimeout,
}

// The values that the host itself sets in the field event of a payload. All other values are copied
// from the event of a job.
const (
	eventPreflight = "preflight"
	eventSuccess   = "success"
	eventFailed    = "attempt_failed"
)

// emptyConfig is sent if there is no config: docs/protocols/dotagent.md, row D31.
var emptyConfig = json.RawMessage("{}")

// The fields of a reply that the host reads. All others are logged: docs/protocols/dotagent.md, row
// D39.
const (
	fieldOK      = "ok"
	fieldError   = "error"
	fieldSuggest = "suggest"
)
