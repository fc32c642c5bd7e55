package score

// Nights is how the nights ended that could have made two of one, in the order of NightVerbs.
type Nights [6]Ends

// Ends counts the nights of a kind by how they ended. They add up to Nights.
type Ends struct {
	Nights   int // that there were, in all
	NoEffect int // there was nothing that it could happen to
	Calm     int // no machine failed, and no person was needed
	Healed   int // a machine failed, and was healed without a person
	Paged    int // a person was told
	Open     int // a machine is down, and no person was told
	Wrong    int // two ran, or a healthy one or a stranger was hit
}

func (n *Nights) add(o Nights) {
	for i := range n {
		a, b := &n[i], o[i]
		a.Nights, a.NoEffect, a.Calm, a.Healed = a.Nights+b.Nights, a.NoEffect+b.NoEffect, a.Calm+b.Calm,
			a.Healed+b.Healed
		a.Paged, a.Open, a.Wrong = a.Paged+b.Paged, a.Open+b.Open, a.Wrong+b.Wrong
	}
}
