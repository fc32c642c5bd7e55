package netprobe

import (
	"context"
	"net"

	"hale/internal/probe"
)

// maxDatagram is the longest answer that fits into one datagram, in bytes.
const maxDatagram = 64 << 10

// datagram sends the check's text and waits for an answer. The socket is connected: it hears its peer only, and learns
// when the port is closed. A lost datagram is not sent again: the check's thresholds say how many may get lost.
func (k asker) datagram(ctx context.Context, t probe.Target) error {
	return k.talk(ctx, t, "udp", func(conn net.Conn) error {
		c := &t.Spec.UDP
		if _, err := conn.Write(c.Send); err != nil {
			return err
		}
		answer := make([]byte, maxDatagram)
		n, err := conn.Read(answer)
		if err != nil {
			return err
		}
		return k.matches(c.Answer, string(answer[:n]))
	})
}
