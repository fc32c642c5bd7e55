package change_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func web() policy.Spec {
	return policy.Spec{
		Name:     "web",
		Provider: "lab",
		Size:     3,
		Template: policy.Template{Image: "v1", Disks: []policy.Disk{{Name: "root", Ephemeral: true}}},
		Checks: []policy.Check{
			{Name: "alive", Kind: policy.CheckPing, Every: time.Second},
			{Name: "page", Kind: policy.CheckHTTP, Every: time.Second},
		},
		Limits: policy.Limits{InRepair: 1},
	}
}

func edited(how func(s *policy.Spec)) policy.Spec {
	s := web()
	s.Checks = slices.Clone(s.Checks)
	how(&s)
	return s
}

func TestWhatDiffersBetweenTwoSpecsAndWhatOfItDestroys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		is       policy.Spec
		want     []change.Difference
		destroys bool
	}{
		"nothing": {is: web()},
		"a check is new": {is: edited(func(s *policy.Spec) { s.Checks = append(s.Checks, policy.Check{Name: "port"}) }),
			want: []change.Difference{{Kind: change.CheckAdded, Subject: "web", Check: "port"}}},
		"a check is gone": {is: edited(func(s *policy.Spec) { s.Checks = s.Checks[1:] }),
			want: []change.Difference{{Kind: change.CheckRemoved, Subject: "web", Check: "alive"}}},
		"a check asks more often": {is: edited(func(s *policy.Spec) { s.Checks[1].Every = time.Minute }),
			want: []change.Difference{{Kind: change.CheckChanged, Subject: "web", Check: "page",
				Is: "every: 1s → 1m"}}},
		"the budget": {is: edited(func(s *policy.Spec) { s.Limits.InRepair = 2 }),
			want: []change.Difference{{Kind: change.PolicyChanged, Subject: "web", Is: "limits.in_repair: 1 → 2"}}},
		"the ladder, and when": {is: edited(func(s *policy.Spec) {
			s.Repair.Steps = []policy.Step{{Kind: fleet.StepStart}, {Kind: fleet.StepReboot}}
			s.Repair.Windows = []policy.Window{{At: "0 3 * * *"}}
		}), want: []change.Difference{{Kind: change.PolicyChanged, Subject: "web",
			Is: "repair.steps: none → start, reboot; repair.windows"}}},
		"more machines": {is: edited(func(s *policy.Spec) { s.Size = 5 }),
			want: []change.Difference{{Kind: change.SizeUp, Subject: "web", Was: "3", Is: "5"}}},
		"fewer machines": {is: edited(func(s *policy.Spec) { s.Size = 2 }), destroys: true,
			want: []change.Difference{{Kind: change.SizeDown, Subject: "web", Was: "3", Is: "2"}}},
		"another image": {is: edited(func(s *policy.Spec) { s.Template.Image = "v2" }), destroys: true,
			want: []change.Difference{{Kind: change.TemplateChanged, Subject: "web"}}},
		"a disk is to be kept": {is: edited(func(s *policy.Spec) { s.Template.Disks = []policy.Disk{{Name: "root"}} }),
			want: []change.Difference{{Kind: change.PolicyChanged, Subject: "web", Is: "template.disks"}}},
		"another provider": {is: edited(func(s *policy.Spec) { s.Provider = "cloud" }), destroys: true,
			want: []change.Difference{{Kind: change.ProviderChanged, Subject: "web", Was: "lab", Is: "cloud"}}},
	} {
		was := web()
		got := change.Specs(&was, &c.is)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if destroys := slices.ContainsFunc(got, func(d change.Difference) bool {
			return d.Kind.Destructive()
		}); destroys != c.destroys {
			t.Errorf("%s: destroys is %v", name, destroys)
		}
	}
}

// What the journal keeps of a difference is the difference.
func TestADifferenceComesBackFromItsRecord(t *testing.T) {
	t.Parallel()
	for _, d := range []change.Difference{
		{Kind: change.PolicyChanged, Subject: "web", Is: "repair.steps: none → start, reboot; mode: act → observe"},
		{Kind: change.CheckChanged, Subject: "web", Check: "page", Is: "port: 80 → 81"},
		{Kind: change.SizeUp, Subject: "web", Was: "3", Is: "5"},
		{Kind: change.TemplateChanged, Subject: "web"},
	} {
		r := change.Record(d)
		r.Fleet = "web"
		if got := change.Recorded(r); got != d {
			t.Errorf("%+v comes back as %+v", d, got)
		}
	}
}

// Whatever field a policy or check comes to have, a difference in it is named.
func TestNoPartOfAPolicyOrCheckIsUnnamed(t *testing.T) {
	t.Parallel()
	for path, set := range leaves(reflect.TypeFor[policy.Spec]()) {
		if path == "Name" { // another fleet
			continue
		}
		was, is := web(), web()
		fill(t, set(reflect.ValueOf(&is).Elem()))
		for _, d := range change.Specs(&was, &is) {
			if d.Kind == change.PolicyChanged && d.Is == "" {
				t.Errorf("what differs in %s is not named", path)
			}
		}
	}
	for path, set := range leaves(reflect.TypeFor[policy.Check]()) {
		was, is := web(), edited(func(*policy.Spec) {})
		fill(t, set(reflect.ValueOf(&is.Checks[0]).Elem()))
		for _, d := range change.Specs(&was, &is) {
			if d.Kind == change.CheckChanged && d.Is == "" {
				t.Errorf("what differs in check.%s is not named", path)
			}
		}
	}
}

// leaves returns the fields of a struct and of those in it, by their paths.
func leaves(of reflect.Type) map[string]func(reflect.Value) reflect.Value {
	out := map[string]func(reflect.Value) reflect.Value{}
	for i := range of.NumField() {
		f := of.Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Type.Kind() != reflect.Struct {
			out[f.Name] = func(v reflect.Value) reflect.Value { return v.Field(i) }
			continue
		}
		for path, inner := range leaves(f.Type) {
			out[f.Name+"."+path] = func(v reflect.Value) reflect.Value { return inner(v.Field(i)) }
		}
	}
	return out
}

// Whatever field a spec comes to have, a difference in it is told.
func TestNoDifferenceIsOverlooked(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[policy.Spec]().NumField() {
		field := reflect.TypeFor[policy.Spec]().Field(i)
		if field.Name == "Name" || field.Name == "Left" { // another fleet; what the ledger says
			continue
		}
		was, is := web(), web()
		fill(t, reflect.ValueOf(&is).Elem().Field(i))
		if got := change.Specs(&was, &is); len(got) == 0 {
			t.Errorf("a difference in %s is overlooked", field.Name)
		}
	}
}

// fill makes the value another one.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Struct:
		fill(t, v.Field(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		t.Fatalf("the test cannot change a %s", v.Kind())
	}
}

func TestFleetsComeAndGo(t *testing.T) {
	t.Parallel()
	named := func(names ...fleet.Name) []policy.Spec {
		var out []policy.Spec
		for _, n := range names {
			out = append(out, edited(func(s *policy.Spec) { s.Name = n }))
		}
		return out
	}
	got := change.Fleets(named("a", "c", "d"), named("b", "c", "e"))
	want := []change.Difference{
		{Kind: change.FleetRemoved, Subject: "a"}, {Kind: change.FleetAdded, Subject: "b"},
		{Kind: change.FleetRemoved, Subject: "d"}, {Kind: change.FleetAdded, Subject: "e"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
