package api

import (
	"context"
	"net/url"
	"time"
)

// FleetSize is how many machines a fleet has, how many are wanted, and why.
type FleetSize struct {
	Fleet string    `json:"fleet"`
	Now   time.Time `json:"now"`
	// Size is how many machines that serve there are to be by now, Actual how many have an instance, and Healthy are
	// those of them that are. Spares stand by beside them.
	Size    int `json:"size"`
	Actual  int `json:"actual"`
	Healthy int `json:"healthy"`
	Spares  int `json:"spares,omitempty"`
	// Desired is the size that is asked for, by the last word on it.
	Desired int      `json:"desired"`
	Word    SizeWord `json:"word"`
	// Bounds are where something moves the size; nil: it is a plain number.
	Bounds *SizeBounds `json:"bounds,omitempty"`
	// Wants is what the opinions want; it differs from Desired for the reason Held, until Until where that is known.
	// Would is the size that the fleet would have by now, where it is only watched.
	Wants    int           `json:"wants,omitempty"`
	Held     Reason        `json:"held,omitzero"`
	Until    time.Time     `json:"until,omitzero"`
	Would    int           `json:"would,omitempty"`
	Opinions []SizeOpinion `json:"opinions"`
	Metrics  []SizeMetric  `json:"metrics"`
	Up       *SizePace     `json:"up,omitempty"`
	Down     *SizePace     `json:"down,omitempty"`
	// Leaving are the machines that are to go, in order, and Next is which would go if there were to be one less.
	Leaving []SizeLeaver `json:"leaving"`
	Next    *SizeLeaver  `json:"next,omitempty"`
	// Forecast is what history says; nothing follows from it.
	Forecast *SizeForecast `json:"forecast,omitempty"`
	// Said is how the size stands, in sentences, and Person what a person can do.
	Said   []string `json:"said"`
	Person []string `json:"person"`
}

// SizeWord is the last word on a fleet's size.
type SizeWord struct {
	From    string    `json:"from" enum:"file,order,opinion,bounds"` // bounds: nothing asks for a size within them
	By      string    `json:"by,omitempty"`
	Opinion string    `json:"opinion,omitempty"`
	Reason  string    `json:"reason,omitempty"` // in that person's words
	Order   string    `json:"order,omitempty"`
	At      time.Time `json:"at,omitzero"`
	// Pinned is until when no opinion and no signal moves the size.
	Pinned time.Time `json:"pinned,omitzero"`
	Text   string    `json:"text"`
}

// Where the last word on a size is from (SizeWord.From).
const (
	SizeFromFile    = "file"
	SizeFromOrder   = "order"
	SizeFromOpinion = "opinion"
	SizeFromBounds  = "bounds"
)

// SizeBounds are where something moves a fleet's size.
type SizeBounds struct {
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	Strict bool   `json:"strict"`
	Mode   string `json:"mode"` // observe: it is only recorded what opinions would do
}

// SizeOpinion is what one opinion says.
type SizeOpinion struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // target, steps, schedule or size
	Metric string `json:"metric,omitempty"`
	// Value is the metric's, as the opinion sees it, Total what of it there is in the whole fleet, and Goal what the
	// metric is kept at.
	Value float64 `json:"value"`
	Total float64 `json:"total"`
	Goal  float64 `json:"goal,omitempty"`
	// Wants is the size that it wants by the newest reading, Least and Most are those within its windows.
	Wants int `json:"wants"`
	Least int `json:"least"`
	Most  int `json:"most"`
	// Silent is why it has no opinion; it has one where that is empty.
	Silent Reason `json:"silent,omitzero"`
	// Young says that its window is not full yet: it wants no fewer machines.
	Young bool `json:"young,omitempty"`
	// Counts says that this is the one that counts.
	Counts bool   `json:"counts,omitempty"`
	Text   string `json:"text"`
}

// SizeMetric is a number that opinions go by.
type SizeMetric struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // prometheus, check, provider or command
	// Value is the newest that is believed, read so long ago; nil: there is none.
	Value *float64 `json:"value,omitempty"`
	Age   Duration `json:"age,omitempty"`
	// Readings are those in memory.
	Readings int `json:"readings"`
	// Trouble is why the newest attempt brought nothing.
	Trouble Reason `json:"trouble,omitzero"`
	// Silent is since when the metric says nothing, and Paged that a person was told.
	Silent time.Time `json:"silent,omitzero"`
	Paged  bool      `json:"paged,omitempty"`
	Text   string    `json:"text"`
}

// SizePace is how fast the size moves in one direction.
type SizePace struct {
	Cooldown  Duration `json:"cooldown"`
	Stabilise Duration `json:"stabilise"`
	Most      int      `json:"most"` // machines in one move, at this size
	// Moved is when it moved last, and Rests until when it rests now.
	Moved time.Time `json:"moved,omitzero"`
	Rests time.Time `json:"rests,omitzero"`
}

// SizeLeaver is a machine that goes, or would go next.
type SizeLeaver struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance,omitempty"`
	Why      Reason `json:"why"`
	By       string `json:"by,omitempty"`
	Opinion  string `json:"opinion,omitempty"`
}

// SizeForecast is what history would have foretold.
type SizeForecast struct {
	// Now is the size that it says for this hour; 0: it knows nothing of it.
	Now int `json:"now,omitempty"`
	// Judged hours had a forecast today; in Short of them it was too small, and Spare machine-hours were foretold
	// beyond what was wanted.
	Judged int    `json:"judged"`
	Short  int    `json:"short"`
	Spare  int    `json:"spare"`
	Text   string `json:"text"`
}

// FleetSize returns how many machines a fleet has, how many are wanted, and why.
func (c *Client) FleetSize(ctx context.Context, name string) (FleetSize, error) {
	return get[FleetSize](ctx, c, "/v1/fleets/"+url.PathEscape(name)+"/size")
}
