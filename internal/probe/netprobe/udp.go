package netprobe

import (
	"context"
	"net"

	"hale/internal/probe"
)

// maxDatagram is the longest answer that fits into one datagram, in bytes.
const maxDatagram = 64 << 10

// datagram sends the check's text and waits for an answer. The socket is connected, so that it hears nobody else, and is told when nobody
// listens at the port. One that gets lost on the way is not sent again: how many may get lost is the affair of the check's thresholds.
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
