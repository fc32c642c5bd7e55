package prose

import (
	"fmt"
	"strings"
)

// Transient says that adopted machines have no definition at their provider, and what to do.
func Transient(machines []string) string {
	first := machines[0]
	if len(machines) == 1 {
		return fmt.Sprintf("%s is transient: libvirt keeps no definition of it, so it is gone for ever once it is "+
			"shut off. Define it: virsh dumpxml %s > %s.xml && virsh define %s.xml", first, first, first, first)
	}
	return fmt.Sprintf("%s are transient: libvirt keeps no definition of them, so they are gone for ever once they "+
		"are shut off. Define each: virsh dumpxml %s > %s.xml && virsh define %s.xml", strings.Join(machines, ", "),
		first, first,
		first)
}

// Unwitnessed says that nothing will bear witness when these machines fall silent, and what to add. Of several, the
// rest is only counted.
func Unwitnessed(machines []string) string {
	few := min(len(machines), fewFleets)
	who := strings.Join(machines[:few], ", ")
	if more := len(machines) - few; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("alone on their host, and hale does not know the host's own address: %s. When one is silent, nothing "+
		"bears witness that hale would hear it, and a person is told instead: give the hosts their address "+
		"(providers.NAME.hosts), check the guest's agent, or write silence: act", who)
}
