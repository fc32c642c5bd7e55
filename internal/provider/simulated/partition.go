package simulated

import (
	"time"

	"hale/internal/fleet"
)

// CutOff parts the host's guests from everybody, their peers too: they run, and serve nobody.
type CutOff struct{ Host fleet.HostName }

func (f CutOff) strike(w *World, in *injection, now time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	w.sever(f.Host, now)
	in.undo = func(now time.Time) { w.sever(f.Host, now) }
	return nil
}

// OutOfSight parts one client's probes from the host's guests, which serve everybody else. Its calls to the provider pass.
type OutOfSight struct {
	Client string
	Host   fleet.HostName
}

func (f OutOfSight) strike(w *World, in *injection, _ time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	return nil
}

// AccessCut parts the host's guests from all that they could write to, as a switched port or a storage system does that is told to: they run, and
// neither write nor serve.
type AccessCut struct{ Host fleet.HostName }

func (f AccessCut) strike(w *World, in *injection, now time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	again := func(now time.Time) {
		w.sever(f.Host, now)
		for _, g := range w.sorted() {
			if g.host == f.Host {
				w.recount(g)
			}
		}
	}
	again(now)
	in.undo = again
	return nil
}

// apart reports whether the host's guests reach nothing that they could write to.
func (w *World) apart(host fleet.HostName) bool {
	_, cut := inForce(w, func(f AccessCut) bool { return f.Host == host })
	return cut
}

// severed reports whether the host's guests are cut off.
func (w *World) severed(host fleet.HostName) bool {
	_, cut := inForce(w, func(f CutOff) bool { return f.Host == host })
	return cut || w.apart(host)
}

// sever tells the host's guests whether they are cut off.
func (w *World) sever(host fleet.HostName, now time.Time) {
	cut := w.severed(host)
	for _, g := range w.guests {
		if g.host != host || g.severed == cut {
			continue
		}
		g.severed = cut
		if cut {
			g.silence()
		}
		g.remember(now)
	}
}

// hidden reports whether the client's probes cannot reach the guest.
func (w *World) hidden(client string, g *guest) bool {
	return w.outOfSight(client, g.host)
}

// outOfSight reports whether nothing that is on the host can be reached by the client's probes.
func (w *World) outOfSight(client string, host fleet.HostName) bool {
	_, out := inForce(w, func(f OutOfSight) bool { return f.Host == host && f.Client == client })
	return out
}

// missed reports whether this probe of the client's does not reach the guest, which is well.
func (w *World) missed(client string, g *guest) bool {
	if w.hidden(client, g) {
		return true
	}
	var share float64
	for _, ill := range g.ills {
		if ill.Symptom == LosesProbes {
			share = max(share, ill.Share)
		}
	}
	return share > 0 && w.random.Float64() < share
}
