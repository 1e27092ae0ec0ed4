// Package rerun runs some tests of a package again: as an ordinary user, and with their home and
// their temporary files outside of /tmp. These are tests whose results may differ there. It imports
// nothing of the module, so that every package's tests can use it.
//
//	Tests         some tests by name, as root and as nobody, below /tmp and elsewhere
//	└─► Visit.Run one run of the test binary, as one user in one place
package rerun
