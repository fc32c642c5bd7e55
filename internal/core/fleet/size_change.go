package fleet

import (
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

// signed writes a number with its sign, also that of more.
func signed(n int) string {
	if n > 0 {
		return "+" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
