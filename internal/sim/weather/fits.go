package weather

import (
	"fmt"
	"strings"
	"time"
)

// Fit is a measured system: how often one of its machines failed, and for how long.
type Fit struct {
	Name   string  // in small letters, to be typed
	Title  string  // what was measured, and when
	Gap    Weibull // from one failure of a machine to its next
	Length Weibull // of an outage
}

// fits holds the published figures, in hours; see [Fits].
var fits = []Fit{
	{"grid5000-2006", "Grid'5000, a research grid, 2006", hours(0.48, 14.37), hours(0.35, 0.47)},
	{"lanl-2005", "Los Alamos National Laboratory, supercomputers, 2005", hours(0.48, 816.60), hours(0.58, 2.18)},
	{"microsoft-1999", "Microsoft, desktop computers, 1999", hours(0.55, 35.30), hours(0.60, 9.34)},
	{"planetlab-2005", "PlanetLab, machines across the Internet, 2005", hours(0.33, 19.35), hours(0.36, 5.59)},
	{"websites-2002", "Web sites, 2002", hours(0.46, 3.68), hours(0.65, 0.61)},
}

func hours(shape, scale float64) Weibull {
	return Weibull{Shape: shape, Scale: time.Duration(scale * float64(time.Hour)).Round(time.Second)}
}

// Fits returns the published fits by name. They are of single machines, and were made by B. Javadi, D. Kondo, A. Iosup
// and D. Epema (The Failure Trace Archive, Journal of Parallel and Distributed Computing 73, 2013); the figures are
// those in the repository atlarge-research/opendc (opendc-compute-failure, MIT). A gap is taken there, and here, from
// the beginning of one failure to the beginning of the next.
//
// These were busy or frail machines: a Web site of 2002 fails three times a day. [Fit.Scaled] keeps how they cluster
// and makes failures as frequent as is wanted.
func Fits() []Fit { return append([]Fit(nil), fits...) }

// FitNamed returns the fit of that name; the error lists the names there are.
func FitNamed(name string) (Fit, error) {
	names := make([]string, len(fits))
	for i, f := range fits {
		if f.Name == name {
			return f, nil
		}
		names[i] = f.Name
	}
	return Fit{}, fmt.Errorf("no failure model is named %q; there are %s", name, strings.Join(names, ", "))
}

// Scaled returns the fit with gaps of the given mean and of the same shape. Lengths of outages stay as they are.
func (f Fit) Scaled(meanGap time.Duration) Fit {
	f.Gap = f.Gap.Scaled(meanGap)
	return f
}
