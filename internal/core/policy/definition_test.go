package policy_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func page() policy.Check {
	return policy.Check{
		Name: "page", Kind: policy.CheckHTTP, Port: 80, Every: time.Second, Timeout: time.Second / 2, DownAfter: 3,
		UpAfter: 2,
		HTTP:    policy.HTTPCheck{Path: "/healthz", Status: []policy.StatusRange{{First: 200, Last: 204}}},
	}
}

func TestADefinitionIsWhatIsAskedAndWhatIsAGoodAnswer(t *testing.T) {
	t.Parallel()
	was := page()
	for name, c := range map[string]struct {
		edit    func(*policy.Check)
		another bool
	}{
		"another port": {func(c *policy.Check) { c.Port = 8080 }, true},
		"another path": {func(c *policy.Check) { c.HTTP.Path = "/" }, true},
		"another status": {func(c *policy.Check) { c.HTTP.Status = []policy.StatusRange{{First: 200, Last: 200}} },
			true},
		"another kind":       {func(c *policy.Check) { c.Kind = policy.CheckTCP }, true},
		"less time":          {func(c *policy.Check) { c.Timeout = time.Millisecond }, true},
		"another name":       {func(c *policy.Check) { c.Name = "site" }, false},
		"more often":         {func(c *policy.Check) { c.Every = time.Second * 3 / 4 }, false},
		"more failures":      {func(c *policy.Check) { c.DownAfter, c.DownIn = 4, 5 }, false},
		"what explains it":   {func(c *policy.Check) { c.DependsOn = []fleet.CheckName{"db"} }, false},
		"hours without it":   {func(c *policy.Check) { c.NotEvery = []policy.Hours{{}} }, false},
		"nothing was edited": {func(*policy.Check) {}, false},
	} {
		is := page()
		c.edit(&is)
		if another := was.Definition() != is.Definition(); another != c.another {
			t.Errorf("%s: another definition: %v", name, another)
		}
	}
}

// Stores hold definitions: one that is another in a later version makes every check of every fleet unproven.
func TestADefinitionStaysAsItIs(t *testing.T) {
	t.Parallel()
	c := page()
	if got := c.Definition(); got != "ba7c341bdfbf7d3a" {
		t.Errorf("the definition is %s: checks that were proven by an older hale are not any more", got)
	}
}
