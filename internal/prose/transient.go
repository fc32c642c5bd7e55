package prose

import (
	"fmt"
	"strings"
)

// Transient says that adopted machines have no definition at their provider, and what to do.
func Transient(machines []string) string {
	first := machines[0]
	if len(machines) == 1 {
		return fmt.Sprintf("%s is transient: libvirt keeps no definition of it, so it is gone for ever once it is shut off. "+
			"Define it: virsh dumpxml %s > %s.xml && virsh define %s.xml", first, first, first, first)
	}
	return fmt.Sprintf("%s are transient: libvirt keeps no definition of them, so they are gone for ever once they are shut off. "+
		"Define each: virsh dumpxml %s > %s.xml && virsh define %s.xml", strings.Join(machines, ", "), first, first,
		first)
}
