package sizes

import (
	"fmt"
	"strconv"
	"strings"

	"hale/internal/keys"
)

// stride is how many machines one move of the size adds or removes at most: the greater of a number and a part of the
// size. The zero value: as many as are wanted.
type stride struct{ machines, percent int }

// anyWord stands for as many as are wanted.
const anyWord = "any"

func strideShape() keys.Scalar[stride] {
	return keys.Scalar[stride]{
		Noun: "a number of machines, a percentage or both", Example: "4 or 100%",
		Forms: []keys.Form{keys.FormText, keys.FormNumber}, Parse: parseStride,
		Format: func(s stride) any {
			switch {
			case s == stride{}:
				return anyWord
			case s.percent == 0:
				return s.machines
			case s.machines == 0:
				return keys.FormatPercent(s.percent)
			}
			return fmt.Sprintf("%d or %d%%", s.machines, s.percent)
		},
		JSON: keys.Schema{Type: []string{"integer", "string"}, Minimum: &leastStride, Maximum: &mostStride,
			Pattern: `^(any|([1-9][0-9]* +or +)?(100|[1-9][0-9]?)%)$`,
			Noun:    "number of machines, percentage of the size, both as `4 or 100%`, or `any`"},
	}
}

var leastStride, mostStride = 1, maxSize

func parseStride(text string) (stride, *keys.Flaw) {
	if text == anyWord {
		return stride{}, nil
	}
	number, share, both := strings.Cut(text, " or ")
	if !both && strings.HasSuffix(text, "%") {
		number, share = "", text
	}
	var out stride
	var bad *keys.Flaw
	if number != "" {
		out.machines, bad = keys.Integer(leastStride, mostStride).Parse(strings.TrimSpace(number))
	}
	if share != "" && bad == nil {
		if out.percent, bad = keys.ParsePercent(strings.TrimSpace(share)); bad == nil && out.percent == 0 {
			bad = keys.Flawf("choose 1% to 100%", "%s is out of range", strconv.Quote(share))
		}
	}
	if bad != nil && !strings.ContainsAny(text, "0123456789") {
		bad = keys.Flawf("write for example 4, 50%, 4 or 100%, or any", "%q is no number of machines", text)
	}
	return out, bad
}
