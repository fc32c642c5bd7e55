// Command ssdtrace converts the published failures of SSDs in a production fleet to a failure trace that hale replays.
//
//	ssdtrace [-days N] [-ends MODEL] [-seed N] FILE
//
// FILE is ssd_failure_tag.csv of the repository alibaba-edu/dcbrain, or a reduced copy with columns time, node, rack
// and room; gzip is recognised, and - is standard input. The trace goes to standard output, what was found to standard
// error. The data name no ends: -ends draws them from a measured system's outages (see the error for the names). A
// failure without an end lasts until something is done about it.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"hale/internal/sim/trace"
	"hale/internal/sim/weather"
)

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2) // the flag package or run has said why
	case err != nil:
		fmt.Fprintln(os.Stderr, "ssdtrace:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong arguments")

// order is what the command line asks for.
type order struct {
	file string
	days int    // 0: all
	ends string // name of a fit; empty: no ends
	seed uint64
}

func parse(args []string, said io.Writer) (order, error) {
	var o order
	flags := flag.NewFlagSet("ssdtrace", flag.ContinueOnError)
	flags.SetOutput(said)
	flags.IntVar(&o.days, "days", 0, "only the `N` days with the most failures; 0: all")
	flags.StringVar(&o.ends, "ends", "", "draw the outages' lengths from this measured `model`")
	flags.Uint64Var(&o.seed, "seed", 1, "of the lengths")
	flags.Usage = func() {
		fmt.Fprintln(said, "usage: ssdtrace [-days N] [-ends MODEL] [-seed N] FILE")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, errUsage
	}
	if flags.NArg() != 1 || o.days < 0 {
		flags.Usage()
		return o, errUsage
	}
	o.file = flags.Arg(0)
	return o, nil
}

func run(args []string, in io.Reader, out, said io.Writer) error {
	o, err := parse(args, said)
	if err != nil {
		return err
	}
	if o.file != "-" {
		file, err := os.Open(o.file)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	plain, err := unzipped(in)
	if err != nil {
		return err
	}
	return convert(o, plain, out, said)
}

// unzipped returns the text of a reader that may be compressed.
func unzipped(r io.Reader) (io.Reader, error) {
	ahead := bufio.NewReader(r)
	magic, err := ahead.Peek(2)
	if err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return ahead, nil //nolint:nilerr // too short to be compressed; the next read meets the error again
	}
	return gzip.NewReader(ahead)
}

func convert(o order, in io.Reader, out, said io.Writer) error {
	failures, report, err := trace.FromSSD(in)
	if err != nil {
		return err
	}
	const day = "2006-01-02"
	fmt.Fprintf(said, "%d failures from %s to %s, %d repeats on a node within an hour merged\n",
		report.Rows, report.First.Format(day), report.Last.Format(day), report.Merged)
	fmt.Fprintf(said, "%d outages of %d nodes in %d racks and %d rooms\n",
		report.Outages, report.Nodes, report.Racks, report.Rooms)
	if o.days > 0 {
		length := time.Duration(o.days) * 24 * time.Hour
		from := failures.Busiest(length)
		failures = failures.Window(from, length)
		fmt.Fprintf(said, "taken: %d outages of %d days from %s on\n",
			len(failures), o.days, report.First.Add(from).Format(day))
	}
	if o.ends != "" {
		fit, err := weather.FitNamed(o.ends)
		if err != nil {
			return err
		}
		chance := weather.Rand(o.seed)
		failures = failures.FillEnds(func() time.Duration { return fit.Length.Draw(chance) })
		fmt.Fprintf(said, "lengths drawn as of %s, seed %d\n", fit.Title, o.seed)
	}
	return trace.Write(out, failures)
}
