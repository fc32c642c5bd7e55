package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c reader) evidenceCommand() *cobra.Command {
	var incident, out string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "evidence MACHINE", Short: "Show what was kept of a machine before something was done to it",
		Long: "Shows what the machine's console, its checks and its provider said before hale rebooted, rebuilt\n" +
			"or replaced it: in its last incident with evidence, or in the one named. Control characters of the\n" +
			"console are made visible. With --out everything is written into a folder as it is, the screenshot\n" +
			"too. Copies of the disks (step snapshot) are listed; they lie at the provider.",
		Args: cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			e, err := client.Evidence(cmd.Context(), args[0], incident)
			switch {
			case err != nil:
				return err
			case out != "":
				return c.writeEvidence(out, e)
			case asJSON:
				return paper.JSON(c.Out, e)
			}
			p := c.sheet()
			fmt.Fprintln(c.Out, strings.Join(p.evidence(e, time.Now()), "\n"))
			return nil
		}),
	}
	cmd.Flags().StringVar(&incident, "incident", "", "the incident, as hale why names it (web-2/3)")
	cmd.Flags().StringVar(&out, "out", "", "write it into this folder, which is made")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("out", "json")
	return cmd
}

// evidence renders what is kept, in now's time zone.
func (p sheet) evidence(e api.Evidence, now time.Time) []string {
	if len(e.Exhibits) == 0 {
		return append([]string{
			"nothing is kept of " + e.Machine +
				": evidence is gathered before a reboot, rebuild or recreate that heals",
		}, copies(e, now)...)
	}
	lines := []string{p.Paint(paper.Strong, fmt.Sprintf("Incident %s:", e.Incident))}
	for _, x := range e.Exhibits {
		lines = append(lines, "",
			fmt.Sprintf("%s  instance %s (generation %d)", paper.Moment(x.At, now), x.Instance, x.Generation))
		for _, f := range x.Found {
			lines = append(lines, "  "+paper.Harmless(f))
		}
		for _, part := range x.Parts {
			if part.Lacks.Code != "" {
				lines = append(lines, "  "+lacking(part))
			}
		}
		if len(x.Screenshot) > 0 {
			lines = append(lines,
				fmt.Sprintf("  a screenshot of %s (%s): hale evidence %s --out FOLDER",
					prose.Size(len(x.Screenshot)), x.Format, e.Machine))
		}
		if len(x.Console) > 0 {
			lines = append(lines, fmt.Sprintf("  the console's end, %s:", prose.Size(len(x.Console))))
			for line := range strings.Lines(paper.Harmless(string(x.Console))) {
				lines = append(lines, p.Paint(paper.Faint, "  | ")+strings.TrimRight(line, "\n"))
			}
		}
	}
	if n := len(e.Incidents); n > 1 {
		lines = append(lines, "", "Kept of incidents: "+strings.Join(e.Incidents, ", "))
	}
	return append(lines, copies(e, now)...)
}

// copies renders the copies of disks.
func copies(e api.Evidence, now time.Time) []string {
	if len(e.Copies) == 0 {
		return nil
	}
	lines := []string{"", "Copies of its disks:"}
	for _, c := range e.Copies {
		said := fmt.Sprintf("  %s  %s of instance %s (generation %d)",
			paper.Moment(c.At, now), c.ID, c.Instance, c.Generation)
		if !c.Whole {
			lines = append(lines, said+": not whole, and of no use")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s, %s, until %s:", said, prose.Volume(c.Bytes), paper.Moment(c.Until, now)),
			"      "+paper.Harmless(c.Where))
	}
	return lines
}

func lacking(part api.EvidencePart) string {
	said := "no " + part.Name + ": " + part.Lacks.Text
	if part.Lacks.Detail != "" {
		said += " (" + paper.Harmless(part.Lacks.Detail) + ")"
	}
	return said
}

// writeEvidence writes each part into a file of its own, readable by its owner only: a guest's console may hold
// secrets.
func (c reader) writeEvidence(dir string, e api.Evidence) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it that Close could lose
	for n, x := range e.Exhibits {
		front := fmt.Sprintf("%s-%d", strings.ReplaceAll(e.Incident, "/", "-"), n+1)
		console, screenshot := x.Console, x.Screenshot
		x.Console, x.Screenshot = nil, nil
		findings, err := json.MarshalIndent(x, "", "  ")
		if err != nil {
			return err
		}
		for _, f := range []struct {
			name string
			data []byte
		}{
			{front + ".json", append(findings, '\n')},
			{front + ".console", console},
			{front + ending(x.Format), screenshot},
		} {
			if len(f.data) == 0 {
				continue
			}
			if err := root.WriteFile(f.name, f.data, 0o600); err != nil {
				return err
			}
			fmt.Fprintln(c.Out, filepath.Join(dir, f.name))
		}
	}
	if len(e.Exhibits) == 0 {
		fmt.Fprintln(c.Out, "nothing is kept of "+e.Machine)
	}
	return nil
}

// ending is what files of the media type end with.
func ending(format string) string {
	return cmp.Or(map[string]string{"image/png": ".png", "image/x-portable-pixmap": ".ppm"}[format], ".image")
}
