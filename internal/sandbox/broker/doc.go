// Package broker is the host's end of a sandboxed plugin's network. The plugin has no other way out
// of its network namespace.
//
// In that namespace every address is local, every TCP connection is redirected to one listening
// socket, and a UDP socket answers on 127.0.0.1:53. The jail creates both sockets there and passes
// them to the host, which accepts and answers here. The plugin needs no proxy setting: it looks up
// a name and connects, as anywhere else.
//
//	ServeDNS ─► answer              one query at a time; nothing is forwarded
//	              └─► look          a granted name gets its own address in 198.18.0.0/15, any other NXDOMAIN
//
//	ServeTCP ─► serve ─► open ─► original     the address that the plugin used (SO_ORIGINAL_DST)
//	               │        ├─► policy.target  finds the name for that address; are name and port granted?
//	               │        ├─► checkHello     port 443 of a name: the TLS hello must name the same host
//	               │        └─► connect        resolve ─► policy.usable (no private address behind a public name) ─► dialAny ─► dialOne
//	               ├─► relay                   copies bytes in both directions until both have ended
//	               └─► refuse                  RST, and a Denial with the capability that would have allowed it
//
// Whatever a plugin sends, the broker dials only addresses that a grant allows. The host resolves a
// name when the plugin connects, and dials the address that it has checked. There is no second
// look-up to which a DNS server could give another answer.
//
// The package creates no namespace, no route and no listening socket, and parses no capabilities:
// its caller does this. It passes only TCP: no UDP, so no QUIC, and no ICMP.
//
// # Limits
//
//   - The broker cannot see inside TLS. A server with several names may answer for another of them
//     if the Host header of a request says so. On ports other than 443 the first bytes are not
//     checked.
//   - A TLS hello with encrypted_client_hello is refused, because its name cannot be read. Clients
//     that send a random one by default (Chromium, Firefox) must have that switched off. The TLS of
//     Go and OpenSSL does not send one by default.
//   - On port 443 of a granted name only TLS passes. This does not apply to a grant by address.
//   - The well-known NAT64 prefixes (64:ff9b::/96, 64:ff9b:1::/48) are recognised, but not those
//     that a network has chosen itself.
//   - A connection that the plugin has closed stays open until its server closes it or sends
//     something, because a full close looks like a half-close.
package broker
