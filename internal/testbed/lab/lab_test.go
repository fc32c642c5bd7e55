package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kdomanski/iso9660"

	"hale/internal/testbed/lab"
)

// envHolder makes the test program hold a lab until it is killed; its value is where to link the folder.
const envHolder = "HALE_LAB_TEST_HOLDER"

func TestMain(m *testing.M) {
	lab.RunIfChild()
	if link, ok := os.LookupEnv(envHolder); ok {
		panic(hold(link))
	}
	lab.Main(m)
}

// patience bounds a wait for real machines, which share two processors with everything else.
const patience = 2 * time.Minute

// stage is a lab with helpers that end the test where something is wrong.
type stage struct {
	*testing.T
	*lab.Lab
}

// newStage starts a lab in the given /16; labs that run at the same time need different ones.
func newStage(t *testing.T, subnet string) *stage {
	t.Helper()
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), lab.Options{Guest: guest, Subnet: netip.MustParsePrefix(subnet)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &stage{T: t, Lab: l}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) virsh(args ...string) {
	s.Helper()
	_, err := s.Virsh(s.Context(), args...)
	s.must(err)
}

// define defines a domain, with a disk of its own, and starts it.
func (s *stage) define(spec lab.DomainSpec) {
	s.Helper()
	var err error
	spec.Disk, err = s.NewDisk(s.Context(), spec.Name)
	s.must(err)
	file := filepath.Join(s.TempDir(), spec.Name+".xml")
	s.must(os.WriteFile(file, []byte(s.DomainXML(spec)), 0o600))
	s.virsh("define", file)
	s.virsh("start", spec.Name)
}

// await polls until try succeeds.
func (s *stage) await(what string, try func() error) {
	s.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			s.explain()
			s.Fatalf("%s: %v", what, err)
		}
	}
}

// explain logs what the domains are doing.
func (s *stage) explain() {
	s.Helper()
	if s.Lab == nil {
		return
	}
	domains, err := s.Domains(s.Context())
	s.Logf("domains: %+v, %v", domains, err)
	consoles, err := filepath.Glob(filepath.Join(s.Info().Dir, "log", "*.console"))
	if err != nil {
		return
	}
	for _, path := range consoles {
		text, err := os.ReadFile(path)
		s.Logf("%s: %v\n%s", filepath.Base(path), err, text)
	}
}

// well waits until the domain serves its page.
func (s *stage) well(domain string) lab.Page {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	p, err := s.AwaitPage(ctx, domain)
	if err != nil {
		s.explain()
		s.Fatalf("%s never served its page: %v", domain, err)
	}
	return p
}

// rebooted waits until the domain serves the page of a later boot than before.
func (s *stage) rebooted(domain string, before lab.Page) lab.Page {
	s.Helper()
	var p lab.Page
	s.await("reboot of "+domain, func() (err error) {
		if p, err = s.ReadPage(s.Context(), domain); err == nil && p.BootID == before.BootID {
			err = errors.New("still the boot before")
		}
		return err
	})
	return p
}

// sick asserts that the page is not served now.
func (s *stage) sick(domain string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	if p, err := s.ReadPage(ctx, domain); err == nil {
		s.Errorf("%s still serves %+v", domain, p)
	}
}

func (s *stage) fault(domain string, f lab.Fault) {
	s.Helper()
	s.must(s.Break(s.Context(), domain, f))
}

// state waits for a state in virsh's words.
func (s *stage) state(domain, want string) {
	s.Helper()
	s.await(domain+" "+want, func() error {
		domains, err := s.Domains(s.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(domains, func(d lab.Domain) bool { return d.Name == domain })
		if i < 0 {
			return errors.New("not there")
		}
		if domains[i].State != want {
			return fmt.Errorf("state is %q", domains[i].State)
		}
		return nil
	})
}

func TestGuestTakesFaultsFromInside(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.101.0.0/16")
	s.define(lab.DomainSpec{Name: "web-1", Panic: true})
	page := s.well("web-1")
	if page.Name != "web-1" || page.Boots != 1 {
		t.Errorf("page of the first boot: %+v", page)
	}

	for _, f := range []lab.Fault{lab.FaultNoHTTP, lab.FaultHTTP503, lab.FaultHang, lab.FaultSlow} {
		s.fault("web-1", f)
		s.sick("web-1")
		s.fault("web-1", lab.FaultHTTP)
		if again := s.well("web-1"); again != page {
			t.Errorf("after %s and its cure: %+v, want %+v", f, again, page)
		}
	}

	s.fault("web-1", lab.FaultReboot)
	page = s.rebooted("web-1", page)
	if page.Boots != 2 {
		t.Errorf("the disk counts %d boots, want 2", page.Boots)
	}

	s.fault("web-1", lab.FaultNoNet)
	s.await("no network", func() error {
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		if _, err := s.ReadPage(ctx, "web-1"); err == nil {
			return errors.New("still answers")
		}
		return nil
	})
	s.state("web-1", "running")
	s.fault("web-1", lab.FaultReset)
	page = s.rebooted("web-1", page)

	s.fault("web-1", lab.FaultPanic)
	s.state("web-1", "crashed")
	s.sick("web-1")
	s.must(s.Destroy(s.Context(), "web-1"))
	s.virsh("start", "web-1")
	s.rebooted("web-1", page)

	s.fault("web-1", lab.FaultOff)
	s.state("web-1", "shut off")
}

func TestGuestReadsItsSeedAndKeepsItsDisk(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.102.0.0/16")
	seed := filepath.Join(s.Info().Images, "seed.iso")
	writeSeed(t, seed, "instance-id: i-42\nlocal-hostname: from-seed\n",
		"#!/bin/sh\necho made by user-data >/www/extra\n")
	s.define(lab.DomainSpec{Name: "db-1", Seed: seed})
	page := s.well("db-1")
	want := lab.Page{Name: "db-1", Boots: 1, BootID: page.BootID, SeedHostname: "from-seed", SeedInstance: "i-42"}
	if page != want {
		t.Errorf("page %+v, want %+v", page, want)
	}

	addrs, err := s.Addresses(s.Context(), "db-1")
	if err != nil || len(addrs) != 1 {
		t.Fatalf("addresses of the first boot: %v, %v; want one", addrs, err)
	}
	s.await("what user-data made", func() error {
		return fetch(s.Context(), "http://"+addrs[0].String()+"/extra", "made by user-data\n")
	})
	moved := netip.MustParseAddr("10.102.222.7")
	s.must(s.Readdress(s.Context(), "db-1", moved))
	if p := s.well("db-1"); p.BootID != page.BootID || slices.Contains(addrs, moved) {
		t.Errorf("the address moved before the boot: %v, %+v", addrs, p)
	}
	s.virsh("reboot", "db-1") // the soft way, by the power button
	page = s.rebooted("db-1", page)
	if page.Boots != 2 {
		t.Errorf("the disk counts %d boots, want 2", page.Boots)
	}
	if addrs, err = s.Addresses(s.Context(), "db-1"); err != nil || len(addrs) == 0 || addrs[0] != moved {
		t.Errorf("addresses after the boot: %v, %v; want %s first", addrs, err, moved)
	}

	s.fault("db-1", lab.FaultDeaf)
	s.virsh("shutdown", "db-1")
	s.must(s.LinkDown(s.Context(), "db-1"))
	s.sick("db-1")
	s.must(s.LinkUp(s.Context(), "db-1"))
	if p := s.well("db-1"); p.BootID != page.BootID {
		t.Errorf("a deaf guest with its cable back boots anew: %+v", p)
	}
}

// fetch asks a guest from this process, which shares the lab's network.
func fetch(ctx context.Context, url, want string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && string(body) != want {
		err = fmt.Errorf("status %d, body %q", resp.StatusCode, body)
	}
	return err
}

// writeSeed writes a NoCloud seed image.
func writeSeed(t *testing.T, path, metaData, userData string) {
	t.Helper()
	w, err := iso9660.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Cleanup()
	for name, text := range map[string]string{"meta-data": metaData, "user-data": userData} {
		if err := w.AddFile(strings.NewReader(text), name); err != nil {
			t.Fatal(err)
		}
	}
	var image bytes.Buffer
	if err := w.WriteTo(&image, "CIDATA"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, image.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A libvirtd with a fault of its own must not end what a test says about hale: a host's service manager would start it
// again.
func TestLibvirtdThatDiesOfItselfIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.106.0.0/16")
	first := s.libvirtd()
	s.must(s.FreezeLibvirtd(s.Context()))
	s.must(syscall.Kill(first, syscall.SIGKILL)) // from outside the lab
	s.await("another libvirtd", func() error {
		if pid := s.libvirtd(); pid == first || pid == 0 {
			return errors.New("there is none")
		}
		_, err := s.Virsh(s.Context(), "list")
		return err
	})
	s.must(s.ThawLibvirtd(s.Context()))

	s.must(s.KillLibvirtd(s.Context()))
	if pid := s.libvirtd(); pid != 0 {
		t.Errorf("the lab's own kill left libvirtd %d", pid)
	}
	s.must(s.StartLibvirtd(s.Context()))
}

// libvirtd returns the process of the lab's libvirtd, as seen from outside; 0 while there is none.
func (s *stage) libvirtd() int {
	for _, p := range inside(s.T, s.Info().PID) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid)); err == nil && string(name) == "libvirtd\n" {
			return p.pid
		}
	}
	return 0
}

func TestGuestsOutliveLibvirtdAndDieWithTheLab(t *testing.T) {
	t.Parallel()
	s := newStage(t, "10.103.0.0/16")
	s.define(lab.DomainSpec{Name: "a"})
	s.define(lab.DomainSpec{Name: "never", Sick: "nohttp"})
	page := s.well("a")
	if n := s.running("a"); n != 1 {
		t.Fatalf("%d processes of a, want 1", n)
	}

	s.must(s.KillLibvirtd(s.Context()))
	if _, err := s.Virsh(s.Context(), "list"); err == nil {
		t.Error("libvirtd answers after its death")
	}
	if p := s.well("a"); p.BootID != page.BootID {
		t.Errorf("the guest booted anew when libvirtd died: %+v", p)
	}
	s.must(s.StartLibvirtd(s.Context()))
	s.state("a", "running")

	s.must(s.FreezeLibvirtd(s.Context()))
	frozen, cancel := context.WithTimeout(s.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.Virsh(frozen, "list"); err == nil {
		t.Error("libvirtd answers while frozen")
	}
	s.must(s.KillQEMU(s.Context(), "a"))
	if n := s.running("a"); n != 0 {
		t.Errorf("%d processes of a after KillQEMU, want 0", n)
	}
	s.must(s.ThawLibvirtd(s.Context()))
	s.state("a", "shut off")
	s.virsh("start", "a")
	page = s.rebooted("a", page)

	s.must(s.Suspend(s.Context(), "a"))
	s.state("a", "paused")
	s.sick("a")
	s.must(s.Resume(s.Context(), "a"))
	if p := s.well("a"); p != page {
		t.Errorf("after resume: %+v, want %+v", p, page)
	}

	addrs, err := s.Addresses(s.Context(), "never")
	if err != nil || len(addrs) != 1 {
		t.Errorf("addresses of a guest without a web server: %v, %v; want one", addrs, err)
	}
	s.sick("never")
	s.must(s.Undefine(s.Context(), "never"))
	s.must(s.Destroy(s.Context(), "never"))
	if n := s.running("never"); n != 0 {
		t.Errorf("%d processes of a destroyed domain", n)
	}

	everyone := inside(t, s.Info().PID)
	if len(everyone) < 4 { // warden, libvirtd, dnsmasq, QEMU
		t.Fatalf("processes in the lab: %v, want at least four", everyone)
	}
	s.must(s.Close())
	s.gone(everyone)
	if _, err := os.Stat(s.Info().Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func (s *stage) running(domain string) int {
	s.Helper()
	processes, err := s.Processes(s.Context())
	s.must(err)
	n := 0
	for _, p := range processes {
		if p.Domain == domain {
			n++
		}
	}
	return n
}
