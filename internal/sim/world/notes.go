package world

import "slices"

// noted is what a caller left on hosts for others of its installation to find.
type noted struct {
	of   string // the installation
	name string
	on   map[*host]bool
}

// Noted returns what an installation noted on hosts that answer, each once, in the order in which it came.
func (w *World) Noted(of string) []string {
	var out []string
	for _, n := range w.notes {
		if n.of == of && slices.ContainsFunc(w.order, func(h *host) bool { return n.on[h] && h.dark == 0 }) {
			out = append(out, n.name)
		}
	}
	return out
}

// ReadNotes reads what an installation noted on each host that answers; Transient: none of them answers. It takes no
// time, and nor does Note: what can come between the two is for others to show.
func ReadNotes[Host, Name ~string](c *Client, of string) (map[Host][]Name, End) {
	found, end := map[Host][]Name{}, c.tryNotes()
	for _, h := range c.w.order {
		if end != Done || h.dark > 0 {
			continue
		}
		found[Host(h.Name)] = nil
		for _, n := range c.w.OnHost(h.Name, of) {
			found[Host(h.Name)] = append(found[Host(h.Name)], Name(n))
		}
	}
	return found, end
}

// Note leaves a note on each host that answers and does not have it; Transient: none of them answers. The other callers
// get to know that there is something new.
func (c *Client) Note(of, name string) End {
	if end := c.tryNotes(); end != Done {
		return end
	}
	n := c.w.noteCalled(of, name)
	for _, h := range c.w.order {
		if h.dark == 0 {
			n.on[h] = true
		}
	}
	for _, o := range c.w.clients {
		if o != c && o.Noted != nil {
			o.Noted()
		}
	}
	return Done
}

// NoteOn leaves a note on the host.
func (w *World) NoteOn(host, of, name string) { w.noteCalled(of, name).on[w.hosts[host]] = true }

// ForgetOn removes it.
func (w *World) ForgetOn(host, of, name string) { delete(w.noteCalled(of, name).on, w.hosts[host]) }

// OnHost returns what the installation noted on the host.
func (w *World) OnHost(host, of string) []string {
	var names []string
	for _, n := range w.notes {
		if n.of == of && n.on[w.hosts[host]] {
			names = append(names, n.name)
		}
	}
	return names
}

// tryNotes says how it ends to ask all hosts for their notes.
func (c *Client) tryNotes() End {
	if end := c.w.fate(c, Call{Op: Notes}).fails; end != Done {
		return end
	}
	for _, h := range c.w.order {
		if h.dark == 0 {
			return Done
		}
	}
	return Transient
}

// noteCalled returns the note of the name, on no host yet if it was never left.
func (w *World) noteCalled(of, name string) *noted {
	for _, n := range w.notes {
		if n.of == of && n.name == name {
			return n
		}
	}
	n := &noted{of, name, map[*host]bool{}}
	w.notes = append(w.notes, n)
	return n
}
