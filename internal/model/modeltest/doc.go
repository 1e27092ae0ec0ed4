// Package modeltest has model providers for tests: servers on loopback that speak the formats of
// Anthropic's Messages and OpenAI's Chat Completions, play replies in order, and record the
// requests. They misbehave on request. A [Scripted] server also speaks OpenAI's Responses and
// Google's GenerateContent, and chooses its reply by the request.
//
// It does not import package model, so that model's own tests can use it. The product never imports
// it.
//
//	srv := modeltest.Anthropic(t, modeltest.Reply{Text: "hello"}, modeltest.Reply{Status: 529})
//	m, err := model.Open(model.Config{Provider: "anthropic", Name: "any", BaseURL: srv.URL})
//
// The path of a request:
//
//	Server.ServeHTTP
//	├─ record              the request, and its reply
//	├─ refuse              Reply.Status: an HTTP error
//	└─ play                Reply.Text, Tools, then the end, in the provider's events
//	   └─ misbehave        Raw, Error, Cut, Hang: instead of the end
package modeltest
