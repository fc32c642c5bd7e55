package e2e

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/agent"
	"hale/internal/fence/command"
	"hale/internal/fence/fencetest"
	"hale/internal/fence/ipmi"
	"hale/internal/fence/redfish"
	"hale/internal/program/programtest"
	"hale/internal/secret"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/lab/bmc"
)

// plug is a libvirt domain in the place of a host: what power controllers switch.
type plug struct {
	*testing.T
	lab    *lab.Lab
	domain string
}

// newPlug defines a domain that is off.
func newPlug(t *testing.T, l *lab.Lab, domain string) *plug {
	t.Helper()
	p := &plug{t, l, domain}
	file := filepath.Join(t.TempDir(), "domain.xml")
	p.must(os.WriteFile(file, []byte(l.DomainXML(lab.DomainSpec{Name: domain})), 0o600))
	_, err := l.Virsh(t.Context(), "define", file)
	p.must(err)
	return p
}

func (p *plug) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// On implements bmc.Machine: the truth, in the hypervisor's word.
func (p *plug) On() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := p.lab.Virsh(ctx, "domstate", p.domain)
	return strings.TrimSpace(state) == "running", err
}

// Set implements bmc.Machine.
func (p *plug) Set(to bmc.Power) error {
	on, err := p.On()
	if err != nil || on == (to == bmc.On) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	verb := "destroy"
	if to == bmc.On {
		verb = "start"
	}
	_, err = p.lab.Virsh(ctx, verb, p.domain)
	return err
}

// part is a real power controller before the plug, with what speaks to it.
type part struct {
	name    string
	speaker fence.Controller
	stolid  fence.Controller // the same with a wrong password
	refuses fault.Kind       // what it says of that
	// fail has it behave so from now on; the password is the speaker's matter.
	fail func(fencetest.Fault) error
	// lacks are the ways to fail that it cannot be brought to.
	lacks []fencetest.Fault
}

// Other ways to fail than the exam knows.
const lies fencetest.Fault = "says off, whatever is true"

// lateBy, slowBy and lostFor are how much the controllers are late, slow, or silent after an order.
const (
	lateBy  = time.Second
	slowBy  = 500 * time.Millisecond
	lostFor = 3 * time.Second
)

// keep writes what a test needs as a file of its own.
func (p *plug) keep(name, text string, mode os.FileMode) string {
	p.Helper()
	path := filepath.Join(p.TempDir(), name)
	p.must(os.WriteFile(path, []byte(text), mode))
	return path
}

func (p *plug) secret(text string) secret.Secret {
	p.Helper()
	s, err := secret.File(p.keep("password", text, 0o600))
	p.must(err)
	return s
}

// bothPasswords makes a speaker with the right password, and one with another.
func (p *plug) bothPasswords(speaks func(s secret.Secret) fence.Controller) (right, wrong fence.Controller) {
	p.Helper()
	return speaks(p.secret(bmc.Password)), speaks(p.secret("battery-staple"))
}

// newBMC starts a Redfish service before what it switches.
func newBMC(t testing.TB, m bmc.Machine) (*bmc.Controller, *httptest.Server) {
	t.Helper()
	c := bmc.New(m)
	server := httptest.NewUnstartedServer(c)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(func() {
		c.Break(bmc.Faults{})
		server.CloseClientConnections()
		server.Close()
		c.Wait()
	})
	return c, server
}

// certificate is the service's own, in PEM.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// redfishPart starts a Redfish service before the plug, spoken to by hale itself, or by fence_redfish.
func redfishPart(p *plug, byAgent bool) part {
	p.Helper()
	c, server := newBMC(p.T, p)
	ca := p.keep("ca.pem", certificate(server), 0o600)
	out := part{refuses: fault.Unauthorised, name: "redfish", fail: breaks(c)}
	out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
		return redfish.New(redfish.Options{Name: "redfish", URL: server.URL, User: bmc.User, Password: s, CA: ca})
	})
	if !byAgent {
		return out
	}
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	p.must(err)
	out.name = "agent `fence_redfish`"
	out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
		return agent.New(agent.Options{
			Name:    "fence_redfish",
			Program: "fence_redfish",
			Values: []secret.Named{
				{Name: "ip", Plain: host}, {Name: "ipport", Plain: port}, {Name: "username", Plain: bmc.User},
				{Name: "password", Secret: s}, {Name: "ssl_insecure", Plain: "1"},
				{Name: "systems_uri", Plain: "/redfish/v1/Systems/1"},
			},
		})
	})
	return out
}

// chassis is what ipmi_sim runs to ask for, and to change, the power of its host.
const chassis = `#!/bin/sh
# $1 is the controller's own address, $2 get or set.
F=$(cat 'DIR/fault' 2>/dev/null)
V="virsh -q -c URI"
[ "$F" = 'slow' ] && sleep SLOW
shift
verb=$1
shift
case $verb in
get)
	for what; do
		case $what in
		power) if [ "$F" != 'says off, whatever is true' ] && [ "$($V domstate DOMAIN)" = running ]; then echo power:1; else echo power:0; fi ;;
		boot) echo boot:default ;;
		*) echo "$what:0" ;;
		esac
	done
	;;
set)
	[ "$1 $2" = 'power 0' ] || [ "$1" = power:0 ] || exit 0
	case $F in
	'answers and does nothing' | 'says off, whatever is true') ;;
	'answers early and turns off late') (sleep LATE; $V destroy DOMAIN) >/dev/null 2>&1 & ;;
	*) $V destroy DOMAIN >/dev/null 2>&1 ;;
	esac
	if [ "$F" = 'does it and the answer is lost' ] && [ ! -e DIR/silent ]; then
		: >DIR/silent
		(sleep LOST; kill -CONT "$(cat DIR/pid)") >/dev/null 2>&1 &
		kill -STOP "$(cat DIR/pid)"
	fi
	;;
esac
exit 0
`

// lanConfig is ipmi_sim's: one user, and a chassis that a program switches.
const lanConfig = `name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 PORT
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "DIR/chassis 0x20"
  user 1 false "" "" user 10 none md2 md5 straight
  user 2 true "USER" "PASSWORD" admin 10 none md2 md5 straight
`

const emulation = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
`

// ipmiPart starts OpenIPMI's controller before the plug, spoken to by hale itself with ipmitool, or by fence_ipmilan.
func ipmiPart(p *plug, byAgent bool) part {
	p.Helper()
	dir := p.TempDir()
	port := freePort(p)
	fill := strings.NewReplacer("DIR", dir, "URI", p.lab.URI(), "DOMAIN", p.domain, "PORT", port, "USER", bmc.User,
		"PASSWORD", bmc.Password,
		"SLOW", seconds(slowBy), "LATE", seconds(lateBy), "LOST", seconds(lostFor))
	write := func(name, text string, mode os.FileMode) {
		p.must(os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("chassis", fill.Replace(chassis), 0o700)
	write("lan.conf", fill.Replace(lanConfig), 0o600)
	write("bmc.emu", emulation, 0o600)
	p.must(os.Mkdir(filepath.Join(dir, "state"), 0o700))
	cmd := exec.Command("ipmi_sim", "-n", "-c", filepath.Join(dir, "lan.conf"), "-f", filepath.Join(dir, "bmc.emu"),
		"-s", filepath.Join(dir, "state"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Dir = dir
	p.must(cmd.Start())
	p.Cleanup(func() {
		_ = cmd.Process.Kill() // stopped or not
		_ = cmd.Wait()         // it was killed
	})
	write("pid", strconv.Itoa(cmd.Process.Pid), 0o600)
	return p.byIPMI(port, byAgent, "", func(f fencetest.Fault) error {
		signal := syscall.SIGCONT
		if f == fencetest.Dead {
			signal = syscall.SIGSTOP
		}
		err := os.Remove(filepath.Join(dir, "silent"))
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(dir, "fault"), []byte(f), 0o600), cmd.Process.Signal(signal))
	})
}

// byIPMI is the controller that listens at the port of loopback, spoken to by hale itself with ipmitool, or by
// fence_ipmilan.
func (p *plug) byIPMI(port string, byAgent bool, of string, fail func(fencetest.Fault) error) part {
	p.Helper()
	number, err := strconv.Atoi(port)
	p.must(err)
	out := part{refuses: fault.Unauthorised, name: "ipmi" + of, fail: fail}
	out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
		return ipmi.New(ipmi.Options{
			Name: "ipmi", Program: "ipmitool", Host: "127.0.0.1", Port: number, User: bmc.User, Password: s, Cipher: 3,
		})
	})
	if byAgent {
		// it only says that it did not work, however it is asked
		out.name, out.refuses = "agent `fence_ipmilan`"+of, fault.Transient
		out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
			return agent.New(agent.Options{
				Name:    "fence_ipmilan",
				Program: "fence_ipmilan",
				Values: []secret.Named{
					{Name: "ip", Plain: "127.0.0.1"}, {Name: "ipport", Plain: port},
					{Name: "username", Plain: bmc.User}, {Name: "password", Secret: s}, {Name: "lanplus", Plain: "1"},
					{Name: "cipher", Plain: "3"},
				},
			})
		})
	}
	p.awaits(out.speaker)
	return out
}

// goIPMIPart starts the other controller, which is of one kind with the Redfish service, before the plug.
func goIPMIPart(p *plug, byAgent bool) part {
	p.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	p.must(err)
	c := bmc.New(p)
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.ServeIPMI(ctx, conn) }()
	p.Cleanup(func() {
		c.Break(bmc.Faults{})
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
		c.Wait()
	})
	_, port, err := net.SplitHostPort(conn.LocalAddr().String())
	p.must(err)
	return p.byIPMI(port, byAgent, ", go-ipmi's", breaks(c))
}

// breaks has the controller behave so from now on.
func breaks(c *bmc.Controller) func(fencetest.Fault) error {
	return func(f fencetest.Fault) error {
		c.Break(map[fencetest.Fault]bmc.Faults{
			fencetest.Dead: {Dead: true}, fencetest.Late: {Late: lateBy}, fencetest.Ignores: {Ignores: true},
			lies: {Lies: true}, fencetest.AnswerLost: {AnswerLost: true}, fencetest.Slow: {Slow: slowBy},
		}[f])
		return nil
	}
}

// script is an own program that switches the plug, in the contract of the method command.
const script = `#!/bin/sh
F=$(cat 'DIR/fault' 2>/dev/null)
V="virsh -q -c URI"
[ "$F" = dead ] && sleep 60
[ "$F" = slow ] && sleep SLOW
[ "$OUTLET_PASSWORD" = 'PASSWORD' ] || { echo 'wrong password'; exit 1; }
case $HALE_ACTION in
status)
	[ "$F" = 'says off, whatever is true' ] && exit 4
	case $($V domstate DOMAIN) in running) exit 0 ;; 'shut off') exit 4 ;; esac
	exit 1
	;;
off)
	case $F in
	'answers and does nothing' | 'says off, whatever is true') exit 0 ;;
	'answers early and turns off late')
		# What it leaves behind in its own group ends with it.
		rm -f DIR/left
		setsid sh -c ': >DIR/left; sleep LATE; virsh -q -c URI destroy DOMAIN' >/dev/null 2>&1 &
		until [ -e DIR/left ]; do sleep 0.02; done
		exit 0
		;;
	esac
	$V destroy DOMAIN >/dev/null 2>&1
	[ "$F" = 'does it and the answer is lost' ] && sleep 60
	exit 0
	;;
esac
exit 1
`

// commandPart is the plug behind an own program.
func commandPart(p *plug) part {
	p.Helper()
	dir := p.TempDir()
	path := filepath.Join(dir, "outlet")
	fill := strings.NewReplacer("DIR", dir, "URI", p.lab.URI(), "DOMAIN", p.domain, "'PASSWORD'", "'"+bmc.Password+"'",
		"SLOW", seconds(slowBy), "LATE", seconds(lateBy))
	p.must(programtest.Write(path, fill.Replace(script)))
	out := part{refuses: fault.Transient, name: "command", fail: func(f fencetest.Fault) error {
		return os.WriteFile(filepath.Join(dir, "fault"), []byte(f), 0o600)
	}}
	out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
		return command.New(command.Options{
			Name:    "outlet",
			Host:    p.domain,
			Command: []string{path},
			Env:     []secret.Named{{Name: "OUTLET_PASSWORD", Secret: s}},
		})
	})
	return out
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// freePort returns a UDP port that was free a moment ago.
func freePort(p *plug) string {
	p.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	p.must(err)
	defer conn.Close()
	_, port, err := net.SplitHostPort(conn.LocalAddr().String())
	p.must(err)
	return port
}

// awaits waits until the controller answers.
func (p *plug) awaits(c fence.Controller) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	for {
		power, err := c.Power(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			p.Fatal(fmt.Errorf("the controller never answered: %s, %w", power, err))
		}
	}
}
