// Package session has the values of a conversation with the agent: the session, the entries of its
// transcript, its pages and its ids. It keeps nothing and knows no engine, so that the agent, the
// HTTP API and the terminal can be given conversations from wherever they are kept. Package
// sessionstore keeps them.
package session
