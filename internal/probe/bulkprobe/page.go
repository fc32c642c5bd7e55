package bulkprobe

import (
	"net/netip"
)

const (
	userAgent = "hale"
	// maxHead bounds an answer's head, in bytes, and maxInterim the answers with a status of 1xx before the real one.
	maxHead    = 64 << 10
	maxInterim = 5
)

// request appends the request for the target's page.
func (p *plan) request(b []byte, a netip.Addr) []byte {
	b = append(b, p.opening...)
	switch {
	case p.host != "":
		b = append(b, p.host...)
	case p.port != 80:
		b = netip.AddrPortFrom(a, p.port).AppendTo(b)
	case a.Is6():
		b = append(b, '[')
		b = a.AppendTo(b)
		b = append(b, ']')
	default:
		b = a.AppendTo(b)
	}
	b = append(b, "\r\nUser-Agent: "+userAgent+"\r\nAccept: */*\r\n"...)
	if !p.keep {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// phase is where in an answer's head the next byte belongs.
type phase uint8

const (
	inVersion phase = iota // "HTTP/1.1 "
	inCode
	inText // to the line's end
	lineBegin
	inName
	beforeValue
	inValue
	headEnd // a line's end is due, behind a carriage return
	headDone
	broken
)

// nameLength is that of the longest header that matters: transfer-encoding.
const nameLength = 17

// head reads an answer's head byte by byte as it comes: it holds nothing of it but what matters, and has no pointer.
type head struct {
	phase    phase
	why      note // of a broken one
	code     int16
	interim  uint8
	minor    byte  // of the version, as a digit
	size     int32 // bytes so far
	rest     int64 // of the body; -1: to the connection's end
	name     [nameLength]byte
	named    int8 // bytes of the name; more than nameLength: none that matters
	valued   int8
	at       uint8 // in the version or the code
	header   header
	chunked  bool
	closes   bool
	hasBytes bool // of a Content-Length
}

// header is one that matters.
type header uint8

const (
	otherHeader header = iota
	contentLength
	connection
	transferEncoding
)

// begin makes it read a new answer.
func (h *head) begin() { *h = head{rest: -1} }

// feed reads on, up to the end of the head of the final answer, and returns how many bytes it took. Whether it is done,
// or broken, says phase.
func (h *head) feed(b []byte) int {
	for k, c := range b {
		if h.size++; h.size > maxHead {
			h.fail(textLongHead)
		}
		h.step(c)
		if h.phase == headDone && h.code < 200 && h.code != 101 {
			h.another()
		}
		if h.phase == headDone || h.phase == broken {
			return k + 1
		}
	}
	return len(b)
}

// another begins the answer behind an interim one.
func (h *head) another() {
	n, size := h.interim+1, h.size
	h.begin()
	h.interim, h.size = n, size
	if n >= maxInterim {
		h.fail(textInterim)
	}
}

func (h *head) fail(why note) {
	if h.phase != broken {
		h.phase, h.why = broken, why
	}
}

// step takes one byte.
func (h *head) step(c byte) {
	switch h.phase {
	case inVersion:
		h.version(c)
	case inCode:
		h.status(c)
	case inText:
		if c == '\n' {
			h.phase = lineBegin
		}
	case lineBegin:
		h.line(c)
	case inName:
		h.naming(c)
	case beforeValue, inValue:
		h.valuing(c)
	case headEnd:
		if h.phase = headDone; c != '\n' {
			h.fail(textNotHTTP)
		}
	case headDone, broken:
	}
}

const version = "HTTP/1."

func (h *head) version(c byte) {
	at := int(h.at)
	h.at++
	switch {
	case at < len(version):
		if c != version[at] {
			h.fail(textNotHTTP)
		}
	case at == len(version):
		if h.minor = c; c != '0' && c != '1' {
			h.fail(textNotHTTP)
		}
	case c == ' ':
		h.phase, h.at = inCode, 0
	default:
		h.fail(textNotHTTP)
	}
}

func (h *head) status(c byte) {
	at := h.at
	h.at++
	switch {
	case at < 3 && c >= '0' && c <= '9':
		h.code = h.code*10 + int16(c-'0')
	case at < 3:
		h.fail(textNotHTTP)
	case c == ' ' || c == '\r':
		h.phase = inText
	case c == '\n':
		h.phase = lineBegin
	default:
		h.fail(textNotHTTP)
	}
}

// line takes the first byte of a line behind the status.
func (h *head) line(c byte) {
	switch c {
	case '\r':
		h.phase = headEnd
	case '\n':
		h.phase = headDone
	default:
		h.header, h.named, h.valued = otherHeader, 0, 0
		h.phase = inName
		h.naming(c)
	}
}

func (h *head) naming(c byte) {
	switch {
	case c == ':':
		if h.named == 0 {
			h.fail(textNotHTTP)
			return
		}
		h.phase, h.header = beforeValue, h.known()
	case !tokenByte(c):
		h.fail(textNotHTTP)
	case h.named < nameLength:
		h.name[h.named] = lower(c)
		h.named++
	default:
		h.named = nameLength + 1
	}
}

func (h *head) known() header {
	if h.named > nameLength {
		return otherHeader
	}
	switch string(h.name[:h.named]) {
	case "content-length":
		if h.hasBytes { // sent twice: the end of the body is unknown
			h.chunked = true
			return otherHeader
		}
		return contentLength
	case "connection":
		return connection
	case "transfer-encoding":
		return transferEncoding
	}
	return otherHeader
}

// valuing takes a byte of a header's value.
func (h *head) valuing(c byte) {
	switch {
	case c == '\n':
		h.valueEnd()
		if h.phase != broken {
			h.phase = lineBegin
		}
		return
	case c == ' ' || c == '\t' || c == '\r':
		if h.valued > 0 && h.header == contentLength {
			h.valued = 2 // a word is over
		}
		return
	case c < ' ' || c == 0x7f:
		h.fail(textNotHTTP)
		return
	}
	h.phase = inValue
	switch h.header {
	case contentLength:
		h.length(c)
	case connection:
		h.option(c)
	case transferEncoding:
		h.chunked = true // or worse
	case otherHeader:
	}
}

// length takes a digit of the body's length.
func (h *head) length(c byte) {
	const most = 1 << 50
	if h.valued > 1 || c < '0' || c > '9' {
		h.fail(textNotHTTP)
		return
	}
	h.rest = min(max(h.rest, 0)*10+int64(c-'0'), most)
	h.valued = 1
}

// option looks for the word close among what the connection's header lists.
func (h *head) option(c byte) {
	const word = "close"
	if c == ',' {
		h.valued = 0
		return
	}
	if h.valued >= 0 && int(h.valued) < len(word) && lower(c) == word[h.valued] {
		if h.valued++; int(h.valued) == len(word) {
			h.closes = true // "closer" passes for it, too, which only costs the kept connection
		}
		return
	}
	h.valued = -1
}

func (h *head) valueEnd() {
	if h.header == contentLength {
		h.hasBytes = true
		if h.valued == 0 {
			h.fail(textNotHTTP)
		}
	}
}

// keeps reports whether the connection is good for another request behind the body.
func (h *head) keeps(p *plan) bool {
	if h.closes || h.minor != '1' || h.code < 200 {
		return false
	}
	if p.bodyless || h.code == 204 || h.code == 304 {
		return true
	}
	return !h.chunked && h.rest >= 0
}

// body returns how many bytes of a body follow an answer on a kept connection.
func (h *head) body(p *plan) int64 {
	if p.bodyless || h.code == 204 || h.code == 304 {
		return 0
	}
	return h.rest
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// tokenByte reports whether a header's name may have it.
func tokenByte(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return true
	}
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return false
}

// verdict is what an answer's head means for the check.
func (h *head) verdict(p *plan) (reason, note) {
	if h.phase == broken {
		return protocol, h.why
	}
	if !p.check.HTTP.Accepts(int(h.code)) {
		return badStatus, statusNote(int(h.code))
	}
	return ok, textNone
}
