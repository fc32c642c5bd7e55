package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/api"
)

// sky is a hale and its satellites, each in a network of its own, and machines in another one, where all ways meet.
type sky struct {
	*ending
	*networks
	eyes map[string]*exec.Cmd // the satellites
}

// networks are some of their own for what runs in a test.
type networks struct {
	t       *testing.T
	holders map[string]*exec.Cmd
}

// field is the network of the machines, which are all addresses of 10.0.0.0/8 and answer pings.
const field = "field"

// sighted is a fleet of three machines in that network, which three vantages look at: of a program, and its folder.
const sighted = `
providers: {lab: {type: exec, command: [%q], env: {TRUTH: %q, NET: "10"}, poll: 1s}}
fleets:
  f0:
    provider: lab
    size: 3
    checks: {alive: {ping: {}, every: 500ms, timeout: 400ms, vantages: 3}}
    repair: {steps: [recreate: {}], attempts: 100 in 1h, backoff: 0s}
`

// rise starts hale, two satellites and a fleet of three machines. Two of these three vantages must agree.
func rise(t *testing.T) *sky {
	t.Helper()
	return riseWith(t, "")
}

// riseWith does so with another hale than the one that is tested, if one is named.
func riseWith(t *testing.T, program string) *sky {
	t.Helper()
	s := &sky{ending: &ending{T: t, fleets: 1, binary: program}, networks: network(t, "hale", "ams", "fra"),
		eyes: map[string]*exec.Cmd{}}
	s.begin(1)
	s.feel("well")
	s.write(s.path("truth/calls"), "")
	certify(s.ending, net.IPv4(192, 168, 1, 2))
	program, err := filepath.Abs("testdata/truth.sh")
	s.must(err)
	var tokens []string
	for _, name := range []string{"ams", "fra"} {
		s.must(os.WriteFile(s.path(name+".token"), []byte(rand.Text()+"\n"), 0o600))
		tokens = append(tokens, fmt.Sprintf("%s: {file: %q}", name, s.path(name+".token")))
	}
	s.must(os.WriteFile(s.path("hale.yaml"), fmt.Appendf(nil, `
satellites: {listen: "192.168.1.2:7118", tls: {certificate: cert.pem, key: key.pem}, stale_after: 3s, tokens: {%s}}
`+sighted, strings.Join(tokens, ", "), program, s.path("truth")), 0o600))
	s.starts()
	for _, name := range []string{"ams", "fra"} {
		s.looks(name)
	}
	s.await("the fleet is built, and all see it", func(st api.Status) bool {
		return allHealthy(s.ending)(st) && len(st.Troubles) == 0 && !strings.Contains(s.why("f0-1"), "of 3 see it")
	})
	return s
}

// network makes a network for each name. They reach each other through the machines' network, where the first one is
// 192.168.1.2.
func network(t *testing.T, names ...string) *networks {
	t.Helper()
	s := &networks{t, map[string]*exec.Cmd{}}
	s.hold(field, "unshare", "--user", "--map-root-user", "--net", "cat")
	s.inside(field, "ip", "link", "set", "lo", "up")
	s.inside(field, "ip", "route", "add", "local", "10.0.0.0/8", "dev", "lo")
	s.inside(field, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	s.inside(field, "nft", `table ip way {
		chain in { type filter hook input priority 0; }
		chain out { type filter hook output priority 0; }
		chain through { type filter hook forward priority 0; }
	}`)
	for i, name := range names {
		net := fmt.Sprintf("192.168.%d.", i+1)
		s.hold(name, s.in(field, "unshare", "--net", "cat")...)
		pid := strconv.Itoa(s.holders[name].Process.Pid)
		s.inside(field, "ip", "link", "add", name, "type", "veth", "peer", "name", "way", "netns", pid)
		s.inside(field, "ip", "address", "add", net+"1/30", "dev", name)
		s.inside(field, "ip", "link", "set", name, "up")
		s.inside(name, "ip", "link", "set", "lo", "up")
		s.inside(name, "ip", "address", "add", net+"2/30", "dev", "way")
		s.inside(name, "ip", "link", "set", "way", "up")
		s.inside(name, "ip", "route", "add", "default", "via", net+"1")
	}
	return s
}

// hold makes a network, which is there as long as the test runs.
func (s *networks) hold(name string, words ...string) {
	s.t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	stdin, err := cmd.StdinPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // it ends with its input
	})
	s.holders[name] = cmd
	other := "self"
	if name != field {
		other = strconv.Itoa(s.holders[field].Process.Pid)
	}
	limit := time.Now().Add(patience)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		here, err := os.Readlink("/proc/" + other + "/ns/net")
		must(s.t, err)
		there, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
		program, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		switch {
		case err == nil && there != here && string(program) == "cat\n":
			tick.Stop()
			return
		case time.Now().After(limit):
			s.t.Fatalf("%s is in no network of its own: %v", name, err)
		}
	}
}

// in is a command, to be run in the network.
func (s *networks) in(network string, words ...string) []string {
	return append([]string{"nsenter", "--target", strconv.Itoa(s.holders[network].Process.Pid), "--user", "--net",
		"--preserve-credentials", "--"}, words...)
}

// inside runs a command in the network.
func (s *networks) inside(network string, words ...string) {
	s.t.Helper()
	all := s.in(network, words...)
	if out, err := exec.CommandContext(s.t.Context(), all[0], all[1:]...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v: %s", words, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// certify makes the certificate by which a server at the address is known.
func certify(s *ending, at net.IP) {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{at}}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	s.must(err)
	der, err := x509.MarshalECPrivateKey(key)
	s.must(err)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: der},
	} {
		s.must(os.WriteFile(s.path(name), pem.EncodeToMemory(block), 0o600))
	}
}

// process starts a program of hale's in the network, which ends with the test.
func (s *sky) process(network, log string, words ...string) (*exec.Cmd, chan struct{}) {
	s.Helper()
	out, err := os.OpenFile(s.path(log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	defer out.Close()
	all := s.in(network, append([]string{s.program()}, words...)...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	s.must(cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait()
		close(ended)
	}()
	s.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		<-ended
		if said, err := os.ReadFile(s.path(log)); err == nil && s.Failed() {
			s.Logf("%s:\n%s", log, said)
		}
	})
	return cmd, ended
}

// starts begins with hale.
func (s *sky) starts() {
	s.Helper()
	s.hale, s.ended = s.process("hale", "log", "run", s.path("hale.yaml"), "--data-dir", s.path("data"), "--socket",
		s.path("sock"), "--server", "hale")
}

// looks starts a satellite.
func (s *sky) looks(name string) {
	s.Helper()
	s.eyes[name], _ = s.process(name, name+".log", "probe", "--join", "https://192.168.1.2:7118", "--token-file",
		s.path(name+".token"), "--ca", s.path("cert.pem"))
}

// cut lays rules into the way, and mend takes all of them out.
func (s *networks) cut(rules ...string) {
	s.t.Helper()
	for _, r := range rules {
		s.inside(field, "nft", "add rule ip way "+r)
	}
}

func (s *networks) mend() {
	s.t.Helper()
	s.inside(field, "nft", "flush table ip way")
}

// why is what hale says of a machine.
func (e *ending) why(machine string) string {
	return strings.Join(strings.Fields(e.says("why", machine)), " ")
}

// addressOf returns where the machine is; empty: it is nowhere now.
func (e *ending) addressOf(machine string) string {
	e.Helper()
	for _, is := range e.truth() {
		if m := machineOf.FindStringSubmatch(is); len(m) > 1 && m[1] == machine {
			return regexp.MustCompile(`"address":"([^"]*)"`).FindStringSubmatch(is)[1]
		}
	}
	return ""
}

// ordered returns what was ordered of the provider, but for what certifies.
func (e *ending) ordered() []string {
	e.Helper()
	said, err := os.ReadFile(e.path("truth/calls"))
	e.must(err)
	return slices.DeleteFunc(strings.Split(string(said), "\n"), func(line string) bool {
		return line == "" || strings.Contains(line, " certify ")
	})
}

// nothing wants that nothing happens to any machine for some time, and that hale says so meanwhile in the end.
func (s *sky) nothing(of string, says ...string) {
	s.Helper()
	nothing(s.ending, s.ending, 8*time.Second, of, says...)
}

// nothing wants that nothing is ordered of the truth's provider for so long, and that the asked hale says so.
func nothing(asked, truth *ending, lasts time.Duration, of string, says ...string) {
	asked.Helper()
	before := len(truth.ordered())
	for _, want := range says {
		asked.until("hale why says: "+want, func() bool { return strings.Contains(asked.why(of), want) })
	}
	over := time.After(lasts)
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-tick.C:
			for _, want := range says {
				if is := asked.why(of); !strings.Contains(is, want) {
					asked.Fatalf("hale why %s says no more %q:\n%s", of, want, is)
				}
			}
			if all := truth.ordered(); len(all) != before {
				asked.Fatalf("with %q it ordered %q", says, all[before:])
			}
			continue
		case <-over:
			tick.Stop()
		}
		return
	}
}

// One of three vantages does not see a machine that the two others see well, whichever it is, and whichever way it is
// cut: nothing happens to it, and hale why says who sees it. A machine that is cut off for all of them is built anew.
// When the satellites are gone, hale alone holds, and says why; when they are back, it goes on.
func TestMachinesThatOneOfThreeDoesNotSee(t *testing.T) {
	t.Parallel()
	s := rise(t)
	s.cut("in iifname hale ip daddr 10.0.0.0/8 drop")
	s.nothing("f0-1", "2 of 3 see it: ams and fra do, hale does not (timeout)", "healthy")
	s.mend()
	s.cut("out oifname ams ip saddr 10.0.0.0/8 drop")
	s.nothing("f0-1", "2 of 3 see it: hale and fra do, ams does not (timeout)", "healthy")
	s.mend()

	at := s.addressOf("f0-2")
	s.cut("in ip daddr " + at + " drop")
	cut := time.Now()
	s.await("f0-2 is built anew", func(st api.Status) bool {
		is := s.addressOf("f0-2")
		return is != "" && is != at && allHealthy(s.ending)(st)
	})
	t.Logf("the machine that nobody saw was healthy again after %v", time.Since(cut).Round(100*time.Millisecond))
	s.wantEachOnce()
	s.mend()

	s.cut("through iifname { ams, fra } drop")
	s.await("both satellites are missed", func(st api.Status) bool {
		return about(api.TroubleSatellite, "satellite ams is silent")(st.Troubles) &&
			about(api.TroubleSatellite, "satellite fra is silent")(st.Troubles)
	})
	silent := regexp.MustCompile(`(?s)ams +silent for .* 3\n.*fra +silent for .* 3\n`)
	if said := s.says("satellite", "list"); !silent.MatchString(said) {
		t.Errorf("hale satellite list says\n%s", said)
	}
	s.nothing("f0-3", "1 of 3 see it: hale does, ams and fra are silent", "healthy")
	s.cut("in ip daddr " + s.addressOf("f0-3") + " drop")
	s.nothing("f0-3", "too few vantages agree that it is down",
		"none of 3 sees it: hale does not (timeout), ams and fra are silent")
	at = s.addressOf("f0-3")
	s.mend()
	s.cut("in ip daddr " + at + " drop")
	s.await("f0-3 is built anew once the satellites agree", func(st api.Status) bool {
		is := s.addressOf("f0-3")
		return is != "" && is != at && allHealthy(s.ending)(st) && len(st.Troubles) == 0
	})
	s.wantEachOnce()
}

// A satellite that did not see a machine stands still, as its machine does in a live migration. What it said last
// agrees to nothing once it is too old, and when it goes on, it says what it sees then.
func TestASatelliteThatStandsStillHasNoVote(t *testing.T) {
	t.Parallel()
	s := rise(t)
	at := s.addressOf("f0-1")
	s.cut("in iifname ams ip daddr " + at + " drop")
	s.nothing("f0-1", "2 of 3 see it: hale and fra do, ams does not (timeout)")
	s.must(s.eyes["ams"].Process.Signal(syscall.SIGSTOP))
	s.until("it is missed", func() bool { return strings.Contains(s.why("f0-1"), "hale and fra do, ams is silent") })
	s.mend()
	s.cut("in iifname hale ip daddr " + at + " drop")
	s.nothing("f0-1", "too few vantages agree that it is down",
		"1 of 3 see it: fra does, hale does not (timeout), ams is silent")
	s.must(s.eyes["ams"].Process.Signal(syscall.SIGCONT))
	s.nothing("f0-1", "2 of 3 see it: ams and fra do, hale does not (timeout)", "healthy")
}

// Vantages go and come by a reload, and come back after a crash of hale: the satellites begin anew with the next one.
// Nothing happens to a machine that hale does not see itself meanwhile.
func TestVantagesAfterAReloadAndACrash(t *testing.T) {
	t.Parallel()
	s := rise(t)
	file, err := os.ReadFile(s.path("hale.yaml"))
	s.must(err)
	s.write(s.path("hale.yaml"), strings.Replace(string(file), ", vantages: 3", "", 1))
	s.must(s.hale.Process.Signal(syscall.SIGHUP))
	s.cut("out oifname { ams, fra } ip saddr 10.0.0.0/8 drop")
	s.nothing("f0-1", "healthy", "check alive is up for")
	if is := s.why("f0-1"); strings.Contains(is, "of 3 see it") {
		t.Errorf("without vantages hale why says %s", is)
	}
	s.mend()
	s.write(s.path("hale.yaml"), string(file))
	s.must(s.hale.Process.Signal(syscall.SIGHUP))
	s.until("all look again", func() bool { return strings.Contains(s.why("f0-1"), "of 3 see it") })
	s.await("all see it", func(st api.Status) bool {
		return allHealthy(s.ending)(st) && !strings.Contains(s.why("f0-1"), "of 3 see it")
	})

	s.cut("in iifname hale ip daddr 10.0.0.0/8 drop")
	s.nothing("f0-1", "2 of 3 see it: ams and fra do, hale does not (timeout)")
	s.must(s.hale.Process.Kill())
	<-s.ended
	s.starts()
	s.nothing("f0-1", "2 of 3 see it: ams and fra do, hale does not (timeout)", "healthy")
}
