// Package adapter holds the hosts, one folder each: what turns one kind of program's moments into
// events at the hub's points. An adapter declares the small interface it needs of Patchbay;
// *patchbay.Host satisfies it.
package adapter
