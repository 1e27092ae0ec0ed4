// Package webtest uses the web page in Chromium as a person would: it clicks, types, drags and
// reads. Each test starts a real daemon with plugins of all dialects in its own home directory
// (testdata/home). One test adds the example plugins of the protocol documents.
//
//	newSite      site_test.go     a daemon, its address, and its home
//	newTab       browser_test.go  a page of the browser; click, fill, see, press
//	checkAxe     axe_test.go      no serious issue of accessibility
//	begin, say   talk_test.go     a session and its turns, without the page
//	picture      browser_test.go  light, dark and narrow, into $WEBTEST_SCREENSHOTS
//
// `make test-web` runs it. It is a separate module, so that Patchbay does not depend on packages
// that control a browser. Without Chromium the tests are skipped and say so.
package webtest
