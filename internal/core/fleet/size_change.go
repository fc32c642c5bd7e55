package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// largestShare is the largest part of a size by which one change goes up, in percent.
const largestShare = 1000

var errNoSize = fmt.Errorf("a fleet has at least 1 machine, and at most %d: to let all of them go, take it out of the "+
	"configuration", LargestSize)

// ParseSizeChange reads another size as people write it: 6, +2, -1, +50% or -20%.
func ParseSizeChange(text string) (SizeChange, error) {
	text = strings.TrimSpace(text)
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	signed := strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	switch {
	case err != nil:
		return SizeChange{}, fmt.Errorf("%q is no size and no change of one", text)
	case percent && !signed:
		return SizeChange{}, fmt.Errorf("%s has no sign: +%s is more, and -%s is less", text, text, text)
	case n == 0:
		return SizeChange{}, fmt.Errorf("%s changes nothing, and a fleet has at least 1 machine", text)
	case percent:
		c := SizeChange{Percent: n}
		return c, c.Check()
	case signed:
		c := SizeChange{By: n}
		return c, c.Check()
	}
	c := SizeChange{Exact: n}
	return c, c.Check()
}

// Check says what is wrong with the change by itself.
func (c SizeChange) Check() error {
	said := 0
	for _, n := range []int{c.Exact, c.By, c.Percent} {
		if n != 0 {
			said++
		}
	}
	switch {
	case said != 1:
		return errors.New("it says one of a size, a number of machines and a percentage")
	case c.Exact < 0 || c.Exact > LargestSize:
		return errNoSize
	case c.By < -LargestSize || c.By > LargestSize:
		return fmt.Errorf("a fleet has at most %d machines", LargestSize)
	case c.Percent < -100 || c.Percent > largestShare:
		return fmt.Errorf("%+d%% is out of range: choose -100%% to +%d%%", c.Percent, largestShare)
	case c.AtLeast != 0 && c.Percent == 0:
		return errors.New("a least number of machines is for a percentage")
	case c.AtLeast < 0 || c.AtLeast > LargestSize:
		return fmt.Errorf("a change is by at least 1 machine, and by at most %d", LargestSize)
	}
	return nil
}

// Goes returns 1 for a change to more machines and -1 for one to fewer. Of an exact size that is not known: 0.
func (c SizeChange) Goes() int {
	switch {
	case c.By > 0 || c.Percent > 0:
		return 1
	case c.By < 0 || c.Percent < 0:
		return -1
	}
	return 0
}

// String writes the change as ParseSizeChange reads it.
func (c SizeChange) String() string {
	switch {
	case c.Percent != 0:
		return signed(c.Percent) + "%"
	case c.By != 0:
		return signed(c.By)
	}
	return strconv.Itoa(c.Exact)
}

// signed writes a number with its sign, also that of more.
func signed(n int) string {
	if n > 0 {
		return "+" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
