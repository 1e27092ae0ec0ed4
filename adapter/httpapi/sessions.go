package httpapi

import (
	"context"

	"github.com/patchbay-dev/patchbay/internal/session"
)

type sessionID struct {
	ID string `path:"id" maxLength:"256" doc:"The session's id."`
}

type sessionCreate struct {
	Body *struct { // `curl -X POST` without data makes a session too
		Plugins    []string `json:"plugins,omitempty" maxItems:"1024" doc:"Python plugins to activate, in this order."`
		WorkingDir string   `json:"working_dir,omitempty" doc:"Where its tools work; the daemon's own directory where it is left out."`
		Title      string   `json:"title,omitempty" maxLength:"1024"`
	}
}

type sessionUpdate struct {
	ID   string `path:"id" maxLength:"256" doc:"The session's id."`
	Body struct {
		Title   *string   `json:"title,omitempty" maxLength:"1024"`
		Plugins *[]string `json:"plugins,omitempty" maxItems:"1024" doc:"Replaces the list."`
	}
}

// A prefix is one of the two places where sessions are found: as seed 004 has it, and under /v1.
type prefix struct {
	path, id string
}

var sessionPrefixes = []prefix{{"/session", "session"}, {"/v1/sessions", "v1-session"}}

func (a *api) addSessions() {
	const tag = "sessions"
	missing := []int{404, 422}
	for _, p := range sessionPrefixes {
		one := p.path + "/{id}"
		add(a, route{method: "POST", path: p.path, id: p.id + "-create", tag: tag, summary: "Begin a session",
			doc: "Plugins that are not there are refused by name."}, a.createSession)
		add(a, route{method: "GET", path: p.path, id: p.id + "-list", tag: tag, summary: "List the sessions"}, a.listSessions)
		add(a, route{method: "GET", path: one, id: p.id + "-get", tag: tag, summary: "Show a session", errors: missing}, a.getSession)
		add(a, route{method: "PATCH", path: one, id: p.id + "-update", tag: tag, summary: "Change a session's title or plugins",
			errors: missing}, a.updateSession)
		add(a, route{method: "DELETE", path: one, id: p.id + "-delete", tag: tag, summary: "Delete a session and its transcript",
			errors: []int{404, 409, 422}}, a.deleteSession)
	}
	add(a, route{method: "GET", path: "/v1/sessions/{id}/transcript", id: "v1-session-transcript", tag: tag,
		summary: "Show all that was said in a session", errors: missing}, a.transcript)
}

func (a *api) createSession(ctx context.Context, in *sessionCreate) (*answer[session.Session], error) {
	var r SessionRequest
	if in.Body != nil {
		r = SessionRequest{Plugins: in.Body.Plugins, WorkingDir: in.Body.WorkingDir, Title: in.Body.Title}
	}
	s, err := a.Sessions.Create(ctx, r)
	return answered(shown(s), err)
}

func (a *api) listSessions(ctx context.Context, _ *struct{}) (*answer[[]session.Session], error) {
	sessions, err := a.Sessions.List(ctx)
	list := make([]session.Session, len(sessions))
	for i, s := range sessions {
		list[i] = shown(s)
	}
	return answered(list, err)
}

func (a *api) getSession(ctx context.Context, in *sessionID) (*answer[session.Session], error) {
	s, err := a.Sessions.Get(ctx, in.ID)
	return answered(shown(s), err)
}

func (a *api) updateSession(ctx context.Context, in *sessionUpdate) (*answer[session.Session], error) {
	s, err := a.Sessions.Update(ctx, in.ID, SessionUpdate{Title: in.Body.Title, Plugins: in.Body.Plugins})
	return answered(shown(s), err)
}

func (a *api) deleteSession(ctx context.Context, in *sessionID) (*answer[deleted], error) {
	return answered(deleted{in.ID}, a.Sessions.Delete(ctx, in.ID))
}

func (a *api) transcript(ctx context.Context, in *sessionID) (*answer[[]session.Entry], error) {
	entries, err := a.Sessions.Transcript(ctx, in.ID)
	return answered(orEmpty(entries), err)
}

// shown is a session whose plugins encode as a list even where it has none.
func shown(s session.Session) session.Session {
	s.Plugins = orEmpty(s.Plugins)
	return s
}
