package chart

import (
	"strings"
	"unicode/utf8"

	"hale/internal/core/belief"
	"hale/internal/core/record"
)

// outputPiece is how much of a command's output goes into one record, in bytes.
const outputPiece = 2 << 10

// RecordOutput keeps what a command said, in pieces that end with a line where they can.
func (c *Chart) RecordOutput(in belief.Intent, output string) {
	output = strings.TrimSpace(output)
	for output != "" {
		n := min(len(output), outputPiece)
		if n < len(output) {
			if line := strings.LastIndexByte(output[:n], '\n'); line > 0 {
				n = line
			}
			for n > 1 && !utf8.RuneStart(output[n]) {
				n--
			}
		}
		c.Record(record.Record{Kind: record.Output, Op: in.Op, Call: in.ID, Instance: in.Instance,
			Generation: in.Generation, Detail: output[:n]})
		output = strings.TrimLeft(output[n:], "\n")
	}
}
