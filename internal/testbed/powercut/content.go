package powercut

import "math/rand/v2"

// sector is what a disk writes as a whole.
const sector = 512

// page is how large the pieces are that a file's bytes are kept in; what was never written takes no room.
const page = 4096

// change is one that was made to a file since it was synced.
type change struct {
	at   int64
	data []byte // what was written there; nil: the file got another size
	size int64
}

// content is a file's bytes: as they are read, and as they were when they were last synced.
type content struct {
	size, syncedSize int64
	pages            map[int64][]byte
	before           map[int64][]byte // the synced pages of those that changed since; nil: there was none
	changes          []change
}

func newContent() *content { return &content{pages: map[int64][]byte{}, before: map[int64][]byte{}} }

// read fills to from the offset on, and returns how much there was.
func (c *content) read(to []byte, at int64) int {
	if at >= c.size {
		return 0
	}
	to = to[:min(int64(len(to)), c.size-at)]
	for done := 0; done < len(to); {
		n, from := (at+int64(done))/page, (at+int64(done))%page
		piece := to[done:min(len(to), done+int(page-from))]
		if has := c.pages[n]; has != nil {
			copy(piece, has[from:])
		} else {
			clear(piece)
		}
		done += len(piece)
	}
	return len(to)
}

func (c *content) write(data []byte, at int64) {
	c.changes = append(c.changes, change{at: at, data: append([]byte{}, data...)})
	c.put(data, at)
}

func (c *content) resize(to int64) {
	c.changes = append(c.changes, change{size: to})
	c.cut(to)
}

// sync makes what the file holds what a cut leaves.
func (c *content) sync() {
	c.syncedSize, c.changes = c.size, nil
	clear(c.before)
}

func (c *content) put(data []byte, at int64) {
	c.size = max(c.size, at+int64(len(data)))
	for len(data) > 0 {
		n, from := at/page, at%page
		done := copy(c.changing(n)[from:], data)
		data, at = data[done:], at+int64(done)
	}
}

// cut gives the file another size. What is beyond it is zero, should the file grow again.
func (c *content) cut(to int64) {
	if to < c.size {
		for n := range c.pages {
			switch {
			case n*page >= to:
				c.remember(n)
				delete(c.pages, n)
			case (n+1)*page > to:
				clear(c.changing(n)[to-n*page:])
			}
		}
	}
	c.size = to
}

// changing returns a page that is about to change.
func (c *content) changing(n int64) []byte {
	c.remember(n)
	if c.pages[n] == nil {
		c.pages[n] = make([]byte, page)
	}
	return c.pages[n]
}

func (c *content) remember(n int64) {
	if _, known := c.before[n]; known {
		return
	}
	if is := c.pages[n]; is != nil {
		c.before[n] = append([]byte{}, is...)
	} else {
		c.before[n] = nil
	}
}

// lose takes back what was not synced, but for what the loss lets through.
func (c *content) lose(l Loss, dice *rand.Rand) {
	for n, was := range c.before {
		if was == nil {
			delete(c.pages, n)
		} else {
			c.pages[n] = was
		}
	}
	c.size = c.syncedSize
	clear(c.before)
	changes := c.changes
	c.changes = nil
	if len(changes) > 0 {
		switch l {
		case All:
		case Torn:
			c.tear(changes, dice)
		case Scattered:
			c.scatter(changes, dice)
		}
	}
	c.sync()
}

// tear lets the first of the changes through, as many as the dice say, and of the next one what comes before a
// sector's end.
func (c *content) tear(changes []change, dice *rand.Rand) {
	whole := dice.IntN(len(changes))
	for _, ch := range changes[:whole] {
		c.apply(ch)
	}
	last := changes[whole]
	if n := sectors(last); n > 0 {
		kept := int64(dice.IntN(n+1))*sector - last.at%sector // from the change's first byte on
		last.data = last.data[:min(max(kept, 0), int64(len(last.data)))]
		c.apply(last)
	}
}

// scatter lets each sector through or not, in no order, as a disk with a cache does.
func (c *content) scatter(changes []change, dice *rand.Rand) {
	for _, ch := range changes {
		if ch.data == nil {
			if dice.IntN(2) == 0 {
				c.apply(ch)
			}
			continue
		}
		for at, rest := ch.at, ch.data; len(rest) > 0; {
			n := min(int64(len(rest)), sector-at%sector)
			if dice.IntN(2) == 0 {
				c.apply(change{at: at, data: rest[:n]})
			}
			at, rest = at+n, rest[n:]
		}
	}
}

func (c *content) apply(ch change) {
	if ch.data == nil {
		c.cut(ch.size)
	} else {
		c.put(ch.data, ch.at)
	}
}

// sectors is how many of them a change writes to.
func sectors(ch change) int {
	if len(ch.data) == 0 {
		return 0
	}
	return int((ch.at+int64(len(ch.data))-1)/sector - ch.at/sector + 1)
}

// needsRoom reports whether a write would need a page that the file does not have.
func (c *content) needsRoom(at, length int64) bool {
	for n := at / page; n*page < at+length; n++ {
		if c.pages[n] == nil {
			return true
		}
	}
	return false
}
