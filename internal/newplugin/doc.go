// Package newplugin makes new plugins: a directory with a plugin that works, its tests and a
// README, for a dialect and a language.
//
// It is not an SDK, and it neither builds nor installs what it makes. The templates are real files
// in _templates; the Go and Python ones use the SDKs, whose files are copied beside the plugin, so
// that a plugin can be built and tested without a network.
//
//	Make              newplugin.go   a request becomes a plan: files, and the commands to type next
//	  check           names.go       the name, by the rule of the dialect
//	  files           templates.go   the templates of the pair, filled in
//	  sdkFiles        sdk.go         the copy of an SDK
//	  next            next.go        test, dev, install, use
//	Plan.Write        write.go       all of it, or nothing
package newplugin
