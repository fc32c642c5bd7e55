package outlet

import (
	"cmp"

	"hale/internal/core/fault"
)

// Sift sends the items, in their order, at most so many at once. Where they are refused for what they are (fault.Invalid), it finds those that
// are to blame by halves, and returns them: all others were taken. As long as nothing at all is taken, nothing is to
// blame but the receiver, and the error says so: then nothing is refused, and all is to be sent again.
func Sift[T any](items []T, most int, send func([]T) error) (refused []T, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	taken, first := false, error(nil)
	var sift func(part []T) error
	sift = func(part []T) error {
		if len(part) <= most {
			err := send(part)
			switch {
			case err == nil:
				taken = true
				return nil
			case !fault.Is(err, fault.Invalid):
				return err
			case len(part) == 1:
				refused = append(refused, part[0])
				first = cmp.Or(first, err)
				return nil
			}
		}
		half := len(part) / 2
		if err := sift(part[:half]); err != nil {
			return err
		}
		return sift(part[half:])
	}
	if err := sift(items); err != nil {
		return nil, err
	}
	if !taken {
		return nil, first
	}
	return refused, nil
}
