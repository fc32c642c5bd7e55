package simulated

import (
	"bytes"
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"hale/internal/core/policy"
	"hale/internal/sim/guest"
)

// tellsHealth has the guest answer as a gRPC server, where a check asks that at the port, and reports whether one does.
func (w *World) tellsHealth(c *conn) bool {
	if !w.asksHealth(c) {
		return false
	}
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return true
	}
	f := http2.NewFramer(c, c)
	if f.WriteSettings() != nil {
		return true
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return true
		}
		switch said := frame.(type) {
		case *http2.SettingsFrame:
			if !said.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if said.StreamEnded() {
				err = w.answerHealth(c, f, said.StreamID)
			}
		}
		if err != nil {
			return true
		}
	}
}

func (w *World) asksHealth(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, asked := w.checkAt(policy.CheckGRPC, c.at.Port())
	return asked
}

// The answers of grpc.health.v1.Health/Check, each with its length before it.
var (
	answerServing    = []byte{0, 0, 0, 0, 2, 8, 1}
	answerNotServing = []byte{0, 0, 0, 0, 2, 8, 2}
)

// answerHealth says how the guest is, unless that says nothing.
func (w *World) answerHealth(c *conn, f *http2.Framer, stream uint32) error {
	w.mu.Lock()
	h := w.heard(c)
	w.mu.Unlock()
	if h.HTTP == guest.Silence {
		return nil
	}
	answer := answerServing
	if h.HTTP == guest.Status5 {
		answer = answerNotServing
	}
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	write := func(ends bool, fields ...hpack.HeaderField) error {
		head.Reset()
		for _, field := range fields {
			_ = encoder.WriteField(field) // into memory
		}
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true,
			EndStream: ends})
	}
	if err := write(false, hpack.HeaderField{Name: ":status", Value: "200"},
		hpack.HeaderField{Name: "content-type", Value: "application/grpc"}); err != nil {
		return err
	}
	if err := f.WriteData(stream, false, answer); err != nil {
		return err
	}
	return write(true, hpack.HeaderField{Name: "grpc-status", Value: "0"})
}
