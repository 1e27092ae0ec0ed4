// Package plugtest is what the tests of all dialects share: fakes that misbehave
// by name, the suite that every long-lived dialect must pass, and the protocol
// documents, read where they lie. No product code imports it.
//
//	Main, InstallFake   fake.go   the test binary itself, started under a fake's name
//	Suite.Run           suite.go  each misbehaviour beside a plugin that behaves
//	OpenAll, Bench      suite.go  plugins on a bus of their own
//	Seed                seed.go   blocks, spans and rows of a protocol document
//	NeedTool            tool.go   programs a test needs: skipped with a reason, in CI a failure
package plugtest
