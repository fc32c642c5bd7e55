package load_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"hale/internal/sim/load"
)

// A file may say its times in three ways, and the load goes in a straight line between them.
func TestAFileIsRead(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"durations":       "0s,100\n10m,200\n20m,50\n",
		"seconds":         "time,load\n0,100\n600, 200 # a peak\n\n1200,50\n",
		"dates":           "2026-01-31T10:00:00Z,100\n2026-01-31T10:10:00Z,200\n2026-01-31T10:20:00Z,50\n",
		"without newline": "0,100\n10m,200\n20m,50",
	} {
		got, err := load.Read(strings.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for at, want := range map[time.Duration]float64{
			0: 100, 5 * time.Minute: 150, 10 * time.Minute: 200, 15 * time.Minute: 125, time.Hour: 50,
		} {
			if units := got.At(at); units != want {
				t.Errorf("%s: %v after %s, want %v", name, units, at, want)
			}
		}
	}
}

func TestAFileThatIsNoTraceIsRefusedWithThePlace(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                     "line 1: there is no load",
		"10m\n":                "line 1: write a time and a load",
		"0,1\nsoon,2\n":        `line 2: "soon" is no time`,
		"0,1\n\n10m,NaN\n":     "line 3: ",
		"0,1\n10m,-3\n":        "line 2: ",
		"10m,1\n10m,2\n":       "line 2: 10m is not after the line before it",
		"0,1\n1e300,2\n":       "line 2: ",
		"0,1\n10m,1e13 # hi\n": "line 2: ",
	} {
		if _, err := load.Read(strings.NewReader(file)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

// What is drawn is the same for the same seed, stays near its peak, and is written as it is read.
func TestWhatIsDrawn(t *testing.T) {
	t.Parallel()
	for _, s := range load.Shapes() {
		one, two := load.Draw(s, 7, 48*time.Hour, 500), load.Draw(s, 7, 48*time.Hour, 500)
		if !reflect.DeepEqual(one, two) {
			t.Errorf("%s: two drawings of one seed differ", s)
		}
		if p := one.Peak(); p < 50 || p > 1000 || one.Span() != 48*time.Hour {
			t.Errorf("%s: up to %v over %s", s, p, one.Span())
		}
		var file bytes.Buffer
		if err := one.Write(&file); err != nil {
			t.Fatal(err)
		}
		again, err := load.Read(&file)
		if err != nil || !reflect.DeepEqual(again.Points, one.Points) {
			t.Errorf("%s: it is read as another one: %v", s, err)
		}
	}
}

// The recorded week has its peak on Thursday morning, and its sum is what the archive's readers have counted.
func TestTheRecordedWeek(t *testing.T) {
	t.Parallel()
	week := load.NASA(14922)
	if at := 3*24*time.Hour + 9*time.Hour + 30*time.Minute; math.Abs(week.At(at)-14922) > 1e-6 ||
		math.Abs(week.Peak()-14922) > 1e-6 {
		t.Errorf("%v then, at most %v", week.At(at), week.Peak())
	}
	thursday := 0.0
	for h := range 24 {
		thursday += week.At(time.Duration(3*24+h)*time.Hour + 30*time.Minute)
	}
	if math.Abs(thursday-134204) > 1 {
		t.Errorf("%v requests on Thursday, 13 July 1995", thursday)
	}
}

// With the last lie the truth is back, and it is known when nothing good was said.
func TestALieEnds(t *testing.T) {
	t.Parallel()
	told := 0
	d := load.Demand{Course: func(time.Duration) float64 { return 300 }, Capacity: 200, Before: func() { told++ }}
	one := d.Deceive("requests", load.SaysNaN, 10*time.Second)
	two := d.Deceive("requests", load.SaysNothing, 20*time.Second)
	one(30 * time.Second)
	if lasts, is := d.Silent("requests", 40*time.Second); !is || lasts != 30*time.Second {
		t.Errorf("silent: %v for %s", is, lasts)
	}
	two(50 * time.Second)
	for at, want := range map[time.Duration]bool{
		9 * time.Second: false, 10 * time.Second: true, 49 * time.Second: true, 50 * time.Second: false,
	} {
		if _, is := d.Silent("requests", at); is != want {
			t.Errorf("silent after %s: %v", at, is)
		}
	}
	back := d.Set(900)
	if got := d.Needed(0); got != 5 {
		t.Errorf("a load of 900 needs %d machines of 200", got)
	}
	if back(); d.Asked(0) != 300 || told != 2 {
		t.Errorf("the load is %v again, and was told to change %d times", d.Asked(0), told)
	}
}
