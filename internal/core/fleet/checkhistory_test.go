package fleet_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

func page() fleet.Check {
	return fleet.Check{
		Name: "page", Kind: fleet.CheckHTTP, Port: 80, Every: time.Second, Timeout: time.Second / 2, DownAfter: 3,
		UpAfter: 2,
		HTTP:    fleet.HTTPCheck{Path: "/healthz", Status: []fleet.StatusRange{{First: 200, Last: 204}}},
	}
}

func TestADefinitionIsWhatIsAskedAndWhatIsAGoodAnswer(t *testing.T) {
	t.Parallel()
	was := page()
	for name, c := range map[string]struct {
		edit    func(*fleet.Check)
		another bool
	}{
		"another port": {func(c *fleet.Check) { c.Port = 8080 }, true},
		"another path": {func(c *fleet.Check) { c.HTTP.Path = "/" }, true},
		"another status": {func(c *fleet.Check) { c.HTTP.Status = []fleet.StatusRange{{First: 200, Last: 200}} },
			true},
		"another kind":       {func(c *fleet.Check) { c.Kind = fleet.CheckTCP }, true},
		"less time":          {func(c *fleet.Check) { c.Timeout = time.Millisecond }, true},
		"another name":       {func(c *fleet.Check) { c.Name = "site" }, false},
		"more often":         {func(c *fleet.Check) { c.Every = time.Second * 3 / 4 }, false},
		"more failures":      {func(c *fleet.Check) { c.DownAfter, c.DownIn = 4, 5 }, false},
		"what explains it":   {func(c *fleet.Check) { c.DependsOn = []fleet.CheckName{"db"} }, false},
		"hours without it":   {func(c *fleet.Check) { c.NotEvery = []fleet.Hours{{}} }, false},
		"nothing was edited": {func(*fleet.Check) {}, false},
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

func TestAnEditThatIsTakenBackIsProven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tested fleet.Tested
		proven bool
	}{
		"never succeeded":           {fleet.Tested{Definition: "a"}, false},
		"succeeded":                 {fleet.Tested{Definition: "a", Good: "a"}, true},
		"edited":                    {fleet.Tested{Definition: "b", Good: "a", Edited: true}, false},
		"edited, and edited back":   {fleet.Tested{Definition: "a", Good: "a", Edited: true}, true},
		"a person knows, all along": {fleet.Tested{Definition: "b", Good: "a", Paged: "b"}, false},
	} {
		if got := c.tested.Proven(); got != c.proven {
			t.Errorf("%s: %v", name, got)
		}
	}
}
