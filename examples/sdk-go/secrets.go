package main

import "regexp"

// secrets lists the patterns of secrets. If a pattern has a group, that part of the text is kept,
// so that a reader knows what was there.
var secrets = []*regexp.Regexp{
	// password = …, "api_key": "…", DB_TOKEN=…
	regexp.MustCompile(`(?i)([\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|(?:api|access|private)[_-]?key)["']?[ \t]*[:=][ \t]*["']?)[^\s"',;]+`),
	// Authorization: Bearer …
	regexp.MustCompile(`(?i)(authorization["']?[ \t]*[:=][ \t]*["']?(?:basic|bearer|token)[ \t]+)[^\s"']+`),
	// https://user:password@host
	regexp.MustCompile(`(\w://[^\s/:@]*:)[^\s/@]+@`),
	// A private key, whole or cut off.
	regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
}

// hide returns a text without its secrets, and how many it had.
func hide(text, mask string) (string, int) {
	count := 0
	for _, pattern := range secrets {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			count++
			kept := pattern.FindStringSubmatch(found)[1]
			if found[len(found)-1] == '@' {
				return kept + mask + "@"
			}
			return kept + mask
		})
	}
	return text, count
}
