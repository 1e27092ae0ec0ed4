// Package feature says which feature flags there are, and what is told of one. Which are on is kept
// by internal/featurestore. It is not the config file: a flag is switched while things run, by
// whoever may use the HTTP API.
//
//	Known    all flags at their defaults, by hand
//	Find     one of them; another name is ErrUnknown
package feature
