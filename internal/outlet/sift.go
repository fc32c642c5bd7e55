package outlet

import "hale/internal/core/fault"

// Sift sends the items, in their order. Where they are refused for what they are (fault.Invalid), it finds those that
// are to blame by halves, and returns them: all others were taken. As long as nothing at all is taken, nothing is to
// blame but the receiver, and the error says so: then nothing is refused, and all is to be sent again.
func Sift[T any](items []T, send func([]T) error) (refused []T, err error) {
	taken := false
	var sift func(part []T) error
	sift = func(part []T) error {
		err := send(part)
		switch {
		case err == nil:
			taken = true
			return nil
		case !fault.Is(err, fault.Invalid):
			return err
		case len(part) == 1:
			refused = append(refused, part[0])
			return nil
		}
		half := len(part) / 2
		if err := sift(part[:half]); err != nil {
			return err
		}
		return sift(part[half:])
	}
	var first error
	whole := send
	send = func(part []T) error {
		err := whole(part)
		if first == nil {
			first = err
		}
		return err
	}
	if len(items) == 0 {
		return nil, nil
	}
	if err := sift(items); err != nil {
		return nil, err
	}
	if !taken {
		return nil, first
	}
	return refused, nil
}
