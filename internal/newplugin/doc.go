// Package newplugin makes new plugins: a directory with a working plugin, its tests and a README,
// for a dialect and a language.
//
// It is not an SDK, and it neither builds nor installs the plugins. The templates are real files in
// _templates. The Go and Python ones use the SDKs, whose files are copied beside the plugin, so
// that the plugin can be built and tested without a network.
//
//	Make              newplugin.go   turns a request into a plan: files, and the commands to type next
//	  CheckName       names.go       checks the name by the rule of the dialect
//	  files           templates.go   fills in the templates of the pair
//	    sdkFiles      sdk.go         the copy of an SDK
//	  next            next.go        test, dev, install, use
//	Plan.Write        write.go       writes all of it, or nothing
package newplugin
