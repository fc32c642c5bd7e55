package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Fault is something that can go wrong with a domain, or be put right again.
type Fault string

// Faults inside the guest. FaultHTTP takes those of the web server back; a boot takes back all.
const (
	FaultNoHTTP  Fault = "nohttp"  // the web server is gone, ping still answers
	FaultHTTP503 Fault = "http503" // the web server answers 503 Service Unavailable
	FaultSlow    Fault = "slow"    // the web server answers after 10 s
	FaultHang    Fault = "hang"    // the web server takes connections and never answers
	FaultNoNet   Fault = "nonet"   // the network interface is down inside; only a reboot helps
	FaultPanic   Fault = "panic"   // the kernel panics and stays so
	FaultHalt    Fault = "halt"    // the guest halts its processors for good, and stays on
	FaultOff     Fault = "off"     // the guest powers itself off
	FaultReboot  Fault = "reboot"  // the guest reboots itself
	FaultSleep   Fault = "sleep"   // the guest suspends itself to memory, until it is woken from outside
	// the guest writes 3 MiB on its disk, behind its first MiB; where there is no room, its provider pauses it
	FaultWrite   Fault = "write"
	FaultDeaf    Fault = "deaf"      // the power button is ignored, so a soft shutdown or reboot does nothing
	FaultNoAgent Fault = "noagent"   // the guest agent is gone
	FaultMute    Fault = "muteagent" // the guest agent never answers
	FaultAgent   Fault = "agent"     // cure: another guest agent is started
	FaultHTTP    Fault = "http"      // cure: the web server is well again
)

// Faults from outside, behind the back of the domain's manager.
const (
	FaultKill     Fault = "kill"     // QEMU is killed with SIGKILL
	FaultDestroy  Fault = "destroy"  // virsh destroy
	FaultUndefine Fault = "undefine" // virsh undefine; a running domain becomes transient
	FaultSuspend  Fault = "suspend"  // the processors stop
	FaultReset    Fault = "reset"    // the reset button
	FaultLinkDown Fault = "linkdown" // the network cable is pulled
	FaultResume   Fault = "resume"   // cure of suspend
	FaultLinkUp   Fault = "linkup"   // cure of linkdown
)

// Faults lists every fault, cures included.
func Faults() []Fault {
	return []Fault{
		FaultNoHTTP, FaultHTTP503, FaultSlow, FaultHang, FaultNoNet, FaultPanic, FaultHalt, FaultOff, FaultReboot,
		FaultSleep, FaultWrite, FaultDeaf, FaultNoAgent, FaultMute, FaultAgent, FaultHTTP,
		FaultKill, FaultDestroy, FaultUndefine, FaultSuspend, FaultReset, FaultLinkDown, FaultResume, FaultLinkUp,
	}
}

// ParseFault returns the fault of that name.
func ParseFault(name string) (Fault, error) {
	var names []string
	for _, f := range Faults() {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("no fault %q; there are %s", name, strings.Join(names, ", "))
}

// ErrNoAddress means that a domain has no DHCP lease.
var ErrNoAddress = errors.New("the domain has no address")

// Break makes a fault happen to a domain. Faults inside the guest are asked for over the guest's
// network, so they need a guest that still has one.
func (l *Lab) Break(ctx context.Context, domain string, f Fault) error {
	switch f {
	case FaultKill:
		return l.KillQEMU(ctx, domain)
	case FaultDestroy, FaultUndefine, FaultSuspend, FaultResume, FaultReset:
		_, err := l.Virsh(ctx, string(f), domain)
		return err
	case FaultLinkDown:
		return l.setLink(ctx, domain, "down")
	case FaultLinkUp:
		return l.setLink(ctx, domain, "up")
	case FaultNoHTTP, FaultHTTP503, FaultSlow, FaultHang, FaultNoNet, FaultPanic, FaultHalt, FaultOff, FaultReboot,
		FaultSleep, FaultWrite, FaultDeaf, FaultNoAgent, FaultMute, FaultAgent, FaultHTTP:
		return l.breakInside(ctx, domain, f)
	}
	_, err := ParseFault(string(f))
	return err
}

// KillQEMU kills a domain's process with SIGKILL and returns when it is gone. It works without libvirtd.
func (l *Lab) KillQEMU(ctx context.Context, domain string) error {
	_, err := call(ctx, l.info.Dir, request{Op: opKill, Name: domain})
	return err
}

// Destroy is the power switch.
func (l *Lab) Destroy(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultDestroy)
}

// Undefine takes the domain's definition away.
func (l *Lab) Undefine(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultUndefine)
}

// Suspend stops the domain's processors; Resume lets them go on.
func (l *Lab) Suspend(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultSuspend)
}

// Resume takes Suspend back.
func (l *Lab) Resume(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultResume)
}

// LinkDown pulls the domain's network cable; LinkUp puts it back.
func (l *Lab) LinkDown(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultLinkDown)
}

// LinkUp takes LinkDown back.
func (l *Lab) LinkUp(ctx context.Context, domain string) error {
	return l.Break(ctx, domain, FaultLinkUp)
}

func (l *Lab) setLink(ctx context.Context, domain, state string) error {
	mac, err := l.MAC(ctx, domain)
	if err != nil {
		return err
	}
	_, err = l.Virsh(ctx, "domif-setlink", domain, mac, state)
	return err
}

func (l *Lab) breakInside(ctx context.Context, domain string, f Fault) error {
	r, err := l.getFromGuest(ctx, domain, 7, "/cgi-bin/fault?"+string(f))
	if err == nil && r.Status != http.StatusOK {
		err = fmt.Errorf("the guest answers %d: %s", r.Status, strings.TrimSpace(r.Body))
	}
	if err != nil {
		return fmt.Errorf("fault %s in %s: %w", f, domain, err)
	}
	return nil
}

// getFromGuest asks at each of the domain's addresses until one answers.
func (l *Lab) getFromGuest(ctx context.Context, domain string, port uint16, path string) (reply, error) {
	addrs, err := l.Addresses(ctx, domain)
	if err != nil {
		return reply{}, err
	}
	if len(addrs) == 0 {
		return reply{}, fmt.Errorf("%s: %w", domain, ErrNoAddress)
	}
	var failed error
	for _, addr := range addrs {
		url := "http://" + netip.AddrPortFrom(addr, port).String() + path
		r, err := call(ctx, l.info.Dir, request{Op: opGet, URL: url})
		if err == nil {
			return r, nil
		}
		failed = errors.Join(failed, err)
	}
	return reply{}, failed
}

// Page is what a guest of the lab says about itself.
type Page struct {
	Name         string `json:"name"`          // from hale.name= on the command line, else the seed's local-hostname
	Boots        int    `json:"boots"`         // of the disk; 0 without a disk
	BootID       string `json:"boot_id"`       // new at each boot
	SeedHostname string `json:"seed_hostname"` // local-hostname of the NoCloud seed, empty without one
	SeedInstance string `json:"seed_instance"` // instance-id of the NoCloud seed, empty without one
}

// ReadPage asks a guest once; any answer but 200 is an error.
func (l *Lab) ReadPage(ctx context.Context, domain string) (Page, error) {
	r, err := l.getFromGuest(ctx, domain, 80, "/guest.json")
	if err != nil {
		return Page{}, err
	}
	if r.Status != http.StatusOK {
		return Page{}, fmt.Errorf("%s answers %d", domain, r.Status)
	}
	var p Page
	err = json.Unmarshal([]byte(r.Body), &p)
	return p, err
}

// AwaitPage waits until a guest serves its page, or ctx ends.
func (l *Lab) AwaitPage(ctx context.Context, domain string) (Page, error) {
	var p Page
	err := await(ctx, func() error {
		var err error
		p, err = l.ReadPage(ctx, domain)
		return err
	})
	return p, err
}
