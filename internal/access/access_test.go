package access_test

import (
	"testing"

	"hale/internal/access"
	"hale/internal/core/fleet"
)

func TestARoleCountsInItsFleetsOnly(t *testing.T) {
	t.Parallel()
	ana := access.Principal{Grants: []access.Grant{
		{Role: access.Operator, Fleets: []fleet.Name{"web"}}, {Role: access.Viewer},
	}}
	for _, c := range []struct {
		role access.Role
		of   fleet.Name
		may  bool
	}{
		{access.Operator, "web", true}, {access.Viewer, "web", true}, {access.Admin, "web", false},
		{access.Operator, "db", false}, {access.Viewer, "db", true}, {access.Viewer, "", true},
		{access.Operator, "", false}, {access.None, "web", false},
	} {
		if got := ana.May(c.role, c.of); got != c.may {
			t.Errorf("%v in %q: %v, want %v", c.role, c.of, got, c.may)
		}
	}
	if !ana.MayAnywhere(access.Operator) || ana.MayAnywhere(access.Admin) {
		t.Error("somewhere is where a grant says")
	}
}

func TestACallerWhoCannotBeToldMayNothing(t *testing.T) {
	t.Parallel()
	nobody := access.Of(t.Context())
	if nobody.May(access.Viewer, "web") || nobody.MayAnywhere(access.Viewer) {
		t.Error("a caller without a grant may read")
	}
}

func TestARoleIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, r := range []access.Role{access.Viewer, access.Operator, access.Admin} {
		if got, err := access.ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%v is read as %v, %v", r, got, err)
		}
	}
	for _, text := range []string{"", "none", "root"} {
		if got, err := access.ParseRole(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestACallerGivesNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	web := access.Principal{Grants: []access.Grant{{Role: access.Admin, Fleets: []fleet.Name{"web", "db"}}}}
	for _, c := range []struct {
		give access.Grant
		may  bool
	}{
		{access.Grant{Role: access.Admin, Fleets: []fleet.Name{"web"}}, true},
		{access.Grant{Role: access.Viewer, Fleets: []fleet.Name{"db", "web"}}, true},
		{access.Grant{Role: access.Viewer, Fleets: []fleet.Name{"web", "mail"}}, false},
		{access.Grant{Role: access.Viewer}, false},
		{access.Grant{Role: access.None, Fleets: []fleet.Name{"web"}}, false},
	} {
		if got := web.Covers(c.give); got != c.may {
			t.Errorf("%+v: %v", c.give, got)
		}
	}
}

func TestTwoCallersAreTwoPeopleOnlyWhereNoneIsBehindBoth(t *testing.T) {
	t.Parallel()
	of := func(persons ...string) access.Principal { return access.Principal{Persons: persons} }
	for _, c := range []struct {
		a, b  access.Principal
		apart bool
	}{
		{of("ana@example.org"), of("bo@example.org"), true},
		{of("ana@example.org"), of("Ana@Example.org"), false},
		{of("ana@example.org"), of("bo@example.org", "ana@example.org"), false}, // bo's token, which ana made
		{of("bo@example.org"), of(), false},
		{of(), of(), false},
	} {
		if got := c.a.Apart(c.b); got != c.apart || c.b.Apart(c.a) != c.apart {
			t.Errorf("%v and %v: %v", c.a.Persons, c.b.Persons, got)
		}
	}
}
