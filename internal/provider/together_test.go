package provider_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/defect"
	"hale/internal/provider"
)

// crowd asks through a Together of two places, in a bubble.
type crowd struct {
	*testing.T
	*provider.Together[string, int]

	mu              sync.Mutex
	puts, now, most int // how many questions were put, are being put, were at the same time
}

func (c *crowd) begin() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.puts, c.now = c.puts+1, c.now+1
	c.most = max(c.most, c.now)
	return c.puts
}

func (c *crowd) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

func inCrowd(t *testing.T, tale func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { tale(&crowd{T: t, Together: provider.NewTogether[string, int](2)}) })
}

// asks has a caller ask what takes a second to answer, and returns the channel that gets the outcome.
func (c *crowd) asks(ctx context.Context, what string) <-chan error {
	answers := make(chan error, 1)
	go func() {
		_, err := c.Ask(ctx, what, func() (int, error) {
			n := c.begin()
			defer c.end()
			time.Sleep(time.Second)
			return n, nil
		})
		answers <- err
	}()
	synctest.Wait()
	return answers
}

// TestOnlySoManyQuestionsAreUnderWay: the others wait, and each is put.
func TestOnlySoManyQuestionsAreUnderWay(t *testing.T) {
	t.Parallel()
	inCrowd(t, func(c *crowd) {
		var answers []<-chan error
		for _, what := range []string{"a", "b", "c", "d", "e"} {
			answers = append(answers, c.asks(c.Context(), what))
		}
		for _, a := range answers {
			if err := <-a; err != nil {
				c.Error(err)
			}
		}
		if c.puts != 5 || c.most != 2 {
			c.Errorf("%d questions were put, %d at once; want 5 and 2", c.puts, c.most)
		}
	})
}

// TestWhoAsksTheSameSharesAnAnswerOfTheirTime: not that of the question that is under way when they come, but the next
// one's.
func TestWhoAsksTheSameSharesAnAnswerOfTheirTime(t *testing.T) {
	t.Parallel()
	inCrowd(t, func(c *crowd) {
		under := []<-chan error{c.asks(c.Context(), "a"), c.asks(c.Context(), "b")}
		for range 10 {
			under = append(under, c.asks(c.Context(), "a"))
		}
		for _, a := range under {
			if err := <-a; err != nil {
				c.Error(err)
			}
		}
		if c.puts != 3 {
			c.Errorf("%d questions were put, want a and b, and a once more", c.puts)
		}
	})
}

// TestWhoHasNoTimeLeftAsksNothing: a question that waits for its turn is dropped when its caller gives up.
func TestWhoHasNoTimeLeftAsksNothing(t *testing.T) {
	t.Parallel()
	inCrowd(t, func(c *crowd) {
		c.asks(c.Context(), "a")
		c.asks(c.Context(), "b")
		ctx, cancel := context.WithCancel(c.Context())
		waits, joins := c.asks(ctx, "c"), c.asks(ctx, "c")
		cancel()
		for _, answer := range []<-chan error{waits, joins} {
			if err := <-answer; !errors.Is(err, context.Canceled) {
				c.Error(err)
			}
		}
		if err := <-c.asks(c.Context(), "c"); err != nil || c.puts != 3 {
			c.Errorf("a later caller: %v; %d questions were put", err, c.puts)
		}
	})
}

// TestAQuestionThatPanicsHasNoAnswer: callers that wait for it must not get an empty list.
func TestAQuestionThatPanicsHasNoAnswer(t *testing.T) {
	t.Parallel()
	inCrowd(t, func(c *crowd) {
		c.asks(c.Context(), "a")
		c.asks(c.Context(), "b")
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				errs <- defect.Try(func() error {
					_, err := c.Ask(c.Context(), "c", func() (int, error) { panic("boom") })
					return err
				})
			}()
		}
		for range 2 {
			if err := <-errs; err == nil {
				c.Error("nothing was taken for the answer")
			}
		}
		if err := <-c.asks(c.Context(), "c"); err != nil {
			c.Errorf("the next question: %v", err)
		}
	})
}
