package world

// noted is what a caller left on hosts for others of its installation to find.
type noted struct {
	of   string // the installation
	name string
	on   map[*host]bool
}

// Noted is a note, and the first host that shows it.
type Noted struct{ Name, Host string }

// Noted returns what an installation noted on hosts that answer, each once, in the order in which it came.
func (w *World) Noted(of string) []Noted {
	var out []Noted
	for _, n := range w.notes {
		if h := w.shows(n); h != nil && n.of == of {
			out = append(out, Noted{n.name, h.Name})
		}
	}
	return out
}

// shows returns the first host that has the note and answers, or nil.
func (w *World) shows(n *noted) *host {
	for _, h := range w.order {
		if n.on[h] && h.dark == 0 {
			return h
		}
	}
	return nil
}

// Notes reads what an installation noted on the hosts that answer, as World.Noted does; Transient: none of them
// answers. It takes no time, and nor does Note: what can come between the two is for others to show.
func (c *Client) Notes(of string) ([]Noted, End) {
	if end := c.tryNotes(); end != Done {
		return nil, end
	}
	return c.w.Noted(of), Done
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

// Lacks reports whether a host that answers does not have the note.
func (c *Client) Lacks(of, name string) bool {
	n := c.w.noteCalled(of, name)
	for _, h := range c.w.order {
		if h.dark == 0 && !n.on[h] {
			return true
		}
	}
	return false
}

// Answers reports whether the host does.
func (c *Client) Answers(name string) bool {
	h := c.w.hosts[name]
	return h != nil && h.dark == 0
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
