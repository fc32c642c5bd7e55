package api

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// List is one page of what was asked for.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the After of the page that follows; empty: this is the last.
	Next string `json:"next,omitempty" doc:"What after is for the next page; absent on the last."`
	// Total is how many there are on all pages.
	Total int `json:"total" doc:"How many there are on all pages."`
	// Revision is where a stream of events goes on behind the list: see EventsQuery.From.
	Revision string `json:"revision" doc:"What from is for the events behind this list."`
}

// Page says which part of a list is wanted.
type Page struct {
	Limit int    // at most so many; 0: 100
	After string // behind this place, the Next of a page; empty: from the beginning
}

func (p Page) values() url.Values {
	v := url.Values{}
	if p.Limit > 0 {
		v.Set("limit", strconv.Itoa(p.Limit))
	}
	set(v, "after", p.After)
	return v
}

// set adds what is not empty.
func set(v url.Values, key, value string) {
	if value != "" {
		v.Set(key, value)
	}
}

// FleetSummary is a fleet on one line.
type FleetSummary struct {
	Name       string `json:"name"`
	Provider   string `json:"provider"`
	Mode       string `json:"mode"`
	Size       int    `json:"size"`
	Healthy    int    `json:"healthy"`
	Failing    int    `json:"failing"`
	Suspect    int    `json:"suspect"`
	InRepair   int    `json:"in_repair"`
	InBuild    int    `json:"in_build"`
	NeedPerson int    `json:"need_person" doc:"How many machines a person was paged for."`
	Held       int    `json:"held" doc:"How many machines wait although something could be done."`
	Holds      int    `json:"holds" doc:"How many holds people have put on it."`
	Plans      int    `json:"plans" doc:"How many plans wait for a person's word."`
	Braked     bool   `json:"braked"`
	Acting     bool   `json:"acting"`
	NotActing  Reason `json:"not_acting,omitzero"`
	Standing   string `json:"provider_standing" doc:"How the provider stands: up, down or unknown."`
	Parents    int    `json:"parents" doc:"How many domains have an open incident."`
}

// Instance is a virtual machine at a provider, as far as it bears on a machine of hale's.
type Instance struct {
	Provider   string `json:"provider"`
	Fleet      string `json:"fleet"`
	Machine    string `json:"machine"`
	ID         string `json:"id"`
	Role       string `json:"role" enum:"current,kept,stray,unowned" doc:"What it is to its machine."`
	Generation uint64 `json:"generation,omitempty"`
	Host       string `json:"host,omitempty"`
	Power      string `json:"power,omitempty" doc:"As the provider said last; absent: it did not."`
	Certified  bool   `json:"certified,omitempty"`
	Adopted    bool   `json:"adopted,omitempty"`
}

// What an instance is to its machine (Instance.Role).
const (
	RoleCurrent = "current"
	RoleKept    = "kept"    // it was replaced and put aside, off
	RoleStray   = "stray"   // it bears the machine's mark and should not be there
	RoleUnowned = "unowned" // no fleet owns it
)

// IncidentItem is an incident of a machine, or of a domain in which machines fail together.
type IncidentItem struct {
	ID      string    `json:"id"`
	Fleet   string    `json:"fleet"`
	Machine string    `json:"machine,omitempty" doc:"Absent: it is a domain's."`
	Domain  Domain    `json:"domain,omitzero"`
	Cause   string    `json:"cause,omitempty"`
	Opened  time.Time `json:"opened,omitzero" doc:"Absent: the journal does not know it any more."`
	Closed  time.Time `json:"closed,omitzero" doc:"Absent: it is open."`
	Result  Reason    `json:"result,omitzero" doc:"How it was closed."`
	Paged   bool      `json:"paged,omitempty"`
	Parent  string    `json:"parent,omitempty" doc:"The incident of the domain that fails around the machine."`
	Waiting Reason    `json:"waiting,omitzero" doc:"Why nothing is done although something could be."`
}

// IncidentStory is an incident with what happened.
type IncidentStory struct {
	IncidentItem
	Children []string `json:"children,omitempty" doc:"The machines whose incidents hang under it now."`
	Timeline []Event  `json:"timeline"`
}

// RepairItem is a repair, under way or ended.
type RepairItem struct {
	ID       string    `json:"id"`
	Fleet    string    `json:"fleet"`
	Machine  string    `json:"machine"`
	Incident string    `json:"incident,omitempty"`
	Kind     string    `json:"kind,omitempty"`
	Step     string    `json:"step,omitempty"`
	Phase    string    `json:"phase,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero" doc:"Absent: it is under way."`
	Result   Reason    `json:"result,omitzero" doc:"How it ended."`
	Took     Duration  `json:"took,omitempty"`
	Text     string    `json:"text"`
}

// HostItem is a hypervisor host.
type HostItem struct {
	Provider string `json:"provider"`
	Host
	Machines int  `json:"machines" doc:"How many machines of the fleets that the caller may see lie on it."`
	Fenced   bool `json:"fenced" doc:"It has a method that cuts its power or access."`
	Held     bool `json:"held,omitempty" doc:"A person has put a hold on it."`
}

// ProviderItem is a provider and what depends on it.
type ProviderItem struct {
	Provider
	Fleets   []string `json:"fleets"`
	Hosts    int      `json:"hosts"`
	Machines int      `json:"machines"`
}

// BrakeItem is the brake under which a fleet stands.
type BrakeItem struct {
	Fleet string `json:"fleet"`
	Brake
}

// WhoAmI is the caller as hale knows it.
type WhoAmI struct {
	Kind   string  `json:"kind" doc:"By what: socket, token, openid or certificate."`
	Name   string  `json:"name"`
	ID     string  `json:"id,omitempty"`
	Grants []Grant `json:"grants"`
}

// Grant is a role in some fleets.
type Grant struct {
	Role   string   `json:"role" enum:"viewer,operator,admin"`
	Fleets []string `json:"fleets,omitempty" doc:"Absent: all, and what belongs to no fleet."`
}

// MachinesQuery says which machines are wanted. What is empty does not narrow it.
type MachinesQuery struct {
	Page
	Fleet      string
	Verdict    string
	Host       string
	Text       string // in its name, alias, instance, address, host or incident
	NeedPerson bool
}

// Fleets returns a page of the fleets, by name.
func (c *Client) Fleets(ctx context.Context, p Page) (List[FleetSummary], error) {
	return listOf[FleetSummary](ctx, c, "/v1/fleets", p.values())
}

// Fleet returns one fleet, without its machines.
func (c *Client) Fleet(ctx context.Context, name string) (Fleet, error) {
	return get[Fleet](ctx, c, "/v1/fleets/"+url.PathEscape(name))
}

// Machines returns a page of the machines, fleet by fleet.
func (c *Client) Machines(ctx context.Context, q MachinesQuery) (List[Machine], error) {
	v := q.values()
	set(v, "fleet", q.Fleet)
	set(v, "verdict", q.Verdict)
	set(v, "host", q.Host)
	set(v, "q", q.Text)
	if q.NeedPerson {
		v.Set("need_person", "true")
	}
	return listOf[Machine](ctx, c, "/v1/machines", v)
}

// Machine returns one machine.
func (c *Client) Machine(ctx context.Context, name string) (Machine, error) {
	return get[Machine](ctx, c, "/v1/machines/"+url.PathEscape(name))
}

// Instances returns a page of the instances; of one fleet where it is named.
func (c *Client) Instances(ctx context.Context, fleet string, p Page) (List[Instance], error) {
	v := p.values()
	set(v, "fleet", fleet)
	return listOf[Instance](ctx, c, "/v1/instances", v)
}

// WorkQuery says which incidents, or repairs, are wanted.
type WorkQuery struct {
	Page
	Fleet string
	Open  bool // only those that are open, or under way
}

func (q WorkQuery) values() url.Values {
	v := q.Page.values()
	set(v, "fleet", q.Fleet)
	if q.Open {
		v.Set("open", "true")
	}
	return v
}

// Incidents returns a page of the incidents, newest first.
func (c *Client) Incidents(ctx context.Context, q WorkQuery) (List[IncidentItem], error) {
	return listOf[IncidentItem](ctx, c, "/v1/incidents", q.values())
}

// Incident returns one incident, and what happened.
func (c *Client) Incident(ctx context.Context, id string) (IncidentStory, error) {
	return get[IncidentStory](ctx, c, "/v1/incidents/"+url.PathEscape(id))
}

// Repairs returns a page of the repairs, newest first.
func (c *Client) Repairs(ctx context.Context, q WorkQuery) (List[RepairItem], error) {
	return listOf[RepairItem](ctx, c, "/v1/repairs", q.values())
}

// Hosts returns a page of the hosts.
func (c *Client) Hosts(ctx context.Context, p Page) (List[HostItem], error) {
	return listOf[HostItem](ctx, c, "/v1/hosts", p.values())
}

// Providers returns a page of the providers.
func (c *Client) Providers(ctx context.Context, p Page) (List[ProviderItem], error) {
	return listOf[ProviderItem](ctx, c, "/v1/providers", p.values())
}

// Brakes returns a page of the brakes, fleet by fleet.
func (c *Client) Brakes(ctx context.Context, p Page) (List[BrakeItem], error) {
	return listOf[BrakeItem](ctx, c, "/v1/brakes", p.values())
}

// WhoAmI returns the caller as the controller knows it.
func (c *Client) WhoAmI(ctx context.Context) (WhoAmI, error) {
	return get[WhoAmI](ctx, c, "/v1/whoami")
}

func listOf[T any](ctx context.Context, c *Client, path string, v url.Values) (List[T], error) {
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	return get[List[T]](ctx, c, path)
}

// All yields the items of all pages: the function returns the page that it is asked for. After an error it yields
// nothing more.
func All[T any](page func(Page) (List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := Page{Limit: LongestPage}
		for {
			l, err := page(p)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range l.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.After = l.Next; p.After == "" {
				return
			}
		}
	}
}

// LongestPage is how many items a page has at most.
const LongestPage = 1000
