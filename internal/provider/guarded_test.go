package provider_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// hollow has every ability, and each of its calls panics.
func hollow() provider.Provider {
	return provider.NewRelay(nil,
		func(context.Context, provider.Call, func(context.Context, provider.Provider) error) error {
			panic("boom")
		})
}

// questions are the calls that change nothing.
var questions = []string{"Identity", "List", "Get", "PingGuest", "Meter", "Usage", "Console", "Screenshot", "Rehearse",
	"Starts"}

// TestEveryCallThatPanicsIsUnknown: a question has no answer, an order may have been carried out.
func TestEveryCallThatPanicsIsUnknown(t *testing.T) {
	t.Parallel()
	told := 0
	p := reflect.ValueOf(provider.Guarded(hollow(), func(string, string, *defect.Panic) { told++ }))
	calls := 0
	for i := range p.NumMethod() {
		name, method := p.Type().Method(i).Name, p.Method(i)
		if name == "Has" {
			continue
		}
		calls++
		var args []reflect.Value
		for k := range method.Type().NumIn() {
			arg := reflect.Zero(method.Type().In(k))
			if k == 0 {
				arg = reflect.ValueOf(t.Context())
			}
			args = append(args, arg)
		}
		out := method.Call(args)
		err, _ := out[len(out)-1].Interface().(error)
		want := fault.UnknownOutcome
		if slices.Contains(questions, name) {
			want = fault.Transient
		}
		if !fault.Is(err, want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	for _, a := range provider.Abilities() {
		for _, m := range a.Methods() {
			if !p.MethodByName(m).IsValid() {
				t.Errorf("%s of %s passes by the guard", m, a.Name)
			}
		}
	}
	if told != calls || calls < 20 {
		t.Errorf("%d calls, and %d panics were told", calls, told)
	}
}

// TestAGuardHidesNothing: what is behind it can do what it could.
func TestAGuardHidesNothing(t *testing.T) {
	t.Parallel()
	full := provider.Guarded(simulated.NewWorld(simulated.Options{}).Open("test"), nil)
	bare := provider.Guarded(plain{}, nil)
	if lacks := provider.Cannot(full); len(lacks) != 0 {
		t.Errorf("it can do everything, and is said to lack %v", lacks)
	}
	if got, want := provider.Cannot(bare), provider.Cannot(plain{}); !slices.Equal(got, want) {
		t.Errorf("said to lack %v, want %v", got, want)
	}
	if got, want := provider.Cannot(provider.Guarded(provider.ReadOnly(plain{}),
		nil)), provider.Cannot(plain{}); !slices.Equal(got, want) {
		t.Errorf("for reading only it is said to lack %v, want %v", got, want)
	}
	for _, a := range provider.Abilities() {
		if !a.Of(full) || a.Of(bare) {
			t.Errorf("%s: %v behind a guard, %v where there is none", a.Name, a.Of(full), a.Of(bare))
		}
	}
	resumer, ok := bare.(provider.Resumer)
	if !ok {
		t.Fatal("it lacks the method")
	}
	if err := resumer.Resume(t.Context(), provider.Ref{}); !fault.Is(err, fault.Unsupported) {
		t.Errorf("got %v", err)
	}
}

// deaf is a watcher that panics.
type deaf struct{}

func (deaf) Watch(context.Context, func(provider.Event)) error { panic("boom") }

func TestAWatchThatPanicsEnds(t *testing.T) {
	t.Parallel()
	told := 0
	err := provider.GuardedWatcher(deaf{}, func(string, string, *defect.Panic) { told++ }).Watch(t.Context(), nil)
	if err == nil || told != 1 {
		t.Errorf("got %v, told %d times", err, told)
	}
	if provider.GuardedWatcher(nil, nil) != nil {
		t.Error("no watcher became one")
	}
}
