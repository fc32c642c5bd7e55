package bulkprobe

import (
	"bufio"
	"bytes"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"hale/internal/core/policy"
)

func FuzzEcho(f *testing.F) {
	for _, v6 := range []bool{false, true} {
		var b [echoSize]byte
		echo{id: 7, index: 3, token: 1 << 40}.request(&b, v6)
		f.Add(b[:])
		b[0] = map[bool]byte{false: echoReply4, true: echoReply6}[v6]
		f.Add(b[:])
		f.Add(append([]byte{0x45, 19: 0}, b[:]...))
		f.Add(b[:7])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v6 := range []bool{false, true} {
			e, is := parseEcho(b, v6)
			if !is {
				continue
			}
			var again [echoSize]byte
			e.request(&again, v6)
			if again[0] = b[0]; !bytes.Equal(again[4:], b[4:]) || e.index < 0 {
				if b[8]&0x80 == 0 {
					t.Errorf("%x was read as %+v", b, e)
				}
			}
		}
		if e, is := parseRaw4(b); is {
			head := int(b[0]&15) * 4
			if checksum(b[head:]) != 0 || len(b) != head+echoSize || e.index < 0 {
				t.Errorf("%x was read as %+v", b, e)
			}
		}
	})
}

// TestWrongEchoes reads what is not the reply to one of our requests.
func TestWrongEchoes(t *testing.T) {
	t.Parallel()
	var b [echoSize]byte
	echo{id: 7, index: 3, token: 1<<40 + 5}.request(&b, false)
	if checksum(b[:]) != 0 {
		t.Fatal("the request's checksum is wrong")
	}
	if _, is := parseEcho(b[:], false); is {
		t.Error("a request is taken for a reply")
	}
	packet := append([]byte{0x45, 19: 0}, b[:]...)
	packet[20] = echoReply4
	packet[22], packet[23] = 0, 0
	sum := checksum(packet[20:])
	packet[22], packet[23] = byte(sum>>8), byte(sum)
	if e, is := parseRaw4(packet); !is || e != (echo{7, 3, 1<<40 + 5}) {
		t.Errorf("the reply is read as %+v, %v", e, is)
	}
	for k := range packet {
		if k > 0 && k < 20 {
			continue // the header of IP was looked at by the kernel
		}
		packet[k] ^= 0x10
		if _, is := parseRaw4(packet); is {
			t.Errorf("with byte %d changed it is still taken for a reply", k)
		}
		packet[k] ^= 0x10
		if _, is := parseRaw4(packet[:k]); is {
			t.Errorf("the first %d bytes are taken for a reply", k)
		}
	}
}

// FuzzHead reads answers whole and in pieces: both ways the same follows, and what net/http makes of them.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", "HTTP/1.0 404 Not Found\n\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200\r\n\r\n", "HTTP/1.1 99999 x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1 \r\nContent-Length: 2\r\n\r\n", "HTTP/2 200\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		whole, pieces := head{}, head{}
		whole.begin()
		pieces.begin()
		used := whole.feed(b)
		taken := 0
		for rest := b; len(rest) > 0 && pieces.phase != headDone && pieces.phase != broken; {
			n := min(int(size%7)+1, len(rest))
			taken += pieces.feed(rest[:n])
			rest = rest[n:]
		}
		if whole != pieces || used != taken {
			t.Fatalf("whole %+v (%d bytes), in pieces %+v (%d)", whole, used, pieces, taken)
		}
		if whole.phase != headDone {
			return
		}
		if whole.code < 101 || whole.code > 999 || used > len(b) || whole.interim >= maxInterim {
			t.Fatalf("done with %+v", whole)
		}
		compare(t, &whole, b)
	})
}

// compare wants of an answer what net/http makes of it, as far as that takes it.
func compare(t *testing.T, h *head, b []byte) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
	if err != nil || h.interim > 0 {
		return
	}
	resp.Body.Close()
	if resp.StatusCode != int(h.code) {
		t.Fatalf("status %d, net/http says %d", h.code, resp.StatusCode)
	}
	if p := pageOf(""); h.keeps(p) && resp.ContentLength != h.body(p) && h.code != 204 && h.code != 304 {
		t.Fatalf("a body of %d bytes, net/http says %d", h.body(p), resp.ContentLength)
	}
}

func pageOf(host string) *plan {
	return newPlan(&policy.Check{
		Kind: policy.CheckHTTP, Port: 8080, Every: 1e9, Timeout: 1e8,
		HTTP: policy.HTTPCheck{Path: "/a b?c=ü", Host: host},
	})
}

// TestHeads reads answers as they come.
func TestHeads(t *testing.T) {
	t.Parallel()
	long := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyy\r\n", maxHead/16)
	for name, tc := range map[string]struct {
		answer string
		reason reason
		keeps  bool
	}{
		"good": {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", ok, true},
		"good, and closes": {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Upgrade, Close\r\n\r\nok\n", ok,
			false},
		"good, of old":         {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n", ok, false},
		"good, without a body": {"HTTP/1.1 204 x\r\n\r\n", ok, true},
		"good, to the end":     {"HTTP/1.1 200 x\r\n\r\n", ok, false},
		"good, with long names": {"HTTP/1.1 200 OK\r\nStrict-Transport-Security: x\r\nContent-Length: 0\r\n\r\n", ok,
			true},
		"good, in chunks":       {"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n", ok, false},
		"two lengths":           {"HTTP/1.1 200 x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", ok, false},
		"bad":                   {"HTTP/1.1 503 x\r\n\r\n", badStatus, false},
		"behind an interim one": {"HTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 200 x\r\n\r\n", ok, false},
		"no end of them":        {strings.Repeat("HTTP/1.1 100 x\r\n\r\n", 9), protocol, false},
		"no end of the head":    {long, protocol, false},
		"no length":             {"HTTP/1.1 200 x\r\nContent-Length:\r\n\r\n", protocol, false},
		"a bad length":          {"HTTP/1.1 200 x\r\nContent-Length: 3 4\r\n\r\n", protocol, false},
		"another protocol":      {"220 mail ESMTP\r\n", protocol, false},
		"no name":               {"HTTP/1.1 200 x\r\n: y\r\n\r\n", protocol, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h head
			h.begin()
			h.feed([]byte(tc.answer))
			if r, n := h.verdict(pageOf("")); r != tc.reason {
				t.Errorf("%s (%s), want %s", r.word(), n.text(), tc.reason.word())
			}
			if got := h.phase == headDone && h.keeps(pageOf("")); got != tc.keeps && tc.reason == ok {
				t.Errorf("keeps the connection: %v", got)
			}
		})
	}
}

// TestRequest writes what net/http reads.
func TestRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ host, address, want string }{
		"by address":   {"", "10.0.0.1", "10.0.0.1:8080"},
		"by IPv6":      {"", "fe80::1", "[fe80::1]:8080"},
		"by host name": {"shop.example", "10.0.0.1", "shop.example"},
	} {
		b := pageOf(tc.host).request(nil, netip.MustParseAddr(tc.address))
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatal(name, err)
		}
		if r.Host != tc.want || r.URL.Path != "/a b" || r.URL.Query().Get("c") != "ü" || !r.Close ||
			r.Header.Get("Accept") != "*/*" || r.UserAgent() != "hale" {
			t.Errorf("%s: %q", name, b)
		}
	}
}
