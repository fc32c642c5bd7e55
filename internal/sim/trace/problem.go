package trace

import (
	"fmt"
	"strings"
)

// maxProblems is how many problems of one file are reported.
const maxProblems = 100

// Problem is one thing that is wrong in a file.
type Problem struct {
	Line    int    // from 1
	Column  string // the column's name; empty for the line as a whole
	Message string // what is wrong, and what is wanted
}

// String renders "line 7, column end: message".
func (p Problem) String() string {
	if p.Column == "" {
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("line %d, column %s: %s", p.Line, p.Column, p.Message)
}

// Problems is everything that is wrong in a file, by line, cut off at 100. As an error it is never empty.
type Problems []Problem

// Error renders one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
