package libvirt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/go-cmp/cmp"

	"hale/internal/core/fault"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/nettest"
)

// puppet is a daemon at the other end of a connection that says what a test wants. What it is not told to say is the
// shortest honest answer.
type puppet struct {
	net.Conn // nil: what is not told here is not used
	answer   func(h header) (said []byte, ok bool)

	mu     sync.Mutex
	said   bytes.Buffer
	more   sync.Cond
	closed bool
	asked  bytes.Buffer
	calls  []procedure
}

func newPuppet(answer func(h header) ([]byte, bool)) *puppet {
	d := &puppet{answer: answer}
	d.more.L = &d.mu
	return d
}

func (d *puppet) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked.Write(p)
	for {
		h, size, err := readHeader(bytes.NewReader(d.asked.Bytes()))
		if err != nil || d.asked.Len() < minMessage+int(size) {
			return len(p), nil
		}
		d.asked.Next(minMessage + int(size))
		d.calls = append(d.calls, procedure{h.Program, h.Procedure})
		said, told := d.answer(h)
		if !told {
			said = message(h, binary.BigEndian.AppendUint64(nil, 0))
		}
		d.said.Write(said)
		d.more.Broadcast()
	}
}

func (d *puppet) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.said.Len() == 0 && !d.closed {
		d.more.Wait()
	}
	return d.said.Read(p)
}

func (d *puppet) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.more.Broadcast()
	return nil
}

// linked connects the RPC client to the puppet.
func (d *puppet) linked() (*link, error) {
	w := newWire(d)
	l := &link{Libvirt: golibvirt.NewWithDialer(handed{w}), wire: w}
	err := l.ConnectToURI(golibvirt.QEMUSystem)
	return l, err
}

// message is the answer to a call.
func message(h header, payload []byte) []byte {
	h.Type = typeReply
	var b bytes.Buffer
	writeHeader(&b, h, uint32(len(payload)))
	b.Write(payload)
	return b.Bytes()
}

// answering answers one call with the payload.
func answering(p procedure, status uint32, payload []byte) func(header) ([]byte, bool) {
	return func(h header) ([]byte, bool) {
		if p != (procedure{h.Program, h.Procedure}) {
			return nil, false
		}
		h.Status = status
		return message(h, payload), true
	}
}

// TestAShortAnswerOfMuchIsRefused: 284 bytes that speak of 2³¹ domains would take 128 GiB, and hale with them.
func TestAShortAnswerOfMuchIsRefused(t *testing.T) {
	t.Parallel()
	words := func(values ...uint32) []byte {
		var b bytes.Buffer
		putUint(&b, values...)
		return b.Bytes()
	}
	stats, xml := procedure{remoteProgram, 344}, procedure{remoteProgram, 14}
	for name, c := range map[string]struct {
		call    procedure
		status  uint32
		payload []byte
		says    string
	}{
		"two thousand million statistics in 284 bytes": {stats, statusOK,
			append(words(math.MaxInt32), make([]byte, 252)...), "a list of 2147483647: "},
		"a short list of long lists": {stats, statusOK,
			append(words(1, 0, 0, 0, 0, 0, 0), words(math.MaxInt32)...), "a list of 1: a list of 2147483647: "},
		"a long text": {stats, statusOK, words(1, math.MaxInt32), errShort.Error()},
		"a parameter of no type": {stats, statusOK, words(1, 0, 0, 0, 0, 0, 0, 1, 0, 99),
			"unknown type 99"},
		"a long error": {stats, statusError, words(1, 1, 1, math.MaxInt32),
			errShort.Error()},
		"the answer to another call": {xml, statusOK, nil, "an unexpected message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := answering(c.call, c.status, c.payload)
			p := provide(t, listen(t, func(h header) ([]byte, bool) {
				if said, ok := told(h); ok {
					return said, ok
				}
				if h.Procedure == stats.number {
					h.Procedure = c.call.number
				}
				return told(h)
			}))
			_, err := p.List(t.Context())
			if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want a transient error that says %q", err, c.says)
			}
		})
	}
}

// TestEventsThatLieOrFloodEndTheWatch, so that it connects anew and looks at everything.
func TestEventsThatLieOrFloodEndTheWatch(t *testing.T) {
	t.Parallel()
	event := func(payload []byte) []byte {
		var b bytes.Buffer
		writeHeader(&b, header{remoteProgram, remoteVersion, 318, 2, 0, statusOK}, uint32(len(payload)))
		b.Write(payload)
		return b.Bytes()
	}
	long := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 0), math.MaxInt32)
	for name, c := range map[string]struct {
		said []byte
		says string
	}{
		"a lie":  {event(long), errShort.Error()},
		"large":  {event(make([]byte, maxEvent+1)), "an event of 65537 bytes"},
		"flood":  {bytes.Repeat(event(make([]byte, 64)), maxUnread+1), "faster than they can be looked at"},
		"wanted": {event(make([]byte, 64)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newPuppet(func(header) ([]byte, bool) { return nil, false })
			l, err := d.linked()
			if err != nil {
				t.Fatal(err)
			}
			defer l.wire.cut(errRetired)
			d.answer = answeringWith(c.said)
			_, err = l.ConnectGetLibVersion()
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if cause := l.wire.whyCut(); err == nil || cause == nil || !strings.Contains(cause.Error(), c.says) {
				t.Errorf("got %v, cut because of %v, want %q", err, cause, c.says)
			}
		})
	}
}

// answeringWith says something before each honest answer.
func answeringWith(said []byte) func(header) ([]byte, bool) {
	return func(h header) ([]byte, bool) {
		return slices.Concat(said, message(h, make([]byte, 8))), true
	}
}

// TestAStreamThatComesBeforeItsCallIsBounded: what a peer sends in advance is kept, and must not fill the memory.
func TestAStreamThatComesBeforeItsCallIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"many pieces": 256 << 10, "a large piece": maxSpoken + 1} {
		addr := listen(t, func(h header) ([]byte, bool) {
			if h.Procedure != procDownload {
				return nil, false
			}
			h.Type, h.Status = typeStream, statusContinue
			var b bytes.Buffer
			for range maxEarly/size + 1 {
				writeHeader(&b, h, uint32(size))
				b.Write(make([]byte, size))
			}
			return b.Bytes(), true
		})
		_, err := download(t.Context(), reach{address: addr}, golibvirt.StorageVol{}, 0, 1<<20)
		if err == nil || !strings.Contains(err.Error(), "of a stream") && !strings.Contains(err.Error(),
			"in a stream") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// listen serves puppets on a socket until the test ends.
func listen(t *testing.T, answer func(header) ([]byte, bool)) address {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	nettest.Serve(t, listener, func(_ context.Context, c net.Conn) {
		d := newPuppet(answer)
		var back sync.WaitGroup
		back.Go(func() {
			io.Copy(c, d)
			c.Close()
		})
		io.Copy(d, c)
		d.Close()
		back.Wait()
	})
	return address{network: "unix", targets: []string{socket}, uri: golibvirt.QEMUSystem}
}

// provide makes an adapter to the daemon at the address.
func provide(t *testing.T, a address) *Provider {
	t.Helper()
	p, err := New(Options{Hosts: []HostOptions{{URI: "qemu+unix:///system?socket=" + a.targets[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestTheClientDecodesWhatIsDescribed: the table speaks of the numbers that the RPC client sends, and of the types
// that it decodes. So what is walked over is what will be decoded.
func TestTheClientDecodesWhatIsDescribed(t *testing.T) {
	t.Parallel()
	for p, d := range calls {
		method := reflect.ValueOf(&golibvirt.Libvirt{}).MethodByName(d.name)
		if !method.IsValid() {
			t.Errorf("the RPC client has no %s", d.name)
			continue
		}
		for seed := range uint64(20) {
			var want []any
			var payload bytes.Buffer
			if d.into != nil {
				made := invent(rand.New(rand.NewPCG(seed, uint64(p.number))), d.into)
				write(&payload, made)
				for _, field := range made.Fields() {
					want = append(want, field.Interface())
				}
			}
			if err := d.check(payload.Bytes(), statusOK); err != nil {
				t.Fatalf("%s: an honest answer is refused: %v", d.name, err)
			}
			if payload.Len() > 0 && d.check(payload.Bytes()[:payload.Len()-1], statusOK) == nil {
				t.Errorf("%s: an answer without its last byte is taken", d.name)
			}
			daemon := newPuppet(func(header) ([]byte, bool) { return nil, false })
			l, err := daemon.linked()
			if err != nil {
				t.Fatal(err)
			}
			before := len(daemon.calls)
			daemon.answer = answering(p, statusOK, payload.Bytes())
			got := ask(l, d.name)
			if asked := daemon.calls[before:]; !slices.Equal(asked, []procedure{p}) {
				t.Errorf("%s asks %v, described is %v", d.name, asked, p)
			}
			l.wire.cut(errRetired)
			if diff := cmp.Diff(append(want, error(nil)), got); diff != "" {
				t.Fatalf("%s (-sent +decoded):\n%s", d.name, diff)
			}
		}
	}
}

// ask makes a call with arguments that are zero, and returns what comes.
func ask(l *link, name string) []any {
	method := reflect.ValueOf(l.Libvirt).MethodByName(name)
	var args, results = []reflect.Value{}, []any{}
	for arg := range method.Type().Ins() {
		args = append(args, reflect.Zero(arg))
	}
	for _, result := range method.Call(args) {
		results = append(results, result.Interface())
	}
	return results
}

// invent makes a value of the type.
func invent(r *rand.Rand, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == typedParam:
		kind := 1 + r.Uint32N(7)
		of := []any{int32(1), uint32(2), int64(3), uint64(4), 5.5, int32(1), "seven"}[kind-1]
		return reflect.ValueOf(golibvirt.TypedParam{Field: "some", Value: golibvirt.TypedParamValue{D: kind, I: of}})
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(invent(r, t.Field(i).Type))
		}
	case t.Kind() == reflect.Slice:
		n := r.IntN(4)
		if strings.HasPrefix(t.Name(), "Opt") {
			n = r.IntN(2)
		}
		for range n {
			v.Set(reflect.Append(v, invent(r, t.Elem())))
		}
	case t.Kind() == reflect.String:
		v.SetString(strings.Repeat("x", r.IntN(9)))
	case t.Kind() == reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(r.IntN(256)))
		}
	case v.CanInt():
		v.SetInt(int64(r.IntN(128)))
	case v.CanUint():
		v.SetUint(uint64(r.IntN(128)))
	}
	return v
}

// write encodes a value as the daemon does.
func write(b *bytes.Buffer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			write(b, field)
		}
	case reflect.Slice:
		putUint(b, uint32(v.Len()))
		for i := range v.Len() {
			write(b, v.Index(i))
		}
	case reflect.Interface:
		write(b, v.Elem())
	case reflect.String:
		putString(b, v.String())
	case reflect.Array:
		for i := range v.Len() {
			b.WriteByte(byte(v.Index(i).Uint()))
		}
	case reflect.Int64:
		b.Write(binary.BigEndian.AppendUint64(nil, uint64(v.Int())))
	case reflect.Uint64:
		b.Write(binary.BigEndian.AppendUint64(nil, v.Uint()))
	case reflect.Float64:
		b.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(v.Float())))
	default:
		if v.CanInt() {
			putUint(b, uint32(v.Int()))
		} else {
			putUint(b, uint32(v.Uint()))
		}
	}
}

// TestEveryCallIsDescribed: a call that is not in the table would be refused where it is made.
func TestEveryCallIsDescribed(t *testing.T) {
	t.Parallel()
	// they make calls of the table
	described := map[string]bool{"ConnectToURI": true, "SubscribeEvents": true, "Capabilities": true}
	for _, d := range calls {
		described[d.name] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`\b[ls]\.([A-Z]\w+)\(`).FindAllSubmatch(text, -1) {
			name := string(call[1])
			if _, ok := reflect.TypeFor[*golibvirt.Libvirt]().MethodByName(name); !ok {
				continue
			}
			if found++; !described[name] {
				t.Errorf("%s calls %s, which answers.go does not describe", file, name)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d calls were found", found)
	}
}

// TestRealAnswersAreTaken hears what a real daemon says, and sees that half of any of it is refused. With -update it
// keeps that, for the fuzz test.
func TestRealAnswersAreTaken(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	private, err := lab.Start(ctx, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := private.Close(); err != nil {
			t.Error(err)
		}
	})
	defined := filepath.Join(t.TempDir(), "domain.xml")
	if err := os.WriteFile(defined, []byte(`<domain type='qemu'><name>web-0</name><memory unit='MiB'>96</memory>
		<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"define", defined}, {"vol-create-as", "default", "disk", "1M"}} {
		if _, err := private.Virsh(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	addr, err := parseURI(private.URI())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := reach{address: addr}.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	heard := &recorder{Conn: conn}
	w := newWire(heard)
	stop := context.AfterFunc(ctx, func() { w.cut(ctx.Err()) })
	defer stop()
	l := &link{Libvirt: golibvirt.NewWithDialer(handed{w}), wire: w}
	if err := l.ConnectToURI(addr.uri); err != nil {
		t.Fatal(err)
	}
	defer w.cut(errRetired)
	for name, err := range realCalls(l, private.Info().Images) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.DomainLookupByName("absent"); !isCode(err, golibvirt.ErrNoDomain) {
		t.Errorf("a domain that is not there: %v", err)
	}
	checkRecorded(t, heard.bytes())
}

// realCalls asks all that can be asked of a host with one domain that is off.
func realCalls(l *link, images string) map[string]error {
	dom, err1 := l.DomainLookupByName("web-0")
	pool, err2 := l.StoragePoolLookupByTargetPath(images)
	vol, err3 := l.StorageVolLookupByName(pool, "disk")
	network, err4 := l.NetworkLookupByName("default")
	_, err5 := l.ConnectDomainEventCallbackRegisterAny(int32(golibvirt.DomainEventIDLifecycle), nil)
	_, err6 := l.ConnectGetCapabilities()
	_, err7 := l.DomainGetXMLDesc(dom, 0)
	_, _, err8 := l.DomainGetState(dom, 0)
	_, err9 := l.ConnectGetAllDomainStats(nil, uint32(golibvirt.DomainStatsState), 0)
	_, _, err10 := l.ConnectListAllDomains(1, 0)
	_, _, err11 := l.StoragePoolListAllVolumes(pool, 1, 0)
	_, _, err12 := l.NetworkGetDhcpLeases(network, nil, 1, 0)
	_, _, _, err13 := l.StorageVolGetInfo(vol)
	err14 := l.DomainSetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{"<x/>"},
		golibvirt.OptString{"k"}, golibvirt.OptString{"urn:x"},
		golibvirt.DomainAffectConfig)
	err15 := l.DomainUndefineFlags(dom, 0)
	_, err16 := l.ConnectGetLibVersion()
	return map[string]error{
		"lookup": err1, "pool": err2, "volume": err3, "network": err4, "subscribe": err5, "capabilities": err6,
		"xml": err7, "state": err8,
		"stats": err9, "list": err10, "volumes": err11, "leases": err12, "info": err13, "metadata": err14,
		"undefine": err15, "version": err16,
	}
}

// checkRecorded looks at each message, and keeps it for the fuzz test when -update is given.
func checkRecorded(t *testing.T, heard []byte) {
	t.Helper()
	names := map[string]bool{}
	for r := bytes.NewReader(heard); r.Len() > 0; {
		h, size, err := readHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r, payload); err != nil {
			t.Fatal(err)
		}
		d, ok := calls[procedure{h.Program, h.Procedure}]
		if !ok {
			d = events[procedure{h.Program, h.Procedure}]
		}
		if err := d.check(payload, h.Status); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		if size > 0 && h.Status == statusOK && d.check(payload[:size/2], h.Status) == nil {
			t.Errorf("half of %s is taken", d.name)
		}
		name := fmt.Sprintf("%d-%d", h.Procedure, h.Status)
		names[name] = true
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", "answers", name), payload, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"344-0", "282-0", "318-0", "23-1"} {
		if !names[name] {
			t.Errorf("no message %s (procedure-status) was heard", name)
		}
	}
}

// recorder keeps what is heard.
type recorder struct {
	net.Conn
	mu    sync.Mutex
	heard bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard.Write(p[:n])
	return n, err
}

func (r *recorder) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.heard.Bytes())
}

// FuzzLibvirtWire: whatever a daemon answers, and whatever it says afterwards, ends in an error or an answer, and in no
// more memory than a small multiple of what it sent.
func FuzzLibvirtWire(f *testing.F) {
	var all []procedure
	for p := range calls {
		all = append(all, p)
	}
	for p := range events {
		all = append(all, p)
	}
	slices.SortFunc(all,
		func(a, b procedure) int { return int(a.program) - int(b.program) + int(a.number) - int(b.number) })
	recorded, err := filepath.Glob(filepath.Join("testdata", "answers", "*"))
	if err != nil || len(recorded) == 0 {
		f.Fatal("no recorded answers", err)
	}
	for _, file := range recorded {
		payload, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var number, status uint32
		if _, err := fmt.Sscanf(filepath.Base(file), "%d-%d", &number, &status); err != nil {
			f.Fatal(err)
		}
		i := slices.Index(all, procedure{remoteProgram, number})
		f.Add(uint8(i), uint8(status), payload, message(header{remoteProgram, remoteVersion, 157, typeReply, 7, 0},
			make([]byte, 8)))
	}
	f.Fuzz(func(t *testing.T, which, status uint8, payload, after []byte) {
		p := all[int(which)%len(all)]
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		converseWith(t, p, uint32(status), payload, after)
		runtime.ReadMemStats(&now)
		if took, room := now.TotalAlloc-before.TotalAlloc, uint64(512<<10+64*(len(payload)+len(after))); took > room {
			t.Errorf("%d bytes of memory for %d and %d bytes of %v, want at most %d", took, len(payload), len(after), p,
				room)
		}
	})
}

// converseWith subscribes, makes the call, hears the payload as its answer (or as an event), and then whatever comes.
func converseWith(t *testing.T, p procedure, status uint32, payload, after []byte) {
	t.Helper()
	callbacks := uint32(0)
	d := newPuppet(nil)
	d.answer = func(h header) ([]byte, bool) {
		callbacks++
		return message(h, binary.BigEndian.AppendUint32(nil, callbacks)), h.Procedure == 316
	}
	l, err := d.linked()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{link: l}
	sub, err := s.subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sub.close()
	d.mu.Lock()
	if _, isEvent := events[p]; isEvent {
		said := message(header{p.program, remoteVersion, p.number, 2, 0, status}, payload)
		d.answer = answeringWith(said)
		p = procedure{remoteProgram, 157}
	} else {
		d.answer = answering(p, status, payload)
	}
	d.mu.Unlock()
	ask(l, calls[p].name)
	d.mu.Lock()
	d.answer = func(header) ([]byte, bool) { d.closed = true; return after, true }
	d.mu.Unlock()
	ask(l, "ConnectGetLibVersion")
}
