package bulkprobe

import (
	"slices"
	"strconv"
	"syscall"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// standing and reason stand for words of the fleet's vocabulary, since a shard keeps no strings.
type (
	standing uint8
	reason   uint8
)

// The standings, in the order of standingWords.
const (
	unknown standing = iota
	up
	failing
	down
)

var standingWords = [...]fleet.Standing{
	fleet.StandingUnknown, fleet.StandingUp, fleet.StandingFailing, fleet.StandingDown,
}

func (s standing) word() fleet.Standing { return standingWords[s] }

// The reasons that a shard gives, in the order of reasonWords.
const (
	nothing reason = iota
	ok
	timedOut
	refused
	unreachable
	badStatus
	protocol
	noAddress
	local
	late
	notConnected
	panicked
)

var reasonWords = [...]fleet.ResultReason{
	fleet.ResultNone, fleet.ResultOK, fleet.ResultTimeout, fleet.ResultRefused, fleet.ResultUnreachable,
	fleet.ResultStatus, fleet.ResultProtocol, fleet.ResultNoAddress, fleet.ResultLocal, fleet.ResultLate,
	fleet.ResultNotConnected, fleet.ResultPanicked,
}

func (r reason) word() fleet.ResultReason { return reasonWords[r] }

// meanings are what the reasons say about a target, looked up once.
var meanings = func() (m [len(reasonWords)]probe.Meaning) {
	for i, word := range reasonWords {
		m[i] = probe.MeaningOf(word)
	}
	return m
}()

func (r reason) means() probe.Meaning { return meanings[r] }

// note is the detail of a result without the text: its form in the upper byte, and which of the form below.
type note uint32

const (
	noteText   note = iota << 24 // an index of texts
	noteErrno                    // an error of the kernel
	noteStatus                   // an HTTP status
	noteReason                   // a reason
)

// The texts of details, in the order of texts.
const (
	textNone note = iota
	textStalled
	textTooLate
	textFull
	textFaded
	textNotHTTP
	textClosed
	textLongHead
	textInterim
	textPort
	textStopped
)

var texts = [...]string{
	"", "stalled", "read too late", "too much in flight", "nothing known for too long", "no answer in HTTP",
	"the connection was closed before an answer", "the head of the answer does not end", "too many interim answers",
	"no such port", "the probe engine ends",
}

func errnoNote(e syscall.Errno) note { return noteErrno | note(e&0xffffff) }

func statusNote(code int) note { return noteStatus | note(code&0xffffff) }

func reasonNote(r reason) note { return noteReason | note(r) }

// text is the detail as it is told.
func (n note) text() string {
	which := n & 0xffffff
	switch n &^ 0xffffff { //nolint:exhaustive // the forms; the others are texts
	case noteErrno:
		return syscall.Errno(which).Error()
	case noteStatus:
		return strconv.Itoa(int(which))
	case noteReason:
		return string(reason(which).word()) //nolint:gosec // made of one
	}
	return texts[which]
}

// ofErrno tells errors of the target, or of the way to it, from our own, as the ordinary engine does. ENETUNREACH is
// our own: our routing says it. EHOSTUNREACH is not: the address did not answer.
func ofErrno(e syscall.Errno) reason {
	switch e {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
		return refused
	case syscall.EHOSTUNREACH, syscall.EHOSTDOWN:
		return unreachable
	case syscall.ETIMEDOUT:
		return timedOut
	}
	return local
}

// codeOf returns the reason for a word, and local for one that no shard gives.
func codeOf(word fleet.ResultReason) reason {
	if i := slices.Index(reasonWords[:], word); i >= 0 {
		return reason(i) //nolint:gosec // a handful
	}
	return local
}

// standingOf returns the standing for a word.
func standingOf(word fleet.Standing) standing {
	return standing(max(slices.Index(standingWords[:], word), 0)) //nolint:gosec // a handful
}
