// Package hosttest drives the real coding agents, headless, against a scripted model on loopback,
// and looks at what the model is sent and at what the tool calls left behind. It has no code of its
// own, only tests, and they run on Linux.
//
// The agents are programs of others that npm installs, two gigabytes of them; so the tests are
// skipped unless PATCHBAY_HOSTS names the directory where they were installed. make test-hosts
// installs them at the versions in package.json and runs the tests:
//
//	TestMain            puts the tests into a network namespace where only loopback is
//	stage               one run: a home directory, a repository, a script for the model
//	├─ product          how one agent is started (products_test.go), and where its hooks are written
//	├─ patchbay         the binaries, the plugins in the home directory, the daemon
//	└─ modeltest        the model: plays the script, and keeps what it was sent
//
// recipe_test.go shows that each agent runs a turn and its hooks fire, without Patchbay.
// smoke_test.go is the turn that everybody must pass, with plugins of our own and with those of the
// protocol documents; matrix_test.go, which runs with HOSTS_MATRIX=1, makes things go wrong.
package hosttest
