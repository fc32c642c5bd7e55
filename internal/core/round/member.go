package round

import (
	"hale/internal/core/chart"
	"hale/internal/core/situation"
)

// Member is one machine in a round, for what looks at all of them.
type Member struct {
	On      *chart.Chart // what is known of it
	Index   int          // in Situation.Machines
	Site    int          // in the census; -1: it was not counted
	Asleep  bool         // it is held as before: its belief is the situation's own, to be read only
	Broken  bool         // it broke a law; nothing more is done with it
	Fated   bool         // suspects may yet show that it shares its fate with them
	Unasked bool         // not every machine near it was asked since it failed
	// Near is what the machines near it say since a look found it silent.
	Near situation.Testimony
}
