package broker

import (
	"io"
	"net"
	"time"
)

// drainTime is how long a server may go on answering after the plugin could send it no more. A
// server that has no patience with an upload answers, and resets the connection; its answer must
// still reach the plugin.
const drainTime = time.Second

// relay passes bytes both ways until both directions have ended, each for itself: the end of one is
// passed on as a half-close. A connection that breaks on one side is reset on the other, so that a
// reply cut short does not look like a whole one. first has already been read from the plugin.
//
// Between TCP sockets io.Copy is splice(2) on Linux: the bytes never enter this process.
func relay(plugin *net.TCPConn, up net.Conn, first []byte) {
	u := upward{done: make(chan struct{})}
	go func() {
		defer close(u.done)
		u.err = passUp(up, plugin, first)
	}()
	_, err := io.Copy(plugin, up)
	if err == nil {
		err = u.broken()
	}
	if err == nil {
		err = plugin.CloseWrite()
	}
	if err != nil {
		resetBoth(plugin, up) // ends the upward direction too
	}
	<-u.done
	if u.err != nil {
		resetBoth(plugin, up)
	}
}

// upward is the direction from the plugin to the server.
type upward struct {
	done chan struct{} // closed when it has ended
	err  error         // why, where it broke; set before done is closed
}

// broken is the error with which the direction has already ended. After it, the end of the other
// direction is no end but the same break: a socket reports it once, to whoever comes first.
func (u *upward) broken() error {
	select {
	case <-u.done:
		return u.err
	default:
		return nil
	}
}

// passUp passes what the plugin sends. When it breaks, it gives the other direction drainTime.
func passUp(up net.Conn, plugin *net.TCPConn, first []byte) (err error) {
	if len(first) > 0 {
		_, err = up.Write(first)
	}
	if err == nil {
		_, err = io.Copy(up, plugin)
	}
	if err == nil {
		err = closeWrite(up)
	}
	if err != nil {
		_ = up.SetReadDeadline(time.Now().Add(drainTime)) // fails on a closed connection, from which no more is read
	}
	return err
}

// closeWrite tells the other end that nothing more will come. A connection that cannot be closed by
// halves is closed.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// reset closes a socket, and a connection so that the other end sees an error and not an end.
func reset(c io.Closer) error {
	if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // fails on a closed connection, which cannot be reset any more
	}
	return c.Close()
}

// resetBoth resets two connections whose errors are known already.
func resetBoth(a, b net.Conn) {
	_ = reset(a)
	_ = reset(b)
}
