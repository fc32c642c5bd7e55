package sizes

import (
	"time"

	"hale/internal/config/times"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Draft is how many machines there shall be: a number, or bounds between which something moves it.
type Draft struct {
	plain             keys.At[int]
	min, max, desired keys.At[int]
	strict            keys.At[bool]
	mode              keys.At[policy.Mode]
	metrics           keys.At[[]keys.Named[metricDraft]]
	opinions          keys.At[[]keys.Named[opinionDraft]]
	up, down          keys.At[paceDraft]
	leave             keys.At[[]keys.At[policy.LeaveRule]]
	busy              keys.At[string]
	even              keys.At[fleet.DomainKind]
	stay              keys.At[[]keys.At[int]]
	tellAfter         keys.At[time.Duration]
	forecast          keys.At[bool]
}

// moves reports whether the size has bounds between which it moves.
func (d *Draft) moves() bool { return d.plain.How == keys.Absent }

// Largest is the greatest size that a fleet can have by what is written.
func Largest(size keys.At[Draft]) keys.At[int] {
	return number(size, func(d *Draft) keys.At[int] { return d.max })
}

// Asked is the size that is written: where it moves, the desired one, or else the least.
func Asked(size keys.At[Draft]) keys.At[int] {
	return number(size, func(d *Draft) keys.At[int] {
		if d.desired.How != keys.Absent {
			return d.desired
		}
		return d.min
	})
}

func number(size keys.At[Draft], moving func(*Draft) keys.At[int]) keys.At[int] {
	switch d := &size.Value; {
	case size.How != keys.Given:
		return keys.At[int]{Spot: size.Spot, How: size.How}
	case d.moves():
		return moving(d)
	default:
		return d.plain
	}
}

// paceDraft bounds how fast the size moves in one direction.
type paceDraft struct {
	cooldown, stabilise, grace keys.At[time.Duration]
	most                       keys.At[stride]
}

// metricDraft is a number that is read again and again. It is read in one way.
type metricDraft struct {
	prometheus  keys.At[prometheusDraft]
	check       keys.At[checkNumberDraft]
	provider    keys.At[policy.Usage]
	command     keys.At[[]keys.At[string]]
	env         keys.At[[]keys.Named[keys.TextDraft]]
	every, late keys.At[time.Duration]
	between     keys.At[[]keys.At[float64]]
	smooth      keys.At[time.Duration]
	of          keys.At[policy.Combine]
}

// MetricDraft is a metric for something else than a size: the name of one that the size goes by, or one of its own.
type MetricDraft struct {
	name keys.At[string]
	own  metricDraft
}

type prometheusDraft struct {
	url, query, label, ca keys.At[string]
	headers               keys.At[[]keys.Named[keys.TextDraft]]
	timeout               keys.At[time.Duration]
}

// checkNumberDraft is a number that a check measures: the time of an answer, or what its page says.
type checkNumberDraft struct{ name, body keys.At[string] }

type opinionDraft struct {
	metric        keys.At[string]
	target        keys.At[float64]
	per           keys.At[perWord]
	tolerance     keys.At[float64]
	steps         keys.At[[]keys.At[stepDraft]]
	schedule      keys.At[[]keys.At[times.Draft]]
	size          keys.At[int]
	onlyAt, notAt keys.At[[]keys.At[times.Draft]]
}

type stepDraft struct {
	above, below keys.At[float64]
	lasts        keys.At[time.Duration]
	readings     keys.At[int]
	change       keys.At[fleet.SizeChange]
	atLeast      keys.At[int]
}

// perWord says what a metric is of.
type perWord string

const (
	perMachine perWord = "machine"
	perFleet   perWord = "fleet"
)
