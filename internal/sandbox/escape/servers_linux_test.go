package escape

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The network is the arena's own, so the ports can be fixed.
const (
	portGranted = "8443"
	portOther   = "9443"
	portUDP     = "9444"
	portListen  = "9445" // where an attempt would wait for a connection
)

// The names that the canary DNS server knows.
const (
	nameGranted   = "service.test"   // the neighbour
	nameForbidden = "forbidden.test" // the neighbour, too
	nameRebinding = "rebinding.test" // granted, but it resolves to the loopback device
)

// serveTCP answers every connection with one line. Like all servers here it runs until the process
// ends.
func serveTCP(address, answer string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go answerAll(l, answer)
	return nil
}

func serveUnix(kind, address, answer string) error {
	l, err := net.Listen(kind, address)
	if err != nil {
		return err
	}
	go answerAll(l, answer)
	return nil
}

func answerAll(l net.Listener, answer string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.WriteString(c, answer+"\n") // the attempt may have ended
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(io.Discard, c) // closing with unread data would discard the answer
		}()
	}
}

// serveUDP answers every packet with one line and calls heard.
func serveUDP(address, answer string, heard func(string)) error {
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	go answerPackets(c, answer, heard)
	return nil
}

func answerPackets(c net.PacketConn, answer string, heard func(string)) {
	buf := make([]byte, 2048)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if heard != nil {
			heard(string(buf[:n]))
		}
		if from != nil {
			_, _ = c.WriteTo([]byte(answer+"\n"), from)
		}
	}
}

// serverLog records what the servers receive.
type serverLog struct {
	mu    sync.Mutex // protects heard
	heard strings.Builder
	usr2  atomic.Int64 // signals that the host received
	marks atomic.Int64 // how many marks awaitPackets has made
}

func (e *serverLog) note(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.WriteString(text + "\n")
}

// has reports whether a text was received, ignoring case, because DNS names come in any case.
func (e *serverLog) has(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Contains(strings.ToLower(e.heard.String()), strings.ToLower(text))
}

// awaitPackets waits until every packet sent so far was received, so that a late one is not
// attributed to the next run. A server receives packets in order, so each server is sent one more.
func (e *serverLog) awaitPackets() {
	mark := fmt.Sprintf("settled%d", e.marks.Add(1))
	question := append(make([]byte, 12, 64), byte(len(mark)))
	question = append(append(question, mark...), 0, 0, 16, 0, 1)
	sent := 0
	for address, packet := range map[string]string{"127.0.0.1:" + portUDP: mark, "127.0.0.1:" + portGranted: mark, "[::1]:" + portUDP: mark, "127.0.0.1:53": string(question)} {
		c, err := net.Dial("udp", address)
		if err != nil {
			continue
		}
		if _, err := c.Write([]byte(packet)); err == nil {
			sent++
		}
		_ = c.Close()
	}
	for end := time.Now().Add(5 * time.Second); e.count(mark) < sent && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

func (e *serverLog) count(text string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Count(e.heard.String(), text)
}

// openServers starts every server that an attempt may try to reach.
func openServers(secret, stray string, e *serverLog) error {
	datagram := func(network, address string) error {
		c, err := net.ListenPacket(network, address)
		if err == nil {
			go answerPackets(c, secret, e.note)
		}
		return err
	}
	return errors.Join(
		serveTCP("127.0.0.1:"+portGranted, "granted"),
		serveTCP("127.0.0.2:"+portGranted, secret),
		serveTCP("[::1]:"+portGranted, secret),
		serveTCP("127.0.0.1:"+portOther, secret),
		serveTCP("[::1]:"+portOther, secret),
		serveUDP("127.0.0.1:"+portUDP, secret, e.note),
		serveUDP("127.0.0.1:"+portGranted, secret, e.note),
		serveUDP("[::1]:"+portUDP, secret, e.note),
		serveUnix("unix", secretDir+"/socket", secret),
		serveUnix("unix", grantDir+"/socket", secret),
		serveUnix("unixpacket", secretDir+"/packets", secret),
		serveUnix("unix", "@"+stray, secret),
		serveUnix("unix", "@"+secret, secret), // the name alone is the secret
		datagram("unixgram", secretDir+"/datagrams"),
		datagram("unixgram", "@"+stray+".datagrams"),
		serveDescriptors("@"+stray+".passing"),
		serveDNS(secret, e),
	)
}

// serveDescriptors sends the open canary to every process that connects.
func serveDescriptors(address string) error {
	l, err := net.Listen("unix", address)
	if err != nil {
		return err
	}
	f, err := os.Open(secretDir + "/canary")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _, _ = c.(*net.UnixConn).WriteMsgUnix([]byte("x"), unix.UnixRights(int(f.Fd())), nil)
			c.Close()
		}
	}()
	return nil
}

// serveDNS serves port 53. By UDP it answers queries for text with the secret, queries for the
// names above with their IPv4 addresses, and queries for unknown names with NXDOMAIN. By TCP it
// sends the secret on every connection.
func serveDNS(secret string, e *serverLog) error {
	l, err := net.Listen("tcp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	go answerAll(l, secret)
	c, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			name, reply := answerDNS(buf[:n], secret)
			e.note(name)
			_, _ = c.WriteTo(reply, from)
		}
	}()
	return nil
}

// answerDNS reads the one question of a query, as the attempts and the system's resolver send it.
func answerDNS(query []byte, secret string) (name string, reply []byte) {
	if len(query) < 17 {
		return "", nil
	}
	at := 12
	for at < len(query) && query[at] != 0 {
		end := min(at+1+int(query[at]), len(query))
		name += string(query[at+1:end]) + "."
		at = end
	}
	if at+5 > len(query) {
		return name, nil
	}
	kind := binary.BigEndian.Uint16(query[at+1:])
	reply = append(reply, query[:at+5]...)
	binary.BigEndian.PutUint16(reply[2:], 0x8180)
	clear(reply[6:12]) // no answers so far
	addr := map[string]string{
		nameGranted + ".": neighbourAddr, nameForbidden + ".": neighbourAddr, nameRebinding + ".": "127.0.0.2",
	}[strings.ToLower(name)]
	var data []byte
	switch {
	case kind == 16:
		data = append([]byte{byte(len(secret))}, secret...)
	case addr == "":
		reply[3] |= 3 // NXDOMAIN
		return name, reply
	case kind == 1:
		data = net.ParseIP(addr).To4()
	default:
		return name, reply
	}
	binary.BigEndian.PutUint16(reply[6:], 1)
	reply = append(reply, 0xc0, 12)
	reply = binary.BigEndian.AppendUint16(reply, kind)
	reply = append(reply, 0, 1, 0, 0, 0, 1)
	reply = binary.BigEndian.AppendUint16(reply, uint16(len(data)))
	return name, append(reply, data...)
}

// call tries, until stopped, to connect to attempts that wait for a connection, and sends them the
// secret.
func call(secret, stray string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
		for network, address := range map[string]string{"tcp": "127.0.0.1:" + portListen, "unix": "@" + stray + ".called"} {
			if c, err := net.Dial(network, address); err == nil {
				_, _ = io.WriteString(c, secret+"\n")
				c.Close()
			}
		}
	}
}
