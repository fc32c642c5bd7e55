package prose

import (
	"fmt"

	"hale/internal/fleet"
)

// contest tells that two hosts show an instance, or that one does again.
func contest(r fleet.Record) string {
	if r.Reason == fleet.ReasonReleased {
		return fmt.Sprintf("%s: one host shows %s again", about(r), instance(r))
	}
	return fmt.Sprintf("%s: %s, and host %s shows it, too; hale does nothing to it until one of them does not", about(r), instance(r), r.Detail)
}

// storeNews tells what the world showed of the store.
func storeNews(r fleet.Record) string {
	switch r.Reason {
	case fleet.ReasonStoreOlder:
		return fmt.Sprintf("%s: the store is older than the world: %s bears a mark that the store, which is at generation %d, never gave out; "+
			"hale does nothing in the fleet", about(r), instance(r), r.Limit)
	case fleet.ReasonInstallation:
		return fmt.Sprintf("%s: %s bears the mark of another installation of hale, %s; no first instance is built in the fleet", about(r), instance(r), r.Detail)
	default:
	}
	if r.Machine == "" {
		return aside(about(r)+": hale believes what the provider shows, and goes on from there", r.By)
	}
	return fmt.Sprintf("%s: %s is its instance, as the provider shows it", about(r), instance(r))
}
