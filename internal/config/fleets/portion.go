package fleets

import (
	"strconv"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// portion is a number of machines, or a part of a fleet's.
type portion struct {
	number  int
	percent int // 0: number says it
}

// policy is the portion as a fleet's policy has it.
func (p portion) policy() policy.Portion { return policy.Portion{Number: p.number, Percent: p.percent} }

func portionShape() keys.Scalar[portion] {
	number := keys.Integer(1, maxSize)
	return keys.Scalar[portion]{
		Noun: "a number or a percentage", Example: "5%", Forms: []keys.Form{keys.FormText, keys.FormNumber},
		Parse: parsePortion,
		Format: func(s portion) any {
			if s.percent > 0 {
				return keys.FormatPercent(s.percent)
			}
			return s.number
		},
		JSON: keys.Schema{Type: []string{"integer", "string"}, Minimum: number.JSON.Minimum,
			Maximum: number.JSON.Maximum,
			Pattern: `^(100|[1-9][0-9]?)%$`, Noun: "whole number or percentage", Bounds: number.JSON.Bounds +
				", or 1% to 100%"},
	}
}

func parsePortion(text string) (portion, *keys.Flaw) {
	if !strings.HasSuffix(text, "%") {
		n, flaw := keys.Integer(1, maxSize).Parse(text)
		return portion{number: n}, flaw
	}
	p, flaw := keys.ParsePercent(text)
	if flaw == nil && p == 0 {
		flaw = keys.Flawf("choose 1% to 100%", "%s is out of range", strconv.Quote(text))
	}
	return portion{percent: p}, flaw
}
