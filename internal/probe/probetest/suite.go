package probetest

import (
	"testing"
	"testing/synctest"
)

// Run examines the engines that mk makes.
func Run(t *testing.T, mk Make) {
	t.Helper()
	run(t, mk, stories)
	run(t, mk, deafStories)
}

// RunPolling examines engines that ask the kernel, which always lets go of what it was asked: no transport can be deaf
// to them.
func RunPolling(t *testing.T, mk Make) {
	t.Helper()
	run(t, mk, stories)
}

// run takes the engines through the stories.
func run(t *testing.T, mk Make, stories map[string]func(s *stage)) {
	t.Helper()
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { story(newStage(t, mk)) })
		})
	}
}

// deafStories are about transports that do not let go of a probe in time.
var deafStories = map[string]func(s *stage){
	"an answer read after its timeout says nothing": readTooLate,
	"a probe that never ends is unknown":            deafTransport,
}

var stories = map[string]func(s *stage){
	"S01 three failures in a row are down, once":           threeInARow,
	"S02 a success breaks the row":                         brokenRow,
	"S07 three within five, and two in a row":              threeWithinFive,
	"S03 what an http check takes for success":             httpAnswers,
	"S44 what an http check may demand":                    httpDemands,
	"what checks of other services take for success":       serviceAnswers,
	"other services are counted like any":                  serviceRows,
	"S04 one closed port of ten":                           oneOfTen,
	"S05 a program that hangs is a failure each interval":  hangingProgram,
	"S05 a program gets its arguments and its exit counts": programArguments,
	"S05 what exit codes mean":                             exitCodes,
	"S06 no address is unknown and said so":                noAddress,
	"an address that two instances have is unknown":        sharedAddress,
	"S08 two successes to be up again":                     upAfterTwo,
	"good answers are counted until it is up":              goodAnswers,
	"how long a good answer took is kept":                  timesKept,
	"the beginning of a page is kept where it is wanted":   pagesKept,
	"that a page is kept changes nothing else":             keptLater,
	"S10 what is removed falls silent":                     removed,
	"S19 a changed address is followed at once":            movedAddress,
	"from unknown, every row counts in full":               fromUnknown,
	"a timeout is due at its instant":                      timeoutInstant,
	"the cadence is fixed":                                 fixedCadence,
	"targets are spread over their interval":               spread,
	"a single local error changes nothing":                 oneLocalError,
	"a standing fades when nothing is known":               fading,
	"an unchanged target goes on undisturbed":              unchanged,
	"a changed check starts from unknown":                  changedSpec,
	"a new epoch counts its own edges":                     newEpoch,
	"each probe of a machine is told while it is wanted":   logged,
	"an edge tells its past, its reason and its times":     edgeFields,
	"watermarks come every second and follow their edges":  watermarks,
	"a reader that falls behind loses nothing":             slowReader,
	"the standings equal the fold of all edges":            foldEqualsStandings,
	"a look insists, now":                                  look,
	"a look stands beside the regular probes":              lookBeside,
	"a look that was cut short is unknown":                 lookCutShort,
	"a look ends even when the transport does not":         lookDeaf,
	"a look without an address is unknown":                 lookNoAddress,
	"a look at an address that two have is unknown":        lookSharedAddress,
}
