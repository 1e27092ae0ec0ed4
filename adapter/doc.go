// Package adapter has the code that all adapters share; each adapter is a package below it. An
// adapter is for one kind of program, such as a chat or a command line. It turns what happens in
// the program into events at Patchbay's points. It declares the small interface that it needs of
// Patchbay, and *patchbay.Host implements it.
package adapter
