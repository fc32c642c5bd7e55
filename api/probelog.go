package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"time"
)

// Probe is one probe of one of a machine's checks.
type Probe struct {
	Machine string `json:"machine"`
	Check   string `json:"check"`
	// Started is when it began; absent: it was due, and left out.
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended"`
	Result   string    `json:"result"`
	Detail   string    `json:"detail,omitempty"`
	Standing string    `json:"standing"` // of the check from then on
}

// ProbeLine is a line of a log of probes: a probe, or how many were left out before the next one, since the reader was
// too slow; or neither, so that a quiet log is known to live.
type ProbeLine struct {
	Probe
	Missed int `json:"missed,omitempty"`
}

// ProbeLog yields each probe of the machine's checks as it ends, for so long.
func (c *Client) ProbeLog(ctx context.Context, machine string, lasts time.Duration) iter.Seq2[ProbeLine, error] {
	return func(yield func(ProbeLine, error) bool) {
		path := "/v1/machines/" + url.PathEscape(machine) + "/probes?for=" + url.QueryEscape(lasts.String())
		body, err := c.open(ctx, path)
		if err != nil {
			yield(ProbeLine{}, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l ProbeLine
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				yield(ProbeLine{}, fmt.Errorf("what hale sent cannot be read: %w", err))
				return
			}
			if (l.Check != "" || l.Missed > 0) && !yield(l, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil && ctx.Err() == nil {
			yield(ProbeLine{}, c.away(err))
		}
	}
}
