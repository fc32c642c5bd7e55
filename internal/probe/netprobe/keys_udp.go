package netprobe

import (
	"encoding/hex"
	"fmt"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type udpDraft struct {
	port          keys.At[int]
	send, sendHex keys.At[string]
	answer        keys.At[string]
}

var udpKeys = kinds.CheckOf(policy.CheckUDP, "port: 27015, send: TEXT",
	"Send one datagram and wait for the answer. A closed "+
		"port is a failure at once, as far as the machine says so; a datagram that is lost is one without an answer: let "+
		"down_after be more than 1.", udpShape(),
	func(c kinds.Asked, d keys.At[udpDraft]) {
		c.Check.Port, c.Check.UDP = d.Value.port.Value, udpOf(c, d)
	}, writeUDP)

func udpShape() keys.Object[udpDraft] {
	return keys.Object[udpDraft]{Fields: []keys.Field[udpDraft]{
		keys.Must("port", "27015", "The port.", keys.Integer(1, 65535),
			func(u *udpDraft) *keys.At[int] { return &u.port }),
		keys.May("send", "What is sent, as text. One of send and send_hex is needed.", keys.Text("a text",
			"ping"), func(u *udpDraft) *keys.At[string] { return &u.send }),
		keys.May("send_hex", "What is sent, as bytes in hexadecimal digits, with blanks between them or not.",
			hexadecimal(),
			func(u *udpDraft) *keys.At[string] { return &u.sendHex }),
		keys.May("answer", "A regular expression (RE2) that the answer must match, else it is a failure; `\\xNN` "+
			"stands for a byte below 80. Any answer will do where nothing is written.",
			keys.Text("a regular expression", "^pong"), func(u *udpDraft) *keys.At[string] { return &u.answer }),
	}}
}

// hexadecimal are bytes.
func hexadecimal() keys.Scalar[string] {
	return keys.Scalar[string]{
		Noun: "bytes in hexadecimal digits", Example: "\"ff 00 1a\"", Forms: []keys.Form{keys.FormText},
		Parse: func(text string) (string, *keys.Flaw) {
			b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil || len(b) == 0 {
				return "", keys.Flawf("write two digits for each, for example \"ff 00 1a\"",
					"%q are not bytes in hexadecimal digits", text)
			}
			return string(b), nil
		},
		Format: func(s string) any { return hex.EncodeToString([]byte(s)) },
		JSON: keys.Schema{Type: "string", Pattern: `^\s*[0-9A-Fa-f]{2}(\s*[0-9A-Fa-f]{2})*\s*$`,
			Noun: "bytes in hexadecimal digits"},
	}
}

// maxSend is what fits into one packet on any way, in bytes.
const maxSend = 1200

func udpOf(c kinds.Asked, at keys.At[udpDraft]) policy.UDPCheck {
	d := at.Value
	out := policy.UDPCheck{Send: []byte(d.send.Value), Answer: kinds.Pattern(c.Finder, d.answer)}
	switch {
	case d.send.Written() && d.sendHex.Written():
		c.Add(d.sendHex.Spot, "comes beside send", "take one of the two out")
	case d.sendHex.Written():
		out.Send = []byte(d.sendHex.Value)
	case at.How == keys.Given && d.send.How == keys.Absent:
		c.Add(at.Under("send"), "is missing", "say what the machine answers to: add send: ping, or send_hex: \"ff ff\"")
	}
	if len(out.Send) > maxSend {
		c.Add(at.Spot, fmt.Sprintf("sends %d bytes", len(out.Send)), fmt.Sprintf("send %d at most, which is one packet",
			maxSend))
	}
	return out
}

func writeUDP(c *policy.Check, p *keys.Pairs) {
	p.Add("port", "%d", c.Port)
	p.Add("send_hex", `"%x"`, c.UDP.Send)
	p.MayText("answer", c.UDP.Answer)
}
