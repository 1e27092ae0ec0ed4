// Package httpapi is the HTTP API of `patchbay serve`: the routes of the python protocol
// (docs/protocols/python.md, row P50), and under /v1 everything else. It turns requests into calls
// of a [Backend] and answers into JSON or server-sent events; /openapi.json describes all of it.
//
//	front.ServeHTTP      front.go      every request: panics, log, headers
//	  gate.check         security.go   Host, Origin, Sec-Fetch-Site, token, content type
//	    checkCaller      caller.go     without a token: no plugin in a sandbox
//	  front.takeBody     front.go      the body, bounded in size and time
//	  front.dispatch     front.go      the mux; 404 and 405 as JSON; the web pages
//	    add's closure    route.go      one route: its input checked, its error made a problem
//	      sources.go features.go sessions.go turns.go inspect.go events.go hooks.go
//	        Backend      backend.go    what the daemon provides
//	      stream         sse.go        where the answer is a stream
//	    problem          problem.go    every error: {"detail": "…"}
//
// What it is not: it knows no plugin and keeps no state; it does not listen. The daemon owns the
// http.Server. It sets ReadHeaderTimeout and IdleTimeout and leaves ReadTimeout and WriteTimeout at
// zero, since bodies and writes have deadlines of their own here. Its ConnContext is [ConnContext],
// and its listener has been through [Announce]. Streams and turns run in the request's context: to
// shut down, cancel the server's BaseContext, then call Shutdown.
//
// A turn belongs to the request that asked for it. A client that goes away, or that is too slow to
// take the events it asked for, interrupts its turn.
package httpapi
