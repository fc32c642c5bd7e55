package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const qemuConf = `stdio_handler = "file"
security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
cgroup_controllers = [ ]
namespaces = [ ]
`

// libvirtdConf wants a host UUID: where the firmware has none, libvirtd would make up another one at each start.
const libvirtdConf = `auth_unix_rw = "none"
auth_unix_ro = "none"
unix_sock_rw_perms = "0770"
log_filters = "3:*"
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
host_uuid = "%s"
`

// dnsmasq's ping before each offer would cost every boot three seconds. Forwarding is "open" because
// libvirt then makes no firewall rules, which labs in one network namespace would trip each other over.
const networkXML = `<network xmlns:dnsmasq='http://libvirt.org/schemas/network/dnsmasq/1.0'>
  <name>default</name>
  <forward mode='open'/>
  <bridge name='%s' stp='off' delay='0'/>
  <ip address='%s' netmask='255.255.0.0'><dhcp><range start='%s' end='%s'/></dhcp></ip>
  <dnsmasq:options><dnsmasq:option value='no-ping'/></dnsmasq:options>
</network>
`

// labFolders are the folders of a lab below its own.
func labFolders() []string { return []string{"etc", "lib", "log", "run", "images"} }

// writeFiles makes the folders and libvirt's configuration.
func (l *Lab) writeFiles() error {
	for _, dir := range append(labFolders(), "etc/qemu/networks", "etc/storage", "etc/nwfilter") {
		if err := os.MkdirAll(filepath.Join(l.info.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	network := fmt.Sprintf(networkXML, l.info.Bridge, l.address(0, 1), l.address(1, 1), l.address(200, 250))
	for name, text := range map[string]string{
		"etc/libvirtd.conf":   fmt.Sprintf(libvirtdConf, uuid.NewString()) + l.listen,
		"etc/qemu.conf":       qemuConf,
		"etc/libvirt.conf":    "",
		"etc/lab-network.xml": network,
	} {
		if err := os.WriteFile(filepath.Join(l.info.Dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if l.info.Guest.Disk == "" {
		return nil
	}
	base, err := os.ReadFile(l.info.Guest.Disk)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.info.Images, "base.qcow2"), base, 0o644)
}

// address returns an address of the lab's /16 by its last two bytes.
func (l *Lab) address(third, fourth byte) netip.Addr {
	b := l.info.Subnet.Addr().As4()
	b[2], b[3] = third, fourth
	return netip.AddrFrom4(b)
}

// defineDefaults makes the network and the storage pool.
func (l *Lab) defineDefaults(ctx context.Context) error {
	for _, args := range [][]string{
		{"net-define", filepath.Join(l.info.Dir, "etc", "lab-network.xml")},
		{"net-start", "default"},
		{"pool-define-as", "default", "dir", "--target", l.info.Images},
		{"pool-start", "default"},
	} {
		if _, err := l.Virsh(ctx, args...); err != nil {
			return err
		}
	}
	_, err := call(ctx, l.info.Dir, request{Op: opTune, Name: l.info.Bridge})
	return err
}

// Virsh runs a virsh command against the lab and returns what it prints. The end of ctx ends it
// even where libvirtd is frozen.
//
// Each libvirtd takes the first free name for a tap device, so that those of two labs in one network namespace now and
// then want the same one. The loser tries again: by then it sees that the name is taken.
func (l *Lab) Virsh(ctx context.Context, args ...string) (string, error) {
	for tries := 3; ; tries-- {
		out, err := run(ctx, "", "virsh", append([]string{"-q", "-c", l.info.URI}, args...)...)
		if tries == 1 || !tapTaken(err) {
			return out, err
		}
	}
}

func tapTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "Unable to create tap device") &&
		strings.Contains(err.Error(), "Device or resource busy")
}

// KillLibvirtd kills libvirtd with SIGKILL; its domains run on.
func (l *Lab) KillLibvirtd(ctx context.Context) error { return l.ask(ctx, opKillDaemon) }

// StartLibvirtd starts libvirtd after KillLibvirtd and returns when it accepts connections.
func (l *Lab) StartLibvirtd(ctx context.Context) error { return l.ask(ctx, opStartDaemon) }

// FreezeLibvirtd stops libvirtd without ending it: connections are taken, calls hang.
func (l *Lab) FreezeLibvirtd(ctx context.Context) error { return l.ask(ctx, opFreezeDaemon) }

// ThawLibvirtd lets a frozen libvirtd go on.
func (l *Lab) ThawLibvirtd(ctx context.Context) error { return l.ask(ctx, opThawDaemon) }

func (l *Lab) ask(ctx context.Context, o op) error {
	_, err := call(ctx, l.info.Dir, request{Op: o})
	return err
}

// Processes lists the QEMU processes of domains, running or suspended. It looks at the process table,
// not at libvirt, so it also works while libvirtd is dead or frozen, and proves what it says.
func (l *Lab) Processes(ctx context.Context) ([]Process, error) {
	r, err := call(ctx, l.info.Dir, request{Op: opProcesses})
	return r.Processes, err
}

// Domain is what libvirt and the process table say about one domain.
type Domain struct {
	Name      string
	State     string // in virsh's words: "running", "shut off", "paused", "crashed" …
	Processes int    // QEMU processes; more than one is a split brain
}

// Domains lists the defined and the running domains, by name.
func (l *Lab) Domains(ctx context.Context) ([]Domain, error) {
	out, err := l.Virsh(ctx, "list", "--all")
	if err != nil {
		return nil, err
	}
	processes, err := l.Processes(ctx)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, p := range processes {
		count[p.Domain]++
	}
	var domains []Domain
	for line := range strings.Lines(out) {
		f := strings.Fields(line) // id, name, state of one or two words
		if len(f) >= 3 {
			domains = append(domains, Domain{Name: f[1], State: strings.Join(f[2:], " "), Processes: count[f[1]]})
		}
	}
	return domains, nil
}

// lease is an entry of the file in which libvirt keeps what dnsmasq gave away.
type lease struct {
	IP     netip.Addr `json:"ip-address"`
	MAC    string     `json:"mac-address"`
	Expiry int64      `json:"expiry-time"` // Unix seconds
}

// Addresses lists the DHCP leases of a running domain, the newest first. Like Processes it does
// not ask libvirtd. A lease outlives the boot that asked for it.
func (l *Lab) Addresses(ctx context.Context, domain string) ([]netip.Addr, error) {
	mac, err := l.MAC(ctx, domain)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(l.info.Dir, "lib", "dnsmasq", l.info.Bridge+".status"))
	if errors.Is(err, os.ErrNotExist) || len(data) == 0 {
		return nil, nil // there is no lease yet
	}
	var leases []lease
	if err := errors.Join(err, json.Unmarshal(data, &leases)); err != nil {
		return nil, fmt.Errorf("leases: %w", err)
	}
	slices.SortStableFunc(leases, func(a, b lease) int { return cmp.Compare(b.Expiry, a.Expiry) })
	var addrs []netip.Addr
	for _, e := range leases {
		if e.MAC == mac && e.Expiry > time.Now().Unix() {
			addrs = append(addrs, e.IP)
		}
	}
	return addrs, nil
}

// MAC returns the hardware address of a running domain's first interface.
func (l *Lab) MAC(ctx context.Context, domain string) (string, error) {
	processes, err := l.Processes(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range processes {
		if p.Domain == domain && p.MAC != "" {
			return p.MAC, nil
		}
	}
	return "", fmt.Errorf("domain %s has no process with a network interface", domain)
}

// Readdress reserves another address for a running domain: it will get it when it asks for one next, which
// is when it boots. The guest keeps the old one until then.
func (l *Lab) Readdress(ctx context.Context, domain string, addr netip.Addr) error {
	if !l.info.Subnet.Contains(addr) {
		return fmt.Errorf("%s is not in %s", addr, l.info.Subnet)
	}
	mac, err := l.MAC(ctx, domain)
	if err != nil {
		return err
	}
	entries, err := l.Virsh(ctx, "net-dumpxml", "default")
	if err != nil {
		return err
	}
	how := "add-last"
	if strings.Contains(entries, "mac='"+mac+"'") {
		how = "modify"
	}
	host := fmt.Sprintf("<host mac='%s' ip='%s'/>", mac, addr)
	_, err = l.Virsh(ctx, "net-update", "default", how, "ip-dhcp-host", host, "--live", "--config")
	return err
}
