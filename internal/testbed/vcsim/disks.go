package vcsim

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/mo"
)

// disks are what guests write to: the count of boots lies in the disk's own file, so that a copy of the file has the
// count, too.
type disks struct {
	mu    sync.Mutex
	roots map[string]string // of datastores, by their names
	// cloned is what is on the disks of clones, by the folders that they lie in: the simulator clones no content.
	cloned map[string]int
}

func newDisks() *disks { return &disks{roots: map[string]string{}, cloned: map[string]int{}} }

// at says where the files of a datastore are.
func (d *disks) at(datastore, root string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roots[datastore] = root
}

// content is the file with a disk's content, of a path as "[store] folder/file.vmdk"; and that folder.
func (d *disks) content(file string) (content, folder string) {
	store, path, _ := strings.Cut(strings.TrimPrefix(file, "["), "] ")
	return filepath.Join(d.roots[store], strings.TrimSuffix(path, ".vmdk")+"-flat.vmdk"), filepath.Dir(path)
}

// boots is how often the machine's first disk was booted from.
func (d *disks) boots(vm *mo.VirtualMachine) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.read(vm)
}

func (d *disks) read(vm *mo.VirtualMachine) int {
	file, folder := d.content(files(vm)[0])
	text, err := os.ReadFile(file)
	if n, bad := strconv.Atoi(string(text)); err == nil && bad == nil {
		return n
	}
	return d.cloned[folder]
}

// boot writes down that the machine boots once more.
func (d *disks) boot(vm *mo.VirtualMachine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if vm.Config == nil || len(files(vm)) == 0 {
		return
	}
	n := d.read(vm) + 1
	file, _ := d.content(files(vm)[0])
	if err := os.WriteFile(file, []byte(strconv.Itoa(n)), 0o600); err != nil {
		panic(err) // the test's own folder
	}
}

// clone notes what a clone of the machine will have on its disk.
func (d *disks) clone(vm *mo.VirtualMachine, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cloned[name] = d.read(vm)
}

// IDOf is the id of what has the name, the template or a copy as well.
func (v *VCenter) IDOf(t T, name string) string {
	t.Helper()
	for _, vm := range v.all() {
		if seen := v.look(vm); seen.Name == name {
			return seen.Config.InstanceUuid
		}
	}
	t.Fatal("there is no machine", name)
	return ""
}

// Bearing counts the machines, templates as well, that have the entry in their extra configuration.
func (v *VCenter) Bearing(t T, key, value string) int {
	t.Helper()
	n := 0
	for _, vm := range v.all() {
		for _, e := range v.look(vm).Config.ExtraConfig {
			if o := e.GetOptionValue(); o.Key == key && o.Value == value {
				n++
			}
		}
	}
	return n
}

// DiskBoots counts how often the guest's first disk was booted from.
func (v *VCenter) DiskBoots(t T, id string) int {
	t.Helper()
	vm := v.by(t, id)
	return v.guests.disks.boots(&vm)
}
