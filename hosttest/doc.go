// Package hosttest runs the real coding agents, without a terminal, against a scripted model on
// loopback. It checks what the model is sent and what the tool calls have done. The package
// contains only tests, and they run only on Linux.
//
// The agents are programs of other vendors, two gigabytes installed by npm. So the tests are
// skipped unless PATCHBAY_HOSTS names the directory where they are installed. `make test-hosts`
// installs them at the versions in package.json and runs the tests:
//
//	TestMain            runs the tests in a network namespace that has only loopback
//	stage               is one run: a home directory, a repository, a script for the model
//	├─ product          says how one agent is started, and where its hooks are (products_test.go)
//	├─ patchbay         has the programs, the plugins in the home directory, and the daemon
//	└─ modeltest        is the model: it follows the script and stores what it was sent
//
// recipe_test.go checks that each agent runs a turn and starts its hooks, without Patchbay.
// smoke_test.go has the turn that Patchbay must pass in every agent, with our own plugins and with
// those of the protocol documents. matrix_test.go, which runs with HOSTS_MATRIX=1, makes plugins
// and the daemon fail.
package hosttest
