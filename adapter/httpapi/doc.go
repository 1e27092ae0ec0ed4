// Package httpapi is the HTTP API of `patchbay serve`: the routes of the python protocol
// (docs/protocols/python.md, row P50), and under /v1 everything else. It turns requests into calls
// of a [Backend], and results into JSON or server-sent events. /openapi.json describes every route.
//
// The package knows no plugin, stores nothing and does not listen. The daemon implements the
// Backend and owns the http.Server.
//
// # Serving
//
// [New] returns the API as an [http.Handler]. Its [Options] have the Backend, one part for each
// topic; the routes of a part that is nil do not exist:
//
//	api := httpapi.New(httpapi.Options{Backend: backend, Token: token, Version: version})
//	server := &http.Server{Handler: api, ConnContext: httpapi.ConnContext,
//		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
//
// [CheckListen] refuses an address that other machines can reach without a token. [Announce]
// registers the listener, so that plugins in a sandbox cannot reach it through their host.
// [ConnContext] makes the API check the caller once for each connection. The server must not set
// ReadTimeout or WriteTimeout, because this package sets deadlines for each body and each write.
//
// Streams and turns run in the request's context. To shut down, cancel the server's BaseContext,
// then call Shutdown.
//
// # How a request flows
//
//	front.ServeHTTP      front.go      every request: panics, log, headers
//	  gate.check         security.go   checks Host, Origin, Sec-Fetch-Site, token and content type
//	    checkCaller      caller.go     without a token: refuses plugins in a sandbox
//	  front.takeBody     front.go      reads the body, limited in size and time
//	  front.dispatch     front.go      finds the route; 404 and 405 as JSON; the web pages
//	    add's closure    route.go      one route: checks its input, turns its error into a problem
//	      sources.go features.go sessions.go turns.go inspect.go traces.go recording.go plugins.go
//	      configuration.go events.go logs.go jobs.go hooks.go daemon.go
//	        Backend      backend.go    what the daemon provides
//	      stream         sse.go        if the answer is a stream
//	    problem          problem.go    every error: {"detail": "…"}
//
// # Adding a route
//
// A route is a call of add, with a [route] that describes it and a function from its input to its
// answer. The struct tags of both are the OpenAPI document: every field has a doc and an example.
// An error that the function returns becomes a problem; classify maps the errors of a Backend to
// statuses.
//
// # Describing answers
//
// Each shape of JSON is one Go type: the type that is encoded. Some answers are values of packages
// that this package must not import, such as internal/pluginhost and adapter/job. The backend
// returns them as values of type any, and hands their types over in [Shapes] for the document.
// Their fields have the same tags, in the packages that declare them: doc, example and enum, and
// nullable for a list that is null if it is empty. A pointer to an object is null if it is nil,
// except with omitempty. A field is required, except with omitempty or omitzero. The schemas of
// answers allow other fields, because a later version may add some; the schemas of requests do not.
//
// Two tests of internal/daemon check this with the real types: TestEverythingIsDescribed fails if a
// field has no doc or no example, and TestAnswersAreDescribed compares answers of a daemon with the
// document.
//
// # Turns
//
// A turn belongs to the request that started it. It is interrupted if the client disconnects, or if
// the client is too slow to read the events.
package httpapi
