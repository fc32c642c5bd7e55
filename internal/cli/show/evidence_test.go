package show

import (
	"strings"
	"testing"
	"time"

	"hale/api"

	"github.com/google/go-cmp/cmp"
)

func TestEvidenceCannotCommandATerminal(t *testing.T) {
	t.Parallel()
	e := api.Evidence{
		Machine:   "web-2",
		Incident:  "web-2/3",
		Incidents: []string{"web-2/1", "web-2/3"},
		Exhibits: []api.Exhibit{{
			At: noon, Instance: "i-1", Generation: 2, Found: []string{"check page is down: \x1b[2J"},
			Console: []byte("\x1b[31mOops\x1b[0m\r\n\ttrace\x07\x9b\u202e\n"), Screenshot: make([]byte, 2048),
			Format: "image/png",
			Parts: []api.EvidencePart{
				{Name: "console", Bytes: 20},
				{Name: "memory", Lacks: api.Reason{Code: "too-late", Text: "too late", Detail: "\x1b"}},
			},
		}},
	}
	want := "Incident web-2/3:\n" +
		"\n" +
		"12:00:00.000  instance i-1 (generation 2)\n" +
		"  check page is down: ␛[2J\n" +
		"  no memory: too late (␛)\n" +
		"  a screenshot of 2 KiB (image/png): hale evidence web-2 --out FOLDER\n" +
		"  the console's end, 27 bytes:\n" +
		"  | ␛[31mOops␛[0m\n" +
		"  |  trace␇\uFFFD\uFFFD\n" +
		"\n" +
		"Kept of incidents: web-2/1, web-2/3"
	if diff := cmp.Diff(want, strings.Join(sheet{}.evidence(e, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestCopiesOfDisksAreListed(t *testing.T) {
	t.Parallel()
	e := api.Evidence{Machine: "web-2", Copies: []api.DiskCopy{
		{ID: "r1", Instance: "i-1", Generation: 2, At: noon, Whole: true, Until: noon.Add(time.Hour),
			Where: "/pool/web-2.r1.vda\x1b", Bytes: 3 << 29},
		{ID: "r2", Instance: "i-2", Generation: 3, At: noon},
	}}
	want := "nothing is kept of web-2: evidence is gathered before a reboot, rebuild or recreate that heals\n" +
		"\n" +
		"Copies of its disks:\n" +
		"  12:00:00.000  r1 of instance i-1 (generation 2), 1.5 GiB, until 13:00:00.000:\n" +
		"      /pool/web-2.r1.vda\u241b\n" +
		"  12:00:00.000  r2 of instance i-2 (generation 3): not whole, and of no use"
	if diff := cmp.Diff(want, strings.Join(sheet{}.evidence(e, noon), "\n")); diff != "" {
		t.Error(diff)
	}
}
