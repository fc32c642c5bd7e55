package sim

import "hale/internal/sim/score"

// Result is how a run went.
type Result struct {
	Score      score.Score
	Violations []Violation
}

func (s *stage) result() Result {
	s.score.Close()
	return Result{Score: *s.score, Violations: s.judge.broke}
}
