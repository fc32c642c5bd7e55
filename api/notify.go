package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// DeadLetters are the messages that were given up, oldest first within each fleet.
type DeadLetters struct {
	Letters []DeadLetter `json:"letters"`
}

// DeadLetter is a message that a target did not take.
type DeadLetter struct {
	Key     string    `json:"key"`
	Target  string    `json:"target"`
	Message string    `json:"message"` // what kind of message it is
	Event   Event     `json:"event"`   // what it tells of
	Tries   int       `json:"tries"`
	At      time.Time `json:"at"` // when it was given up
	Reason  Reason    `json:"reason"`
}

// TestAnswer is what a target answered to a test message.
type TestAnswer struct {
	Target string   `json:"target"`
	Answer string   `json:"answer"`
	Took   Duration `json:"took"`
}

// RetryOrder says which dead letters are to be tried again: those with the key, or all.
type RetryOrder struct {
	Key string `json:"key,omitempty"` // of one message
	All bool   `json:"all,omitempty"`
	// DryRun has them counted only.
	DryRun bool `json:"-"`
}

// Retried is how many dead letters wait again.
type Retried struct {
	Letters int `json:"letters"`
}

// DeadLetters returns the messages that were given up.
func (c *Client) DeadLetters(ctx context.Context) (DeadLetters, error) {
	return get[DeadLetters](ctx, c, "/v1/notify/dead")
}

// Retry lets dead letters be tried again.
func (c *Client) Retry(ctx context.Context, o RetryOrder) (Retried, error) {
	return post[Retried](ctx, c, tried("/v1/notify/dead/retry", o.DryRun), o)
}

// Test sends a target a test message.
func (c *Client) Test(ctx context.Context, target string) (TestAnswer, error) {
	return ask[TestAnswer](ctx, c, http.MethodPost, "/v1/notify/targets/"+url.PathEscape(target)+"/test", nil)
}
