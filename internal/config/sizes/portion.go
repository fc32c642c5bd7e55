package sizes

import (
	"strconv"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// PortionShape reads a number of machines, or a part of a fleet's.
func PortionShape() keys.Scalar[policy.Portion] {
	number := keys.Integer(1, maxSize)
	return keys.Scalar[policy.Portion]{
		Noun: "a number or a percentage", Example: "5%", Forms: []keys.Form{keys.FormText, keys.FormNumber},
		Parse: parsePortion,
		Format: func(p policy.Portion) any {
			if p.Percent > 0 {
				return keys.FormatPercent(p.Percent)
			}
			return p.Number
		},
		JSON: keys.Schema{Type: []string{"integer", "string"}, Minimum: number.JSON.Minimum,
			Maximum: number.JSON.Maximum,
			Pattern: `^(100|[1-9][0-9]?)%$`, Noun: "whole number or percentage", Bounds: number.JSON.Bounds +
				", or 1% to 100%"},
	}
}

func parsePortion(text string) (policy.Portion, *keys.Flaw) {
	if !strings.HasSuffix(text, "%") {
		n, flaw := keys.Integer(1, maxSize).Parse(text)
		return policy.Portion{Number: n}, flaw
	}
	p, flaw := keys.ParsePercent(text)
	if flaw == nil && p == 0 {
		flaw = keys.Flawf("choose 1% to 100%", "%s is out of range", strconv.Quote(text))
	}
	return policy.Portion{Percent: p}, flaw
}
