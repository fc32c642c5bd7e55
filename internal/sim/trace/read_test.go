package trace_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hale/internal/sim/trace"
)

func TestATraceIsReadInWhateverFormItWasWritten(t *testing.T) {
	t.Parallel()
	want := trace.Trace{
		{Start: 0, End: 90 * time.Second, Node: "web-1", Rack: "r1", Room: "a", Cause: "disk, again"},
		{Start: 1500 * time.Millisecond, Node: "web-2", Rack: "r1", Room: "a"},
	}
	for name, text := range map[string]string{
		"plain": "start,end,node,rack,room,cause\n0,90,web-1,r1,a,\"disk, " +
			"again\"\n1.5,,web-2,r1,a,\n",
		"other order of columns and rows": "room,node,cause,start,rack,end\na,web-2,,1.5,r1,\na,web-1,\"disk, " +
			"again\",0,r1,90\n",
		"byte order mark and CRLF": "\ufeffstart,end,node,rack,room,cause\r\n0,90,web-1,r1,a,\"disk, " +
			"again\"\r\n1.5,,web-2,r1,a,\r\n",
		"a byte order mark before a quote": "\ufeff\"start\",end,node,rack,room,cause\n0,90,web-1,r1,a,\"disk, " +
			"again\"\n1.5,,web-2,r1,a,\n",
		"capitals and space in the header": "Start, End ,NODE,rack,room,cause\n 0,90 ,web-1, r1,a,\"disk, " +
			"again\"\n1.50,,web-2,r1,a,\n",
		"instants of several zones": "start,end,node,rack,room,cause\n2026-03-01T12:00:01.5Z,,web-2,r1,a,\n2026-03-01T14:00:00+02:00,2026-03-01T12:01:30Z,web-1,r1,a,\"disk, again\"\n",
		"no newline at the end, blank line": "start,end,node,rack,room,cause\n\n0,90,web-1,r1,a,\"disk, " +
			"again\"\n1.5,,web-2,r1,a,",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := trace.Read(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, file.Trace); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSecondsKeepTheirBeginningAndInstantsGetOne(t *testing.T) {
	t.Parallel()
	quiet, err := trace.Read(strings.NewReader("start,node\n600,a\n"))
	if err != nil || quiet.Trace[0].Start != 10*time.Minute || !quiet.Origin.IsZero() {
		t.Errorf("a trace may begin quietly: %+v, %v", quiet, err)
	}
	dated, err := trace.Read(strings.NewReader("start,node\n2026-03-01T13:00:00+01:00,a\n"))
	if err != nil || dated.Trace[0].Start != 0 || !dated.Origin.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("instants count from the first failure: %+v, %v", dated, err)
	}
}

func TestAForeignColumnIsIgnoredAndNamed(t *testing.T) {
	t.Parallel()
	file, err := trace.Read(strings.NewReader("start,node,rak,Disk Model\n0,a,r1,x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"rak", "Disk Model"}; !slices.Equal(file.Ignored, want) || file.Trace[0].Rack != "" {
		t.Errorf("ignored %q, want %q; trace %+v", file.Ignored, want, file.Trace)
	}
}

func TestAHeaderAloneIsAQuietTrace(t *testing.T) {
	t.Parallel()
	if file, err := trace.Read(strings.NewReader("start,node\n")); err != nil || len(file.Trace) != 0 {
		t.Errorf("%+v, %v", file, err)
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an empty file":          {"", "line 1: the file is empty; a header is needed"},
		"a header without start": {"node,begin\na,0\n", "line 1, column start: is missing in the header"},
		"a column twice":         {"start,node,Start\n0,a,0\n", "line 1, column start: stands twice in the header"},
		"rows of all faults": {
			"start,end,node\n" +
				"60,30,a\n" +
				"0,,\n" +
				"1m,,a\n" +
				"2026-03-01T12:00:00Z,,a\n" +
				"0,5\n" +
				",9,a\n" +
				"-1,,a\n" +
				"5,5,a\n" +
				"5,soon,a\u0001b\n" +
				"1.2.3,,a\n",
			"line 2, column end: is not after the start; leave it empty where it is not known\n" +
				"line 3, column node: is empty; every outage is one of a node\n" +
				"line 4, column start: is neither seconds nor RFC 3339 such as 2026-03-01T12:00:00Z\n" +
				"line 5, column start: is written as RFC 3339, but line 2 in seconds: one kind throughout\n" +
				"line 6: it has 2 fields, the header has 3\n" +
				"line 7, column start: is empty; it is needed\n" +
				"line 8, column start: is before the beginning of the trace, which is 0\n" +
				"line 9, column end: is not after the start; leave it empty where it is not known\n" +
				"line 10, column node: holds a control character\n" +
				"line 10, column end: is neither seconds nor RFC 3339 such as 2026-03-01T12:00:00Z\n" +
				"line 11, column start: is no number of seconds such as 86400 or 0.5",
		},
		"a local time": {
			"start,node\n2026-03-01 12:00:00,a\n",
			"line 2, column start: is neither seconds nor RFC 3339 such as 2026-03-01T12:00:00Z",
		},
		"seconds since 1970": {
			"start,node\n5,a\n1772366400,a\n",
			"line 3: its start is more than 20 years after the beginning of the trace (write instants in RFC 3339, " +
				"or count the seconds from the beginning)",
		},
		"a stray quote does not hide the next line": {
			"start,node\n0,a\"b\n0,\n",
			"line 2: it is not CSV: bare \" in non-quoted-field\nline 3, column node: is empty; every outage is one " +
				"of a node",
		},
		"a name that is not UTF-8": {"start,node\n0,\xff\n", "line 2, column node: is not UTF-8"},
		"a name without end": {"start,node\n0," + strings.Repeat("x", 257) + "\n",
			"line 2, column node: is longer than 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := trace.Read(strings.NewReader(c.text))
			var problems trace.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("want problems, got %v", err)
			}
			if diff := cmp.Diff(c.want, problems.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoMoreThanAHundredProblemsAreReported(t *testing.T) {
	t.Parallel()
	_, err := trace.Read(strings.NewReader("start,node\n" + strings.Repeat("x,\n", 500)))
	var problems trace.Problems
	if !errors.As(err, &problems) || len(problems) != 100 {
		t.Errorf("want 100 problems, got %d", len(problems))
	}
}

func TestABrokenReaderIsNoProblemOfTheFile(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	_, err := trace.Read(io.MultiReader(strings.NewReader("start,node\nx,\n"), iotest.ErrReader(gone)))
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsWrittenIsReadUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := traces().Draw(t, "trace")
		var out bytes.Buffer
		if err := trace.Write(&out, want); err != nil {
			t.Fatal(err)
		}
		file, err := trace.Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, file.Trace); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnImpossibleTraceIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]trace.Trace{
		"not sorted":            {{Start: 2, Node: "a"}, {Start: 1, Node: "a"}},
		"no node":               {{Start: 2}},
		"end at the start":      {{Start: 2, End: 2, Node: "a"}},
		"before the beginning":  {{Start: -1, Node: "a"}},
		"later than any trace":  {{Start: trace.MaxSpan + 1, Node: "a"}},
		"a line within a name":  {{Node: "a\nb"}},
		"a space before a name": {{Node: " a"}},
	} {
		var out bytes.Buffer
		if err := trace.Write(&out, bad); err == nil || out.Len() > 0 {
			t.Errorf("%s: got %v and %q", name, err, &out)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("start,end,node,rack,room,cause\n0,90.5,web-1,r1,a,\"x, y\"\n"))
	f.Add([]byte("\ufeffnode,start\r\na,2026-03-01T12:00:00Z\r\n"))
	f.Add([]byte("start,node\n\"0,a\n"))
	f.Add([]byte("time,node,rack,room\n2019-03-22 10:05:52,1,2,3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := trace.Read(bytes.NewReader(data)); err == nil {
			var out bytes.Buffer
			if err := trace.Write(&out, file.Trace); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			again, err := trace.Read(&out)
			if err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
			if diff := cmp.Diff(file.Trace, again.Trace); diff != "" {
				t.Fatal(diff)
			}
		}
		if converted, _, err := trace.FromSSD(bytes.NewReader(data)); err == nil {
			if err := converted.Check(); err != nil {
				t.Fatalf("the conversion is wrong: %v", err)
			}
		}
	})
}
