package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"hale/internal/testbed/lab"
	"hale/internal/testbed/lab/labtest"
)

// remoteHosts is a provider of two hosts that hale reaches by a network. Polls are rare, so that only a lifecycle
// event says in time that a machine crashed.
const remoteHosts = `  lab:
    type: libvirt
    state_dir: %q
    poll: 1m
    tls: {ca: %q, certificate: %q, key: %q}
    ssh: {key: %q, known_hosts: %q}
    hosts: [{name: tls, uri: %q}, {name: ssh, uri: %q}]`

// remoteFleet has a check that takes ten seconds to a verdict.
const remoteFleet = `      seed: true
      accel: tcg # a remote daemon offers KVM whether or not the processor has it
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 20}
    build_within: 1m
    repair: {attempts: 50 in 1h, backoff: 500ms, steps: [start, recreate]}`

// TestMachinesOfHostsBehindTLSAndSSHAreHealed: one hale has a machine on a libvirtd that listens with TLS, and one on a
// libvirtd behind an sshd. Each is started when its process was killed, and built anew when it is gone. Then the hosts
// are not who they should be, or hale has no rights there: it says so, and leaves the machines alone. It goes on when
// it has the right files, without a restart.
func TestMachinesOfHostsBehindTLSAndSSHAreHealed(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	run.scene()
	r.raise()
	r.stands()
	for host := range r.labs {
		run.scene()
		r.heals(host)
	}
	r.lawful()
	run.scene()
	r.meetsStrangers()
	r.lawful()
}

// remote is a stage with two hosts that are reached by a network.
type remote struct {
	stage
	labs            map[string]*lab.Lab // by the host's name
	sshd            labtest.SSHD
	authority, host []byte // what hale should believe: who signs the daemon's certificate, and the sshd's key
	ca, known       string // the files where hale looks for that
}

func newRemote(t *testing.T) remote {
	t.Helper()
	s := newStage(t, "10.80.0.0/16", settings{fleet: "far", size: 2, fleetYAML: remoteFleet})
	t.Cleanup(func() {
		if t.Failed() {
			s.diagnose()
		}
	})
	authority := labtest.NewAuthority(t, "ours")
	port, listen := authority.Listen(t)
	tls := s.anotherHost(lab.Options{
		Subnet: netip.MustParsePrefix("10.81.0.0/16"), Listen: listen + `auth_tls = "none"`,
	})
	r := remote{
		stage: s, labs: map[string]*lab.Lab{"tls": tls.lab, "ssh": s.lab}, sshd: labtest.StartSSHD(t, s.lab, ""),
		ca: s.hale.path("ca.pem"), known: s.hale.path("known_hosts"),
	}
	client, state := authority.Client(t, "hale"), t.TempDir()
	s.must(os.Chmod(state, 0o711)) // QEMU goes through it
	r.authority, r.host = r.read(client.CA), r.read(r.sshd.Known)
	r.trust(r.authority, r.host)
	r.admit(0o777)
	s.configure(func(set *settings) {
		set.providerYAML = fmt.Sprintf(remoteHosts, state, r.ca, client.Certificate, client.Key, r.sshd.Key, r.known,
			"qemu+tls://127.0.0.1:"+port+"/system", "qemu+ssh://"+labtest.Guest+"@"+r.sshd.Addr+"/system")
	})
	return r
}

func (r remote) read(file string) []byte {
	r.Helper()
	text, err := os.ReadFile(file)
	r.must(err)
	return text
}

// trust puts down what hale should believe from now on. It reads that for each connection.
func (r remote) trust(authority, host []byte) {
	r.Helper()
	r.must(os.WriteFile(r.ca, authority, 0o600))
	r.must(os.WriteFile(r.known, host, 0o600))
}

// admit sets the mode of the libvirtd socket behind the sshd. hale's SSH user is neither its owner nor in its group.
func (r remote) admit(mode os.FileMode) {
	r.Helper()
	r.must(os.Chmod(r.labs["ssh"].SocketPath(), mode))
}

// heals has the host's machine crash, and then vanish.
func (r remote) heals(host string) {
	r.Helper()
	old, l, mark := r.on(host), r.labs[host], r.journal.mark()
	r.must(l.KillQEMU(r.within(moment), old.Name))
	if bad := r.event("the verdict", mark, of(old.Name, verdict("unhealthy"))); bad.Cause != "crashed" {
		r.Errorf("cause %q: no event came from host %s", bad.Cause, host)
	}
	r.wantCalls(r.healed(old.Name, mark), "start")
	r.stands()
	r.alone(old.Name, mark)

	mark = r.journal.mark()
	r.must(l.Undefine(r.within(moment), old.Name))
	r.must(l.Destroy(r.within(moment), old.Name))
	r.wantCalls(r.healed(old.Name, mark), "delete", "create", "certify")
	r.stands()
	r.alone(old.Name, mark)
	now := r.on(host)
	if now.Name != old.Name || now.Instance == old.Instance {
		r.Errorf("before: %+v\nafter: %+v", old, now)
	}
	if page, err := l.AwaitPage(r.within(patience), now.Name); err != nil || page.SeedInstance != now.Instance {
		r.Errorf("%s, instance %s, serves %+v: %v", now.Name, now.Instance, page, err)
	}
}

// meetsStrangers starts hale anew where one host, the other, and then both are not to be had.
func (r remote) meetsStrangers() {
	r.Helper()
	authority := r.read(labtest.NewAuthority(r.TB, "theirs").Client(r.TB, "hale").CA)
	impostor := r.read(r.sshd.Impostor(r.TB))
	for _, c := range []struct {
		authority, host []byte
		mode            os.FileMode
		says            []string
	}{
		{authority, r.host, 0o777, []string{"provider lab answers", "host tls does not answer: ",
			"the daemon at 127.0.0.1 shows a certificate that hale does not trust: it must be signed by the " +
				"authority in " +
				r.ca}},
		{r.authority, r.host, 0o770, []string{"provider lab answers", "host ssh does not answer: ",
			labtest.Guest + " may not use ", "add that user to the group libvirt there"}},
		{authority, impostor, 0o777, []string{"provider lab does not answer", "shows another host key than " + r.known,
			"either the host was installed anew, then replace the line, or another machine answers in its place"}},
	} {
		mark := r.journal.mark()
		r.trust(c.authority, c.host)
		r.admit(c.mode)
		r.restart(func(*settings) {})
		r.await("hale says what is wrong", func() error {
			status, err := r.hale.command(r.within(moment), "status")
			for _, says := range c.says {
				if err == nil && !strings.Contains(status, says) {
					err = fmt.Errorf("%q is not in:\n%s", says, status)
				}
			}
			return err
		})
		r.idle(quiet)
		r.untouched(mark)
	}
	r.trust(r.authority, r.host)
	r.stands()
}
