// Package web is the page of `patchbay serve` as files: what Vite built of the sources beside it,
// embedded, so that Go alone builds everything. It serves files and knows nothing of the API that
// they call.
//
//	Handler            embed.go   the page, for httpapi.Options.Web
//	└─ pages.page      embed.go   index.html at each address of the page
//	└─ pages.asset     embed.go   files whose names change with their content, kept by browsers
//	└─ pages.other     embed.go   other files of dist, such as an icon; else 404
//
// What it is not: access control. The gate of adapter/httpapi decides who is let in before a
// request comes here, and sets the Content-Security-Policy of the page. Nothing is read before the
// first request, and nothing is kept after it: embedded bytes are pages of the program's own file.
package web
