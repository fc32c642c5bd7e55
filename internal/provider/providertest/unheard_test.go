package providertest

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"hale/internal/provider"
)

// This fails when the port gets a call that changes something, and no question asks what a lost answer does to it.
func TestEveryCallThatChangesSomethingIsAskedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	reads := []string{"Identity", "List", "Get", "Close"}
	var asked, calls []string
	for _, d := range deeds() {
		asked = append(asked, d.method)
	}
	for _, method := range wholeDeeds() {
		asked = append(asked, method)
	}
	asked = append(asked, slices.Collect(maps.Keys(noteDeeds()))...)
	every := reflect.TypeFor[provider.Provider]()
	for i := range every.NumMethod() {
		if name := every.Method(i).Name; !slices.Contains(reads, name) {
			calls = append(calls, name)
		}
	}
	for _, a := range provider.Abilities() {
		if !a.Reads() {
			calls = append(calls, a.Methods()...)
		}
	}
	slices.Sort(asked)
	slices.Sort(calls)
	if !slices.Equal(asked, calls) {
		t.Errorf("calls that change something: %q; asked: %q", calls, asked)
	}
}
