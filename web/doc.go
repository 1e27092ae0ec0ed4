// Package web serves the page of `patchbay serve`. Its files, which Vite built from the sources in
// src, are embedded, so that only Go is needed to build everything. The package does not know the
// API that the page calls.
//
//	Handler            embed.go   the page, for httpapi.Options.Web
//	└─ pages.page      embed.go   index.html at each address of the page
//	└─ pages.asset     embed.go   files whose names change with their content, kept by browsers
//	└─ pages.other     embed.go   other files of dist, such as an icon; else 404
//
// It does no access control: adapter/httpapi checks each request first, and sets the
// Content-Security-Policy of the page. Nothing is read before the first request, and nothing is
// kept in memory after a request: the embedded bytes are part of the program's file.
package web
