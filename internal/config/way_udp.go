package config

import (
	"encoding/hex"
	"fmt"
	"strings"

	"hale/internal/fleet"
)

type udpDraft struct {
	port          at[int]
	send, sendHex at[string]
	answer        at[string]
}

var udpWay = wayOf(fleet.CheckUDP, "port: 27015, send: TEXT", "Send one datagram and wait for the answer. A closed "+
	"port is a failure at once, as far as the machine says so; a datagram that is lost is one without an answer: let "+
	"down_after be more than 1.", udpShape(),
	func(c *fleetCompiler, d at[udpDraft], out *fleet.Check) {
		out.Port, out.UDP = d.value.port.value, c.udp(d)
	}, writeUDP)

func udpShape() object[udpDraft] {
	return object[udpDraft]{fields: []field[udpDraft]{
		must("port", "27015", "The port.", integer(1, 65535), func(u *udpDraft) *at[int] { return &u.port }),
		may("send", "What is sent, as text. One of send and send_hex is needed.", text("a text",
			"ping"), func(u *udpDraft) *at[string] { return &u.send }),
		may("send_hex", "What is sent, as bytes in hexadecimal digits, with blanks between them or not.", hexadecimal(),
			func(u *udpDraft) *at[string] { return &u.sendHex }),
		may("answer", "A regular expression (RE2) that the answer must match, else it is a failure; `\\xNN` stands "+
			"for a byte below 80. Any answer will do where nothing is written.",
			text("a regular expression", "^pong"), func(u *udpDraft) *at[string] { return &u.answer }),
	}}
}

// hexadecimal are bytes.
func hexadecimal() scalar[string] {
	return scalar[string]{
		noun: "bytes in hexadecimal digits", example: "\"ff 00 1a\"", forms: []form{formText},
		parse: func(text string) (string, *flaw) {
			b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil || len(b) == 0 {
				return "", flawf("write two digits for each, for example \"ff 00 1a\"",
					"%q are not bytes in hexadecimal digits", text)
			}
			return string(b), nil
		},
		format: func(s string) any { return hex.EncodeToString([]byte(s)) },
		json: schema{Type: "string", Pattern: `^\s*[0-9A-Fa-f]{2}(\s*[0-9A-Fa-f]{2})*\s*$`,
			noun: "bytes in hexadecimal digits"},
	}
}

// maxSend is what fits into one packet on any way, in bytes.
const maxSend = 1200

func (c *fleetCompiler) udp(at at[udpDraft]) fleet.UDPCheck {
	d := at.value
	out := fleet.UDPCheck{Send: []byte(d.send.value), Answer: c.pattern(d.answer)}
	switch {
	case d.send.written() && d.sendHex.written():
		c.add(d.sendHex.spot, "comes beside send", "take one of the two out")
	case d.sendHex.written():
		out.Send = []byte(d.sendHex.value)
	case at.how == given && d.send.how == absent:
		c.add(at.under("send"), "is missing", "say what the machine answers to: add send: ping, or send_hex: \"ff ff\"")
	}
	if len(out.Send) > maxSend {
		c.add(at.spot, fmt.Sprintf("sends %d bytes", len(out.Send)), fmt.Sprintf("send %d at most, which is one packet",
			maxSend))
	}
	return out
}

func writeUDP(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	p.add("send_hex", `"%x"`, c.UDP.Send)
	p.unless(c.UDP.Answer == "", "answer", "%s", quoted(c.UDP.Answer))
}
