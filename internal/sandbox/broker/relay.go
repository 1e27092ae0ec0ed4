package broker

import (
	"io"
	"net"
	"time"
)

// drainTime is how long a server may continue to answer after sending to it has failed. A server
// that rejects an upload answers and resets the connection, and its answer must still reach the
// plugin.
const drainTime = time.Second

// relay copies bytes in both directions until both have ended. The end of one direction is passed
// on as a half-close. If one side breaks, the other is reset, so that a truncated reply does not
// look complete. first has already been read from the plugin.
//
// Between TCP sockets on Linux, io.Copy uses splice(2): the bytes never enter this process.
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
		resetBoth(plugin, up) // also ends the upward direction
	}
	<-u.done
	if u.err != nil {
		resetBoth(plugin, up)
	}
}

// upward is the direction from the plugin to the server.
type upward struct {
	done chan struct{} // closed when it has ended
	err  error         // the error with which it ended; set before done is closed
}

// broken returns the error with which the upward direction has already ended, or nil. Such an error
// also ends the other direction. There it looks like a normal end, because a socket reports an
// error only once, to the first caller.
func (u *upward) broken() error {
	select {
	case <-u.done:
		return u.err
	default:
		return nil
	}
}

// passUp copies the bytes that the plugin sends. If that fails, it limits the other direction to
// drainTime.
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
		_ = up.SetReadDeadline(time.Now().Add(drainTime)) // fails on a closed connection, which is not read any more
	}
	return err
}

// closeWrite closes the writing half of a connection, or the whole connection if it has no halves.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// reset closes a socket. The peer of a connection sees an error instead of an end.
func reset(c io.Closer) error {
	if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // fails on a closed connection, which cannot be reset any more
	}
	return c.Close()
}

// resetBoth resets two connections whose errors are already known.
func resetBoth(a, b net.Conn) {
	_ = reset(a)
	_ = reset(b)
}
