package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// figure is one of the table. A bound of 0 at a value that is no count says that there is none.
type figure struct {
	Value  float64 `json:"value"`
	AtMost float64 `json:"at_most"`
}

// report prints the tables, and writes the figures where they are wanted.
func (b *bout) report(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "who\tCPU us a check (all windows)\tchecks/s\tresident MiB")
	for _, name := range slices.Sorted(maps.Keys(b.costs)) {
		m, _ := b.middle(name)
		var each []string
		for _, c := range b.costs[name] {
			each = append(each, fmt.Sprintf("%.1f", c.Micros))
		}
		fmt.Fprintf(tw, "%s\t%.2f (%s)\t%.0f\t%.1f\n", name, m.Micros, strings.Join(each, " "), m.Rate, m.RSS)
	}
	fmt.Fprintln(tw, "\nfigure\tvalue\tat most")
	for _, key := range slices.Sorted(maps.Keys(b.told)) {
		f := b.told[key]
		fmt.Fprintf(tw, "%s\t%.3f\t%.3f\n", key, f.Value, f.AtMost)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if b.out == "" {
		return nil
	}
	all := map[string]any{"conditions": conditions(b.targets), "costs": b.costs, "bounds": b.told}
	for key, f := range b.told {
		all[key] = f.Value
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.out, append(text, '\n'), 0o600)
}

// conditions are under what the figures were taken.
func conditions(n int) map[string]any {
	var name unix.Utsname
	_ = unix.Uname(&name)
	load, _ := os.ReadFile("/proc/loadavg")
	return map[string]any{
		"targets": n,
		"rounds":  rounds,
		"window":  window.String(),
		"cores":   runtime.NumCPU(),
		"kernel":  unix.ByteSliceToString(name.Release[:]),
		"go":      runtime.Version(),
		"load":    strings.TrimSpace(string(load)),
		"at":      time.Now().UTC().Format(time.RFC3339),
	}
}
