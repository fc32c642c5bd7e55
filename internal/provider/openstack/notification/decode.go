package notification

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// Why a body is no notice.
var (
	errHuge   = errors.New("it is larger than any notification")
	errBroken = errors.New("it is not the JSON of a notification")
	// errOther: it is sound, and says nothing that a listing would show.
	errOther = errors.New("it is about something else")
)

// Bounds of what is believed of a body.
const (
	maxBody = 1 << 20 // bytes; real ones have 2 to 8 thousand
	maxWord = 255     // bytes of an id, a host's name, a user's id
)

// envelope is how the message bus wraps a notification: the message itself is JSON in a string.
type envelope struct {
	Message *string `json:"oslo.message"`
}

// message is a notification, of either form.
type message struct {
	EventType string          `json:"event_type"`
	Priority  string          `json:"priority"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
	UserID    word            `json:"_context_user_id"`
	ProjectID word            `json:"_context_project_id"`
	RequestID word            `json:"_context_request_id"`
}

// versioned is the payload of a versioned notification.
type versioned struct {
	Data *json.RawMessage `json:"nova_object.data"`
}

// subject is what a payload says of an instance or a service, in the words of both forms.
type subject struct {
	UUID       word `json:"uuid"`        // versioned
	InstanceID word `json:"instance_id"` // legacy
	TenantID   word `json:"tenant_id"`   // the project that the instance belongs to
	Host       word `json:"host"`
	State      word `json:"state"`
	OldState   word `json:"old_state"` // legacy updates
	Update     struct {
		Data struct {
			State    word `json:"state"`
			OldState word `json:"old_state"`
		} `json:"nova_object.data"`
	} `json:"state_update"` // versioned updates
	InitiatorUser    word `json:"action_initiator_user"`
	InitiatorProject word `json:"action_initiator_project"`
}

// word is a short text. What is null, too long or no text at all is empty.
type word string

// UnmarshalJSON implements json.Unmarshaler. It never fails: one odd value does not make the rest worthless.
func (w *word) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || len(text) > maxWord {
		text = ""
	}
	*w = word(text)
	return nil
}

// decode reads one body. The error is errHuge, errBroken or errOther.
func decode(body []byte) (Notice, error) {
	if len(body) > maxBody {
		return Notice{}, errHuge
	}
	m, err := unwrap(body)
	if err != nil {
		return Notice{}, err
	}
	what, sort := classify(m.EventType)
	if sort == aboutNothing {
		return Notice{}, errOther
	}
	s, err := m.subject()
	if err != nil {
		return Notice{}, err
	}
	n := Notice{
		Kind: what, At: m.at(), Project: string(s.TenantID),
		By: Asker{User: string(m.UserID), Project: string(m.ProjectID), Request: string(m.RequestID)},
	}
	if n.By.User == "" && s.InitiatorUser != "" {
		n.By.User, n.By.Project = string(s.InitiatorUser), string(s.InitiatorProject)
	}
	if sort == aboutService {
		n.Host = string(s.Host)
		return n, nil
	}
	if n.Instance = fleet.InstanceID(first(s.UUID, s.InstanceID)); n.Instance == "" {
		return Notice{}, errBroken
	}
	n.Host = string(s.Host)
	if sort == aboutUpdate {
		err = n.update(s)
	}
	return n, err
}

// unwrap reads the message out of its envelope; one that comes without is read as it is.
func unwrap(body []byte) (message, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return message{}, errBroken
	}
	if e.Message != nil {
		body = []byte(*e.Message)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.EventType == "" {
		return message{}, errBroken
	}
	return m, nil
}

// subject reads the payload of either form.
func (m *message) subject() (subject, error) {
	data := m.Payload
	var v versioned
	if err := json.Unmarshal(data, &v); err != nil {
		return subject{}, errBroken
	}
	if v.Data != nil {
		data = *v.Data
	}
	var s subject
	if err := json.Unmarshal(data, &s); err != nil {
		return subject{}, errBroken
	}
	return s, nil
}

// update says what an update is about: one that changes no state is about something else.
func (n *Notice) update(s subject) error {
	was, is := first(s.Update.Data.OldState, s.OldState), first(s.Update.Data.State, s.State)
	switch {
	case is == "error":
		n.Kind = Failed
	case was == is || was == "":
		return errOther
	case is == "stopped":
		n.Kind = Stopped
	case is == "deleted":
		n.Kind = Deleted
	default:
		n.Kind = Changed
	}
	return nil
}

// timeForms are how the bus writes times, in UTC.
var timeForms = []string{"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", time.RFC3339Nano}

// at is when the cloud says that it happened; zero: it does not say.
func (m *message) at() time.Time {
	for _, form := range timeForms {
		if t, err := time.Parse(form, m.Timestamp); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func first(words ...word) word {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// sort is what a type of notification is about.
type sort int

const (
	aboutNothing  sort = iota // nothing that a listing shows
	aboutInstance             // something happened to an instance
	aboutUpdate               // an instance's record changed; the payload says how
	aboutService              // a compute service changed
)

// kinds are what the end of an action means, where it is more than a change, by the action's name.
var kinds = map[string]Kind{
	"power_off":    Stopped,
	"shelve":       Stopped,
	"power_on":     Started,
	"unpause":      Started,
	"resume":       Started,
	"unshelve":     Started,
	"pause":        Paused,
	"suspend":      Paused,
	"delete":       Deleted,
	"soft_delete":  Deleted,
	"force_delete": Deleted,
}

// idle are the actions that change nothing in a listing, or that belong to another action, which has a notification of
// its own at its end.
var idle = map[string]bool{
	"exists":             true,
	"snapshot":           true,
	"lock":               true,
	"unlock":             true,
	"shutdown":           true,
	"create_ip":          true,
	"delete_ip":          true,
	"trigger_crash_dump": true,
	"live_migration_pre": true,
	"resize_prep":        true,
	"volume_swap":        true,
}

// single are the actions that are told once, without a beginning and an end.
var single = map[string]bool{"evacuate": true, "rebuild_scheduled": true}

// classify says what a type of notification is about, as compute.instance.power_off.end and instance.power_off.end.
// That something begins is left out: its end is told, too.
func classify(eventType string) (Kind, sort) {
	rest, legacy := strings.CutPrefix(eventType, "compute.")
	switch about, rest, _ := strings.Cut(rest, "."); {
	case about == "instance":
		return classifyInstance(rest)
	case about == "service" && !legacy:
		return HostChanged, aboutService
	}
	return Changed, aboutNothing
}

func classifyInstance(what string) (Kind, sort) {
	if what == "update" {
		return Changed, aboutUpdate
	}
	action, phase := what, ""
	if i := strings.LastIndexByte(what, '.'); i >= 0 {
		action, phase = what[:i], what[i+1:]
	}
	// the legacy form has dots in names, too
	action = strings.TrimPrefix(strings.NewReplacer("._", "_", ".", "_").Replace(action), "_")
	switch {
	case phase == "error":
		return Failed, aboutInstance
	case idle[action], phase != "end" && !single[action]:
		return Changed, aboutNothing
	}
	if kind, ok := kinds[action]; ok {
		return kind, aboutInstance
	}
	return Changed, aboutInstance
}
