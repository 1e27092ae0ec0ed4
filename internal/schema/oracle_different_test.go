package schema

import "regexp"

// differences are pairs for which the oracle gives another result, and why.
var differences = []struct{ schema, value, ours, theirs, why string }{
	{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"$ref":"#/definitions/a","const":1}`, "2",
		"fits", "does not fit", "before 2019-09 the keywords beside $ref have no effect; the oracle checks some of them"},
	{`{"$anchor":"x","additionalItems":{"$anchor":"x"}}`, "1", "fits", "is not a schema", "2020-12 has no additionalItems, so there is no schema in it"},
	{`{"$id":"urn:a","$ref":"b"}`, "1", "outside of the schema", "", "urn:b is not urn:a; the oracle treats them as the same"},
	{`{"maxLength":1e100}`, `"a"`, "fits", "does not fit", "the oracle's count overflows"},
	{`{"minLength":1e100}`, `"a"`, "does not fit", "fits", "the oracle's count overflows"},
	{`{"$ref":"http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"}`, "1",
		"which does not exist", "fits", "our code checks what a metaschema says, so no part of it can be referred to"},
	{`{"$ref":"https://json-schema.org/draft/2020-12/meta/core"}`, "{}",
		"outside of the schema", "fits", "our code checks what a metaschema says, so no part of it can be referred to"},
	{`{"$ref":"https://json-schema.org/draft/2020-12/schema#meta"}`, "{}",
		"which does not exist", "fits", "our code checks what a metaschema says, so no part of it can be referred to"},
	{`{"properties":{"a":{"$ref":"#/x"},"b":{"$ref":"#/y"}}}`, "1",
		`properties.b.$ref: refers to \"#/y\", which does not exist`, "is not a schema: []", "every reference that leads nowhere is named, not only the first"},
	{`{"patternProperties":{"[":1}}`, "1",
		`patternProperties[\"[\"]: must be of type boolean or object, is number`, "is not a schema", "a bad pattern does not hide the other faults"},
	{`{"$defs":{"a":{"$anchor":"z"},"b":{"$anchor":"z"}}}`, "1",
		"$defs.b.$anchor: is the name of two schemas", "is not a schema: []", "the fault names the second of the two schemas"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"@example.com"`, "does not fit", "fits", "RFC 5321 wants a local part"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"ipv4"}`, `"+1.2.3.4"`, "does not fit", "fits", "RFC 2673 has digits and dots"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"time"}`, `"+1:00:00Z"`, "does not fit", "fits", "RFC 3339 has digits and colons"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"uri-template"}`, `"{a,}"`, "does not fit", "fits", "RFC 6570 wants a name after the comma"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"uri-template"}`, `"{?a}"`, "fits", "does not fit", "RFC 6570 has this operator"},
}

// differentOnPurpose matches schemas for which the results may differ: see differences. A number
// with an exponent, or a long one, may be a count that overflows in the oracle.
var differentOnPurpose = regexp.MustCompile(`draft-0[67]|json-schema.org/draft/2020-12/|additionalItems|email|ipv4|uri-template|time|[0-9][eE]|[0-9]{18}|id" *: *"[^"/]*:`)

// formatTexts has texts for each format: some that are in the format, and some that nearly are.
var formatTexts = map[string][]string{
	"regex":                 {"", "a+", "(", "(?!a)", `\p{Script=Greek}`, "[b-a]"},
	"date":                  {"", "2024-02-29", "2023-02-29", "2024-2-9", "2024-13-01", "0000-01-01", "2024-01-01T", "২024-01-01", "+024-01-01"},
	"date-time":             {"2024-01-01T00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "2024-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "2016-12-31T22:59:60Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.123456789+01:00", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+0100", "2024-01-01"},
	"time":                  {"00:00:00Z", "23:59:60Z", "22:59:60-01:00", "00:59:60+01:00", "23:59:60+01:00", "1:00:00Z", "00:00Z", "00:00:00", "00:00:61Z", "00:60:00Z", "00:00:00+00:60", "00:00:00 Z", "00:00:00.1Z", "00:00:0০Z"},
	"duration":              {"P1Y", "P1Y2M3D", "PT1H", "PT1H2M3S", "P1W", "P", "PT", "P1", "1Y", "P1YT", "P2D1Y", "P1W1D", "P1.5D", "P1Y1D", "PT1H1S", "P1DT1H", "p1d", "P১Y", "P-1D", "P1H", "PT1D", "P1Y1Y", "P1WT1H"},
	"period":                {"2024-01-01T00:00:00Z/2024-01-02T00:00:00Z", "2024-01-01T00:00:00Z/P1D", "P1D/2024-01-01T00:00:00Z", "P1D/P1D", "2024-01-01T00:00:00Z", "/", "2024-01-01T00:00:00Z/"},
	"email":                 {"a@b", "a.b@c.d", "a..b@c", ".a@b", "a@", "ab", `"a b"@c`, `"a"b"@c`, "a b@c", "a@-b", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[::1]", "a@[1.2.3.4", "te~st@example.com", "a,b@c", "a@b@c"},
	"hostname":              {"a", "a.b", "a..b", "-a", "a-", "a_b", "", ".", "a.", "A.b-c.0", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "é"},
	"ipv4":                  {"1.2.3.4", "1.2.3", "01.2.3.4", "256.1.1.1", "1.2.3.4.5", "1.2.3.4 ", "0x1.2.3.4", "", "::1"},
	"ipv6":                  {"::1", "1::2::3", "::ffff:1.2.3.4", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "12345::", "", "[::1]", "1.2.3.4"},
	"uri":                   {"http://a", "http://a/b?c#d", "a", "/a", "mailto:a@b", "http://[::1]/", "http://::1/", "urn:a:b", "http://a b/", "://a", "http://a/%zz", "", "http://a:b/", "http://[::1", `http:\\a`, "http://[1.2.3.4]/", "http://[fe80::1%25eth0]/"},
	"uri-reference":         {"http://a", "a", "/a", "#a", "?a", `\a`, `a\b`, "#a%", "", "//a", "http://[::1", "a b", `http://a/\b`},
	"iri":                   {"http://é", "é", "http://a/é", "http://::1/"},
	"iri-reference":         {"http://é", "é", "#é", `\é`},
	"uri-template":          {"http://a/{b}", "http://a/{b", "http://a/b}", "http://a/{b}{c}", "{{a}}", "a", "", "http://a/{b:3}", "{b*}", "{+b}", "{a,b}", "http://a/{%41}"},
	"uuid":                  {"2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4aa73b441d163800-", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", ""},
	"json-pointer":          {"", "/", "/a/b", "a", "/~0~1", "/~", "/~2", "#/a", "/a~"},
	"relative-json-pointer": {"0", "1/a", "0#", "01", "", "/a", "-1/a", "1#/a", "0/~", "120/a/b", "+1", "1a"},
	"semver":                {"1.2.3", "1.2", "01.2.3", "1.2.3-a.1", "1.2.3-01", "1.2.3-a..b", "1.2.3+01", "1.2.3-+", "1.2.3+a+b", "v1.2.3", "1.2.3-a-b+c-d", "1.2.3.4", "", "1.2.3-0a", "1.2.3-"},
}
