package scenario

import (
	"fmt"

	"hale/internal/fleet"
)

// serviceOf is what a check asks that belongs to one protocol. As with http, authorities are left out.
func serviceOf(c *fleet.Check) string {
	p := pairs{fmt.Sprintf("port: %d", c.Port)}
	switch c.Kind { //nolint:exhaustive // the others have their own ways
	case fleet.CheckSSH:
		p.unless(c.SSH.Banner == "", "banner", "%s", quoted(c.SSH.Banner))
	case fleet.CheckTLS:
		p.unless(c.Certificate.Host == "", "host", "%s", quoted(c.Certificate.Host))
		p.add("certificate_days", "%d", c.Certificate.Days)
		p.unless(!c.Certificate.Insecure, "insecure", "true")
	}
	return p.String()
}
