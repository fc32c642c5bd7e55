package traffic_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/testbed/traffic"
)

// morning is the launch, played in a minute, with 20 requests per second when it was busiest.
func morning(t *testing.T) traffic.Load {
	t.Helper()
	trace, err := traffic.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if trace.Every != 10*time.Minute || len(trace.Counts) != 3*24*6 {
		t.Fatalf("%d intervals of %s", len(trace.Counts), trace.Every)
	}
	return traffic.Load{
		Trace: trace, Length: time.Minute, Peak: 20,
		From: time.Date(1995, 7, 13, 6, 0, 0, 0, time.UTC), To: time.Date(1995, 7, 13, 12, 0, 0, 0, time.UTC),
	}
}

func TestTheRateIsTheRecordings(t *testing.T) {
	t.Parallel()
	l := morning(t)
	most, at := 0.0, time.Duration(0)
	for after := time.Duration(0); after <= l.Length; after += 10 * time.Millisecond {
		if r := l.Rate(after); r > most {
			most, at = r, after
		}
	}
	if math.Abs(most-l.Peak) > 0.1 {
		t.Errorf("%.2f requests per second at most, want %.0f", most, l.Peak)
	}
	if when := l.Moment(at); when.Hour() != 9 || l.After(when) != at {
		t.Errorf("most come at %s, %s after the beginning, which is at %s", when, at, l.After(when))
	}
	if early := l.Rate(0); early > 0.4*l.Peak {
		t.Errorf("%.2f requests per second at six in the morning", early)
	}
}

func TestASteadyLoadIsTheSameAllTheTime(t *testing.T) {
	t.Parallel()
	l := traffic.Steady(5, time.Minute)
	for after := time.Duration(0); after <= l.Length; after += time.Second {
		if r := l.Rate(after); math.Abs(r-5) > 1e-9 {
			t.Errorf("%.2f requests per second after %s", r, after)
		}
	}
}

type answer func(*http.Request) (*http.Response, error)

func (a answer) RoundTrip(q *http.Request) (*http.Response, error) { return a(q) }

// Users come when they come, though the service takes its time; and each answer is counted for what it is.
func TestUsersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := morning(t)
		n := 0
		slow := answer(func(*http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("ok"))}, nil
		})
		none := answer(func(*http.Request) (*http.Response, error) { return nil, errors.New("no one is there") })
		want := 0.0
		for after := time.Duration(0); after < l.Length; after += time.Millisecond {
			want += l.Rate(after) / 1000
		}
		for _, service := range []answer{slow, none} {
			begin := time.Now()
			u := &traffic.Users{Client: &http.Client{Transport: service}}
			u.Play(t.Context(), l, "http://service/")
			got := u.Tally()
			if math.Abs(float64(got.Sent)-want) > 3 {
				t.Errorf("%d requests, and the recording has %.0f", got.Sent, want)
			}
			if took := time.Since(begin); took > l.Length+3*time.Second {
				t.Errorf("a load of %s took %s", l.Length, took)
			}
			if got.Answered+got.Failed != got.Sent || (got.Failed > 0) != (n == 1) {
				t.Errorf("%+v", got)
			}
			n++
		}
	})
}
