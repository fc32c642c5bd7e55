package gauge_test

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
)

func each(values ...float64) (out []fleet.MachineValue) {
	for i, v := range values {
		out = append(out, fleet.MachineValue{Machine: fleet.Name("web").Machine(i + 1), Value: v})
	}
	return out
}

func TestWhatASourceSaysIsOneNumberOrATypedTrouble(t *testing.T) {
	t.Parallel()
	percent := policy.Metric{Name: "busy", Of: policy.CombineMean, Least: 0, Most: 100}
	sum := policy.Metric{Of: policy.CombineSum}
	twice := gauge.Reading{Each: slices.Repeat(each(10), 2)}
	mixed := gauge.Reading{Each: each(10), Whole: []float64{1}}
	whole := func(v ...float64) gauge.Reading { return gauge.Reading{Whole: v} }
	for name, c := range map[string]struct {
		metric  policy.Metric
		reading gauge.Reading
		want    float64
		trouble fleet.Reason
	}{
		"a number":                          {policy.Metric{}, whole(7), 7, ""},
		"zero is a number":                  {percent, whole(0), 0, ""},
		"the bounds are within":             {percent, whole(100), 100, ""},
		"nothing":                           {percent, gauge.Reading{}, 0, fleet.ReasonMetricSilent},
		"two where one was to be":           {policy.Metric{}, whole(1, 2), 0, fleet.ReasonMetricMany},
		"two, and what they are together":   {percent, whole(1, 2), 1.5, ""},
		"a sum":                             {sum, whole(1, 2), 3, ""},
		"the most":                          {policy.Metric{Of: policy.CombineMax}, whole(1, 3, 2), 3, ""},
		"a thousand":                        {percent, whole(make([]float64, 1000)...), 0, fleet.ReasonMetricMany},
		"a thousand machines":               {percent, gauge.Reading{Each: each(make([]float64, 1000)...)}, 0, ""},
		"no number":                         {percent, whole(math.NaN()), 0, fleet.ReasonMetricAbsurd},
		"no number among numbers":           {percent, whole(1, math.NaN()), 0, fleet.ReasonMetricAbsurd},
		"no number, and no bounds":          {policy.Metric{}, whole(math.NaN()), 0, fleet.ReasonMetricAbsurd},
		"without end":                       {policy.Metric{}, whole(math.Inf(1)), 0, fleet.ReasonMetricAbsurd},
		"more than can be":                  {percent, whole(100.5), 0, fleet.ReasonMetricAbsurd},
		"less than can be":                  {percent, whole(-1), 0, fleet.ReasonMetricAbsurd},
		"one of many is more than can be":   {percent, whole(0, 0, 150), 0, fleet.ReasonMetricAbsurd},
		"a sum beyond the bounds of one":    {policy.Metric{Of: policy.CombineSum, Most: 100}, whole(90, 90), 180, ""},
		"a sum that no number can say":      {sum, whole(1e308, 1e308), 0, fleet.ReasonMetricAbsurd},
		"machines":                          {percent, gauge.Reading{Each: each(10, 20, 60)}, 30, ""},
		"one machine twice":                 {percent, twice, 0, fleet.ReasonMetricMany},
		"machines, and what names no one's": {percent, mixed, 0, fleet.ReasonMetricMany},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := gauge.Weigh(&c.metric, c.reading)
			if c.trouble != "" {
				if err == nil || gauge.Trouble(err) != c.trouble {
					t.Errorf("got %v, %v, want %s", got, err, c.trouble)
				}
				return
			}
			if err != nil || got.Value != c.want {
				t.Errorf("got %v, %v, want %v", got.Value, err, c.want)
			}
		})
	}
}

func TestTheValuesOfMachinesAreInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	r := gauge.Reading{Each: each(make([]float64, 12)...)}
	slices.Reverse(r.Each)
	got, err := gauge.Weigh(&policy.Metric{Of: policy.CombineMax}, r)
	if err != nil || got.Each[1].Machine != "web-2" || got.Each[11].Machine != "web-12" ||
		r.Each[0].Machine != "web-12" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatDoesNotAnswerIsSilent(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("oops"), fault.New(fault.Transient, "x", "", nil)} {
		if got := gauge.Trouble(err); got != fleet.ReasonMetricSilent {
			t.Errorf("%v is %s", err, got)
		}
	}
}

func TestAMachineIsFoundByItsNameOrAddressWithAPortOrWithout(t *testing.T) {
	t.Parallel()
	names := gauge.NamesOf([]gauge.Machine{
		{Name: "web-1", Address: netip.MustParseAddr("10.0.0.1")},
		{Name: "web-2", Address: netip.MustParseAddr("fd00::2")},
		{Name: "web-3"},
	})
	for called, want := range map[string]fleet.MachineName{
		"web-1": "web-1", "web-1:9100": "web-1", "web-3": "web-3", "10.0.0.1": "web-1", "10.0.0.1:9100": "web-1",
		"::ffff:10.0.0.1": "web-1", "fd00::2": "web-2", "[fd00::2]:80": "web-2",
		"web-4": "", "web-11": "", "10.0.0.10": "", "": "", ":80": "", "web-1.example.org": "",
	} {
		if got, known := names.Find(called); got != want || known != (want != "") {
			t.Errorf("%q is %q, want %q", called, got, want)
		}
	}
}
