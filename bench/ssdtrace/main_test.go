package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/sim/trace"
)

// published is sixty days of real failures.
var published = filepath.Join("..", "..", "internal", "sim", "trace", "testdata", "ssd-2019-03.csv.gz")

func TestTheBusiestDaysAreConvertedWithEnds(t *testing.T) {
	t.Parallel()
	var out, said bytes.Buffer
	if err := run([]string{"-days", "1", "-ends", "lanl-2005", published}, nil, &out, &said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1499 failures from 2019-03-01 to 2019-04-29, 115 repeats on a node within an hour merged",
		"1384 outages of 1293 nodes in 809 racks and 281 rooms",
		"days from 2019-03-22 on",
		"Los Alamos",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &said)
		}
	}
	file, err := trace.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Trace) < 281 {
		t.Errorf("the worst day has only %d outages", len(file.Trace))
	}
	for _, o := range file.Trace {
		if o.Start >= 24*time.Hour || o.End == 0 {
			t.Errorf("%+v", o)
		}
	}
}

func TestPlainTextAndStandardInputAreTaken(t *testing.T) {
	t.Parallel()
	var out, said bytes.Buffer
	in := strings.NewReader("time,node,rack,room\n2019-03-22 10:05:52,1,2,3\n")
	if err := run([]string{"-"}, in, &out, &said); err != nil {
		t.Fatal(err)
	}
	if want := "start,end,node,rack,room,cause\n0,,1,2,3,ssd\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}

func TestWrongUseWritesNoTrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want error // nil: any
	}{
		"no file":         {nil, errUsage},
		"a negative span": {[]string{"-days", "-1", published}, errUsage},
		"unknown flag":    {[]string{"-x", published}, errUsage},
		"unknown model":   {[]string{"-ends", "atlantis-1", published}, nil},
		"a missing file":  {[]string{"gone.csv"}, os.ErrNotExist},
		"an empty file":   {[]string{"-"}, nil},
	} {
		var out, said bytes.Buffer
		err := run(c.args, strings.NewReader(""), &out, &said)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || out.Len() > 0 {
			t.Errorf("%s: got %v and %q", name, err, &out)
		}
	}
}
