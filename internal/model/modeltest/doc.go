// Package modeltest has model providers for tests: servers on loopback that speak the wire formats
// of Anthropic's Messages and OpenAI's Chat Completions, play replies in order, and record what
// they were asked. It misbehaves on request. A [Scripted] server also speaks OpenAI's Responses and
// Google's GenerateContent, and chooses its reply by what it was asked.
//
// It knows nothing of package model, so that model's own tests can use it. The product never
// imports it.
//
//	srv := modeltest.Anthropic(t, modeltest.Reply{Text: "hello"}, modeltest.Reply{Status: 529})
//	m, err := model.Open(model.Config{Provider: "anthropic", Name: "any", BaseURL: srv.URL})
//
// A request is served so:
//
//	Server.ServeHTTP
//	├─ record              the request, and which reply is its
//	├─ refuse              Reply.Status: an HTTP error
//	└─ play                Reply.Text, Tools, then the end, in the provider's events
//	   └─ misbehave        Raw, Error, Cut, Hang: in place of the end
package modeltest
