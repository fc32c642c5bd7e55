package outlet_test

import (
	"errors"
	"slices"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/outlet"
)

// receiver takes numbers, but for those that it refuses; once it has taken so many, it does not answer.
type receiver struct {
	refuses []int
	until   int
	took    []int
}

func (r *receiver) send(part []int) error {
	if slices.ContainsFunc(part, func(n int) bool { return slices.Contains(r.refuses, n) }) {
		return fault.New(fault.Invalid, "test.send", "", errors.New("no"))
	}
	if r.until > 0 && len(r.took) >= r.until {
		return fault.New(fault.Transient, "test.send", "", errors.New("not now"))
	}
	r.took = append(r.took, part...)
	return nil
}

// What a receiver refuses is found among what it takes, and the order of the rest is kept.
func TestOneThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ refuses, want, took []int }{
		"none":        {nil, nil, []int{1, 2, 3, 4, 5}},
		"one":         {[]int{3}, []int{3}, []int{1, 2, 4, 5}},
		"both ends":   {[]int{1, 5}, []int{1, 5}, []int{2, 3, 4}},
		"all but one": {[]int{1, 2, 4, 5}, []int{1, 2, 4, 5}, []int{3}},
	} {
		r := &receiver{refuses: c.refuses}
		one := &receiver{refuses: c.refuses}
		if refused, err := outlet.Sift([]int{1, 2, 3, 4, 5}, 1, one.send); err != nil || !slices.Equal(refused, c.want) ||
			!slices.Equal(one.took, c.took) {
			t.Errorf("%s, one by one: refused %v, took %v, %v", name, refused, one.took, err)
		}
		refused, err := outlet.Sift([]int{1, 2, 3, 4, 5}, 8, r.send)
		if err != nil || !slices.Equal(refused, c.want) || !slices.Equal(r.took, c.took) {
			t.Errorf("%s: refused %v, took %v, %v", name, refused, r.took, err)
		}
	}
}

// A receiver that refuses everything is set up wrongly, or the wrong one: nothing is dropped for that.
func TestAReceiverThatRefusesAllIsToBlameItself(t *testing.T) {
	t.Parallel()
	r := &receiver{refuses: []int{1, 2, 3}}
	if refused, err := outlet.Sift([]int{1, 2, 3}, 8, r.send); !fault.Is(err, fault.Invalid) || refused != nil {
		t.Errorf("refused %v, %v", refused, err)
	}
	if refused, err := outlet.Sift([]int{1}, 8, r.send); !fault.Is(err, fault.Invalid) || refused != nil {
		t.Errorf("one alone: refused %v, %v", refused, err)
	}
	r = &receiver{refuses: []int{1}, until: 1}
	if refused, err := outlet.Sift([]int{1, 2, 3, 4, 5}, 8, r.send); !fault.Is(err, fault.Transient) || refused != nil {
		t.Errorf("it falls silent in between: refused %v, %v", refused, err)
	}
}
