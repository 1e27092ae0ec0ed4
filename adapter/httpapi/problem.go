package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A problem is an error in the form that clients get: docs/protocols/python.md, row P58.
type problem struct {
	status int
	Detail string `json:"detail" doc:"What went wrong, for a person to read." example:"Plugin not found: nope"`
}

func (p *problem) Error() string  { return p.Detail }
func (p *problem) GetStatus() int { return p.status }

// write answers with the problem, outside of huma's routes.
func (p *problem) write(w http.ResponseWriter) {
	if p.status == http.StatusUnauthorized {
		w.Header().Add("WWW-Authenticate", `Bearer realm="patchbay"`)
		w.Header().Add("WWW-Authenticate", `Basic realm="patchbay"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client is gone
}

// Texts that clients may compare: docs/protocols/python.md, row P58.
const (
	detailFeatureOff  = "Plugins feature is not enabled. Enable it in settings."
	detailNoPlugin    = "Plugin not found: "
	detailInvalidCode = "Invalid plugin code: "
	detailNoSession   = "Session not found"
)

// Other texts.
const (
	detailInternal = "Internal error. The log of the daemon has the reason."
	detailNoToken  = "A token is needed: send Authorization: Bearer TOKEN, with the token of [server] in the configuration."
)

// maxDetail limits the text of an error, in bytes. The end of a Python traceback fits.
const maxDetail = 4 << 10

// named turns an error about something that does not exist into a problem with its name. Other
// errors stay as they are.
func named(err error, name string) error {
	switch {
	case errors.Is(err, ErrNoPlugin):
		return &problem{http.StatusNotFound, detailNoPlugin + excerpt.Of(name, maxName)}
	case errors.Is(err, feature.ErrUnknown):
		return &problem{http.StatusNotFound, "Feature not found: " + excerpt.Of(name, maxName)}
	case errors.Is(err, ErrNoTool):
		return &problem{http.StatusNotFound, "Tool not found: " + excerpt.Of(name, maxName)}
	}
	return err
}

// asProblem returns what a client gets for an error. shown is false if the error must be logged
// because the client does not see it. Unknown errors are not shown, because they may contain a
// secret.
func asProblem(err error) (p *problem, shown bool) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p, true
	}
	status, detail := classify(err)
	return &problem{status, excerpt.Of(detail, maxDetail)}, status != http.StatusInternalServerError
}

// classify maps the errors of a backend to a status and a text. No other function does.
func classify(err error) (status int, detail string) {
	if e, ok := errors.AsType[*InvalidCodeError](err); ok {
		return http.StatusBadRequest, detailInvalidCode + e.Reason
	}
	if e, ok := errors.AsType[*InvalidNameError](err); ok {
		return http.StatusBadRequest, "Invalid plugin name: " + quote(e.Name) + nameRule
	}
	if e, ok := errors.AsType[*UnknownPluginsError](err); ok {
		return http.StatusBadRequest, "Unknown plugins: " + strings.Join(e.Names, ", ")
	}
	if e, ok := errors.AsType[*InvalidRequestError](err); ok {
		return http.StatusBadRequest, e.Reason
	}
	if e, ok := errors.AsType[*UnprocessableError](err); ok {
		return http.StatusUnprocessableEntity, e.Reason
	}
	switch {
	case errors.Is(err, ErrNoJob):
		return http.StatusNotFound, "Job not found" + strings.TrimPrefix(err.Error(), ErrNoJob.Error())
	case errors.Is(err, ErrNoTrace):
		return http.StatusNotFound, "Trace not found: it may be too old to be stored"
	case errors.Is(err, ErrNoTurn):
		return http.StatusNotFound, "Turn not found: no plugin was called in it, or it is too old to be stored"
	case errors.Is(err, ErrJobBusy), errors.Is(err, ErrRunOver), errors.Is(err, ErrNotNow):
		return http.StatusConflict, err.Error()
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok {
		return http.StatusServiceUnavailable, e.Reason
	}
	if e, ok := errors.AsType[*session.BusyError](err); ok {
		return http.StatusConflict, e.Error()
	}
	if _, ok := errors.AsType[diskError](err); ok {
		return http.StatusInsufficientStorage, err.Error() // names the data directory and the fix
	}
	if _, ok := errors.AsType[silentError](err); ok {
		return http.StatusServiceUnavailable, err.Error()
	}
	if status := pluginStatus(err); status != 0 {
		return status, err.Error() // names the plugin and its failure
	}
	switch {
	case errors.Is(err, session.ErrNotFound):
		return http.StatusNotFound, detailNoSession
	case errors.Is(err, session.ErrCursor):
		return http.StatusBadRequest, "after: " + session.ErrCursor.Error()
	case errors.Is(err, hook.ErrUnknownPoint), errors.Is(err, hook.ErrBadPayload):
		return http.StatusBadRequest, err.Error()
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, "The request was cancelled."
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "The request took too long."
	}
	return http.StatusInternalServerError, detailInternal
}

// pluginStatus returns the status for a failed call to a plugin, or 0 if no plugin failed.
func pluginStatus(err error) int {
	e, ok := errors.AsType[*hook.Error](err)
	switch {
	case !ok || e.Plugin == "" || errors.Is(err, context.Canceled):
		return 0
	case e.Kind == hook.Timeout:
		return http.StatusGatewayTimeout
	case e.Kind == hook.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

// plainErrors turns huma's own errors, which are about input that does not fit, into problems.
// Otherwise we would have to replace a global function of huma.
func plainErrors(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	ctx.SetHeader("Content-Type", "application/json") // huma has set problem+json
	return &problem{e.Status, excerpt.Of(faults(e), maxDetail)}, nil
}

// maxFaults limits how many errors of one request are listed; a body of a megabyte can have many.
const maxFaults = 8

// faults joins an error and its parts into one line: where, and what.
func faults(e *huma.ErrorModel) string {
	var parts []string
	if len(e.Errors) == 0 {
		parts = append(parts, e.Detail)
	}
	for i, d := range e.Errors {
		if i == maxFaults {
			parts = append(parts, strconv.Itoa(len(e.Errors)-maxFaults)+" more")
			break
		}
		parts = append(parts, strings.TrimPrefix(d.Location+": "+excerpt.Of(d.Message, 200), ": "))
	}
	return "Invalid request: " + strings.Join(parts, "; ")
}

// maxName limits how much of a foreign name is repeated.
const maxName = 80

// quote returns foreign text, shortened and in quotes.
func quote(text string) string { return strconv.Quote(excerpt.Of(text, maxName)) }

// A diskError is the error of an engine whose disk cannot be written.
type diskError interface {
	error
	DiskRefuses()
}

// A silentError is the error of an engine that does not answer.
type silentError interface {
	error
	EngineSilent()
}
