// Package broker is the only way out of a sandboxed plugin's network namespace: the host's end of
// it.
//
// In that namespace every address is local, every TCP connection is redirected to one listening
// socket, and a UDP socket answers on 127.0.0.1:53. Both sockets were made in there and handed to
// the host, which accepts and answers here. The plugin needs no proxy setting and no co-operation:
// it looks up a name and connects, as anywhere.
//
//	ServeDNS ─► answer              inline, one query at a time; nothing is ever forwarded
//	              └─► look          a granted name gets an address of its own out of 198.18.0.0/15, any other NXDOMAIN
//
//	ServeTCP ─► serve ─► open ─► original     where the plugin meant to go (SO_ORIGINAL_DST)
//	               │        ├─► policy.target  that address back to its name; is it granted, with this port?
//	               │        ├─► checkHello     port 443 of a name: the TLS hello must be for that very name
//	               │        └─► connect        resolve ─► policy.usable (no private address behind a public name) ─► dialAny ─► dialOne
//	               ├─► relay                   bytes both ways until both ends have ended
//	               └─► refuse                  RST, and a Denial that names the capability which would have allowed it
//
// Whatever a plugin makes the broker believe about a connection, what is dialled is an address that
// a grant allows. A name is resolved by the host when the plugin connects, and the address that was
// checked is the one that is dialled: there is no second look-up for a rebinding server to answer
// otherwise.
//
// What it is not: it makes no namespace, no route and no socket, knows no plugin, and reads no
// capability strings; its caller does. It passes TCP alone: no UDP, hence no QUIC, and no ICMP.
//
// # Limits
//
//   - What is inside TLS is not seen. A server of several names may answer for another of them when the request's Host
//     header says so. On ports other than 443 the first bytes are not looked at.
//   - A TLS hello with encrypted_client_hello is refused, since the name in it cannot be read. Clients that send a
//     random one for show (Chromium, Firefox) must have that switched off; the TLS of Go sends none unasked, nor does
//     OpenSSL's.
//   - On port 443 of a granted name only TLS passes. A grant by address has no such rule.
//   - NAT64 prefixes are known where they are well-known (64:ff9b::/96, 64:ff9b:1::/48), not where a network has
//     chosen its own.
//   - A connection that the plugin has closed lasts until its server closes it too, or sends something: a half-close
//     looks the same.
package broker
