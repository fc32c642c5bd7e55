package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/defect"
)

// TestAQuestionThatPanicsAnswersNobody: who waits for it must not take what is not there for an empty list.
func TestAQuestionThatPanicsAnswersNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTogether[[]string]()
		g.turn <- struct{}{} // somebody's question is under way
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				errs <- defect.Try(func() error {
					_, err := g.ask(t.Context(), func() ([]string, error) { panic("boom") })
					return err
				})
			}()
		}
		time.Sleep(time.Second)
		<-g.turn
		for range 2 {
			if err := <-errs; err == nil {
				t.Error("an empty list was taken for the answer")
			}
		}
		if got, err := g.ask(t.Context(), func() ([]string, error) { return []string{"a"}, nil }); err != nil || len(got) != 1 {
			t.Errorf("the next question: %v, %v", got, err)
		}
	})
}
