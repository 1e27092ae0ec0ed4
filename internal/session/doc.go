// Package session defines the values of a conversation with the agent: the session, the entries of
// its transcript, pages of sessions, and ids. It stores nothing and does not know the engine, so
// that the agent, the HTTP API and the terminal can work with conversations from any store. Package
// sessionstore stores them.
package session
