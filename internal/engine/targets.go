package engine

import (
	"hale/internal/core/situation"
	"hale/internal/owner/picture"
	"hale/internal/probe"
)

// forsake ends the probing that an earlier term left behind, and returns the highest epoch that it used.
func forsake(p probe.Engine) uint64 {
	var top uint64
	for _, e := range p.Standings() {
		p.Remove(e.ID)
		top = max(top, e.Epoch)
	}
	return top
}

// point keeps the probe engine's targets in step with where the picture aims.
func (t *term) point(index int, a picture.Aim) {
	if a.Epoch != 0 {
		t.probes.Set(t.targets(index)...)
		return
	}
	for _, target := range t.targets(index) {
		t.probes.Remove(target.ID)
	}
}

// targets are the machine's checks at its present aim: first those that it is judged by.
func (t *term) targets(index int) []probe.Target {
	name, a := t.own.View(index).Machine.Name, t.own.Aim(index)
	asked := t.spec.Asked()
	out := make([]probe.Target, len(asked))
	for k, c := range asked {
		out[k] = probe.Target{
			ID: probe.ID{Machine: name, Check: c.Name}, Instance: a.Instance, Host: a.Host, Address: a.Address,
			Rival:    a.Rival,
			Metadata: a.Metadata, Spec: c, Epoch: a.Epoch, Keeps: t.spec.ReadsPage(c.Name),
		}
	}
	return out
}

// forLook returns the targets that a look asks: what only tells has no say in a repair.
func (t *term) forLook(index int, scope situation.LookScope) []probe.Target {
	if scope == situation.LookProvider || t.own.Aim(index).Epoch == 0 {
		return nil
	}
	return t.targets(index)[:len(t.spec.Checks)]
}

// forsakeAll ends all probing of this term.
func (t *term) forsakeAll() {
	for i := range t.own.Len() {
		if t.own.Aim(i).Epoch != 0 {
			t.point(i, picture.Aim{})
		}
	}
	t.canaries.End()
	t.askHosts(nil)
}
