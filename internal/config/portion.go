package config

import (
	"strconv"
	"strings"
)

// portion is a number of machines, or a part of a fleet's.
type portion struct {
	number  int
	percent int // 0: number says it
}

func portionShape() scalar[portion] {
	number := integer(1, maxSize)
	return scalar[portion]{
		noun: "a number or a percentage", example: "5%", forms: []form{formText, formNumber}, parse: parsePortion,
		format: func(s portion) any {
			if s.percent > 0 {
				return formatPercent(s.percent)
			}
			return s.number
		},
		json: schema{Type: []string{"integer", "string"}, Minimum: number.json.Minimum, Maximum: number.json.Maximum,
			Pattern: `^(100|[1-9][0-9]?)%$`, noun: "whole number or percentage", bounds: number.json.bounds +
				", or 1% to 100%"},
	}
}

func parsePortion(text string) (portion, *flaw) {
	if !strings.HasSuffix(text, "%") {
		n, flaw := integer(1, maxSize).parse(text)
		return portion{number: n}, flaw
	}
	p, flaw := parsePercent(text)
	if flaw == nil && p == 0 {
		flaw = flawf("choose 1% to 100%", "%s is out of range", strconv.Quote(text))
	}
	return portion{percent: p}, flaw
}
