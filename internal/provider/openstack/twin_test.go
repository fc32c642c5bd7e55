package openstack_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// twin is a cloud in memory: Keystone, Nova, Neutron and Glance as far as the adapter speaks to them, with their
// answers in the form and with the hesitation of the real ones. It is an http.RoundTripper, so that it works in a
// bubble.
type twin struct {
	mux *http.ServeMux

	mu             sync.Mutex
	project        string
	logins         int
	tokens         map[string]bool // those that are good
	lists          map[string]int  // by what was asked for
	servers        map[string]*twinServer
	ports          map[string]*twinPort
	hosts          map[string]*twinHost // shown to an administrator
	copies         map[string]*twinCopy // Glance's images of servers' disks
	addrs          map[string]*twinFloating
	groupTags      []string // of the project's default security group
	allotted       int      // addresses, ever
	mostAddrs      int      // the project's quota
	noRouter       bool     // between the networks
	fullStore      bool     // of Glance
	admin          bool
	hidesAddresses bool // of hypervisors, from administrators, too
	owner          bool // whether the network is the project's own
	pageSize       int
	boot           time.Duration
	shutdown       time.Duration // of a server that runs; 0: a second
	rescued        string        // the status in which a rescue ends; empty: RESCUE
	softly         bool          // what is deleted is only set aside
	driver         string        // of the hypervisors; empty: libvirt
	oldest         string        // microversion, and the newest
	newest         string
	trouble        func(*http.Request) effect
	twinStorage
}

// twinFlavors are by their ids.
var twinFlavors = map[string]struct {
	name         string
	cpus, memory int
}{"42": {"m1.nano", 1, 128}, "84": {"m1.micro", 2, 192}}

// effect is what becomes of a request.
type effect struct {
	hang   bool            // no answer, and nothing happens
	unsaid bool            // it happens, and there is no answer
	then   func()          // once it has happened
	wait   <-chan struct{} // it happens when this is closed
	late   bool            // it happens after two seconds
	err    error           // it does not leave
	status int             // this answer instead
	body   string          // with this body
	header string          // and a Retry-After
}

type twinServer struct {
	ID, Name, Status, Task string
	taken                  string // the port that Nova takes from it now
	Metadata               map[string]string
	Tags                   []string
	Port                   string
	Host                   string
	Power                  int
	Launched               bool
	Created, Updated       time.Time
	DeletedAt              time.Time
	then                   func() // what a change under way ends in
	at                     time.Time
	actions                []map[string]any
	evacuated, migrated    int
	moving                 bool // a migration is under way
	boots                  int  // from the disk that it has
	volume                 bool // its disk is one
	flavor, was            string
	scratch                int // GiB of an ephemeral disk
}

type twinPort struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Network     string   `json:"network_id"`
	MAC         string   `json:"mac_address"`
	Description string   `json:"description"`
	Device      string   `json:"device_id"`
	Groups      []string `json:"security_groups"`
	Revision    int      `json:"revision_number"`
	Created     string   `json:"created_at"`
	Updated     string   `json:"updated_at"`
	n           int
}

const (
	twinNetwork = "6e9d7a3c-0000-4000-8000-000000000001"
	twinImage   = "6e9d7a3c-0000-4000-8000-000000000002"
	twinClouds  = "clouds:\n  twin:\n    auth: {auth_url: \"http://twin/identity/v3\", username: u, password: " +
		"secret-word, project_name: p, user_domain_name: Default, project_domain_name: Default}\n    region_name: R\n"
)

func newTwin() *twin {
	w := &twin{
		mux:       http.NewServeMux(),
		project:   "0123456789abcdef0123456789abcdef",
		lists:     map[string]int{},
		tokens:    map[string]bool{},
		servers:   map[string]*twinServer{},
		ports:     map[string]*twinPort{},
		copies:    map[string]*twinCopy{},
		addrs:     map[string]*twinFloating{},
		mostAddrs: 50,
		owner:     true,
		pageSize:  1000,
		boot:      2 * time.Second,
		oldest:    "2.1",
		newest:    "2.93",
		admin:     true,
		hosts:     map[string]*twinHost{"compute1": {}, "compute2": {}, "compute3": {}},
	}
	w.handle("GET /compute/v2.1/os-services", w.listHosts)
	w.handle("GET /compute/v2.1/os-hypervisors/detail", w.listHostAddresses)
	w.handle("GET /compute/v2.1/os-migrations", w.listMigrations)
	w.handle("POST /identity/v3/auth/tokens", w.login)
	w.handle("GET /identity/v3/auth/tokens", w.aboutToken)
	w.handle("GET /compute/v2.1/{$}", func(http.ResponseWriter, *http.Request) (int, any) {
		return 200, map[string]any{"version": map[string]any{
			"id":          "v2.1",
			"status":      "CURRENT",
			"version":     w.newest,
			"min_version": w.oldest,
		}}
	})
	for service, version := range map[string]string{"image": "v2.15", "network": "v2.0"} {
		w.handle("GET /"+service+"/{$}", func(http.ResponseWriter, *http.Request) (int, any) {
			return 200, map[string]any{"versions": []any{map[string]any{"id": version, "status": "CURRENT"}}}
		})
	}
	w.serveImages()
	w.serveFloating()
	w.serveFlavors()
	w.handle("GET /network/v2.0/networks", func(http.ResponseWriter, *http.Request) (int, any) {
		return 200, map[string]any{"networks": []any{
			map[string]any{"id": twinNetwork, "name": "private"},
			map[string]any{"id": twinExternal, "name": "public"},
		}}
	})
	w.storage(w.handle)
	w.swap()
	w.groups()
	w.single()
	w.handle("GET /network/v2.0/ports", w.listPorts)
	w.handle("POST /network/v2.0/ports", w.makePort)
	w.handle("PUT /network/v2.0/ports/{id}", w.changePort)
	w.handle("DELETE /network/v2.0/ports/{id}", w.deletePort)
	w.handle("GET /compute/v2.1/servers/detail", w.listServers)
	w.handle("POST /compute/v2.1/servers", w.makeServer)
	w.handle("GET /compute/v2.1/servers/{id}", w.withServer(func(s *twinServer, _ map[string]any) (int, any) {
		return 200, map[string]any{"server": w.render(s)}
	}))
	w.handle("DELETE /compute/v2.1/servers/{id}", w.withServer(w.deleteServer))
	w.handle("PUT /compute/v2.1/servers/{id}", w.withServer(func(s *twinServer, body map[string]any) (int, any) {
		change, _ := body["server"].(map[string]any)
		s.Name, _ = change["name"].(string)
		return 200, map[string]any{"server": w.render(s)}
	}))
	w.handle("GET /compute/v2.1/servers/{id}/os-instance-actions",
		w.withServer(func(s *twinServer, _ map[string]any) (int, any) {
			return 200, map[string]any{"instanceActions": s.actions}
		}))
	w.handle("POST /compute/v2.1/servers/{id}/metadata",
		w.withServer(func(s *twinServer, body map[string]any) (int, any) {
			for k, v := range body["metadata"].(map[string]any) {
				s.Metadata[k] = v.(string)
			}
			return 200, map[string]any{"metadata": s.Metadata}
		}))
	w.handle("POST /compute/v2.1/servers/{id}/action", w.withServer(w.act))
	w.diagnoses()
	w.serveInterfaces()
	return w
}

// serveFlavors lists the flavors, and changes which words servers are tagged with.
func (w *twin) serveFlavors() {
	w.handle("GET /compute/v2.1/flavors", func(http.ResponseWriter, *http.Request) (int, any) {
		all := []any{}
		for _, id := range slices.Sorted(maps.Keys(twinFlavors)) {
			all = append(all, map[string]any{"id": id, "name": twinFlavors[id].name})
		}
		return 200, map[string]any{"flavors": all}
	})
	w.handle("GET /compute/v2.1/flavors/{id}", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		f, there := twinFlavors[q.PathValue("id")]
		if !there {
			return 404, mistake("itemNotFound", 404, "Flavor "+q.PathValue("id")+" could not be found.")
		}
		return 200, map[string]any{"flavor": map[string]any{"id": q.PathValue("id"), "name": f.name, "vcpus": f.cpus,
			"ram": f.memory, "OS-FLV-EXT-DATA:ephemeral": 0}}
	})
	w.handle("PUT /compute/v2.1/servers/{id}/tags/{tag}", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		s := w.servers[q.PathValue("id")]
		if s == nil {
			return 404, mistake("itemNotFound", 404, "Instance "+q.PathValue("id")+" could not be found.")
		}
		s.Tags, s.Updated = append(s.Tags, q.PathValue("tag")), time.Now()
		return 201, nil
	})
}

// serveInterfaces has servers that are there get ports, and lose them.
func (w *twin) serveInterfaces() {
	w.handle("POST /compute/v2.1/servers/{id}/os-interface", w.withServer(w.giveInterface))
	w.handle("DELETE /compute/v2.1/servers/{id}/os-interface/{port}",
		func(_ http.ResponseWriter, q *http.Request) (int, any) {
			s, p := w.servers[q.PathValue("id")], w.ports[q.PathValue("port")]
			if s == nil || p == nil || p.Device != s.ID {
				return 404, mistake("itemNotFound", 404, "Port id "+q.PathValue("port")+" could not be found.")
			}
			if s.taken == p.ID {
				return 202, nil // Nova does one thing after another with a server, and finds no port then
			}
			s.taken = p.ID
			time.AfterFunc(time.Second, func() {
				w.look(func() {
					s.Port, s.Updated, s.taken = "", time.Now(), ""
					w.touch(p, func() { p.Device = "" })
				})
			})
			return 202, nil
		})
}

// handle answers with a status and a body; every body of a mistake is in the service's own form.
func (w *twin) handle(pattern string, do func(http.ResponseWriter, *http.Request) (int, any)) {
	w.mux.HandleFunc(pattern, func(rw http.ResponseWriter, q *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !strings.Contains(pattern, "POST /identity") && !w.tokens[q.Header.Get("X-Auth-Token")] {
			write(rw, 401, mistake("error", 401, "The request you have made requires authentication."))
			return
		}
		w.progress()
		status, body := do(rw, q)
		write(rw, status, body)
	})
}

func write(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	rw.WriteHeader(status)
	if body != nil {
		json.NewEncoder(rw).Encode(body)
	}
}

func mistake(key string, code int, message string) any {
	return map[string]any{key: map[string]any{"code": code, "message": message}}
}

func neutron(kind, message string) any {
	return map[string]any{"NeutronError": map[string]any{"type": kind, "message": message, "detail": ""}}
}

// RoundTrip implements http.RoundTripper.
func (w *twin) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	var e effect
	w.mu.Lock()
	if w.trouble != nil {
		e = w.trouble(q)
	}
	w.mu.Unlock()
	switch {
	case e.err != nil:
		return nil, e.err
	case e.hang:
		sent(q)
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	sent(q)
	rec := httptest.NewRecorder()
	if e.status != 0 {
		if e.header != "" {
			rec.Header().Set("Retry-After", e.header)
		}
		rec.WriteHeader(e.status)
		rec.WriteString(e.body)
		return rec.Result(), nil
	}
	if e.wait != nil {
		<-e.wait
	}
	if e.late {
		<-time.After(2 * time.Second)
	}
	w.mux.ServeHTTP(rec, q)
	if e.then != nil {
		e.then()
	}
	if e.unsaid {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	resp := rec.Result()
	resp.Request = q
	return resp, nil
}

// sent tells the caller that the request left, as a real transport does.
func sent(q *http.Request) {
	if trace := httptrace.ContextClientTrace(q.Context()); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
}

func (w *twin) login(rw http.ResponseWriter, q *http.Request) (int, any) {
	var body struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct {
						Password string `json:"password"`
					} `json:"user"`
				} `json:"password"`
			} `json:"identity"`
		} `json:"auth"`
	}
	json.NewDecoder(q.Body).Decode(&body)
	if body.Auth.Identity.Password.User.Password != "secret-word" {
		return 401, mistake("error", 401, "The request you have made requires authentication.")
	}
	w.logins++
	token := fmt.Sprint("t", w.logins)
	w.tokens[token] = true
	rw.Header().Set("X-Subject-Token", token)
	var catalog []any
	for kind, url := range map[string]string{
		"compute":  "http://twin/compute/v2.1",
		"network":  "http://twin/network",
		"image":    "http://twin/image",
		"volumev3": "http://twin/volume/v3/" + w.project,
	} {
		if kind == "volumev3" && w.noStorage {
			continue
		}
		catalog = append(catalog, map[string]any{
			"type": kind,
			"name": kind,
			"id":   kind,
			"endpoints": []any{
				map[string]any{"interface": "public", "region": "R", "region_id": "R", "url": url, "id": kind},
			},
		})
	}
	return 201, map[string]any{"token": map[string]any{
		"expires_at": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"),
		"project":    map[string]any{"id": w.project, "name": "p"},
		"catalog":    catalog,
	}}
}

func (w *twin) aboutToken(http.ResponseWriter, *http.Request) (int, any) {
	return 200, map[string]any{"token": map[string]any{"project": map[string]any{"id": w.project}}}
}

// progress lets happen what is due.
func (w *twin) progress() {
	for _, s := range w.servers {
		for s.then != nil && !time.Now().Before(s.at) {
			then := s.then
			s.then, s.Task = nil, ""
			then()
			s.Updated = time.Now()
		}
	}
}

// later begins a change of the server.
func (s *twinServer) later(d time.Duration, task string, then func()) {
	s.Task, s.at, s.then, s.Updated = task, time.Now().Add(d), then, time.Now()
}

func (s *twinServer) record(action, user string) {
	entry := map[string]any{"action": action, "user_id": nil}
	if user != "" {
		entry["user_id"] = user
	}
	s.actions = append([]map[string]any{entry}, s.actions...)
}

func (w *twin) render(s *twinServer) map[string]any {
	out := map[string]any{
		"id":                                   s.ID,
		"name":                                 s.Name,
		"status":                               s.Status,
		"tenant_id":                            w.project,
		"updated":                              s.Updated.UTC().Format(time.RFC3339),
		"metadata":                             s.Metadata,
		"image":                                w.imageOf(s),
		"os-extended-volumes:volumes_attached": w.volumesOf(s),
		"flavor": map[string]any{"ephemeral": s.scratch, "original_name": twinFlavors[s.flavor].name,
			"vcpus": twinFlavors[s.flavor].cpus, "ram": twinFlavors[s.flavor].memory},
		"OS-EXT-STS:power_state": s.Power,
		"addresses":              map[string]any{},
		"tags":                   s.Tags,
		"OS-EXT-STS:task_state":  nil,
		"OS-SRV-USG:launched_at": nil,
	}
	if s.Task != "" {
		out["OS-EXT-STS:task_state"] = s.Task
	}
	if s.volume {
		out["image"] = ""
	}
	if s.Launched {
		out["OS-SRV-USG:launched_at"] = "2026-01-01T00:00:00.000000"
	}
	if w.admin {
		out["OS-EXT-SRV-ATTR:host"], out["host_status"] = s.Host, w.hostStatus(s.Host)
	}
	if p := w.ports[s.Port]; p != nil && p.Device == s.ID {
		out["addresses"] = map[string]any{"private": w.addressesOf(p)}
	}
	return out
}

func (w *twin) listServers(_ http.ResponseWriter, q *http.Request) (int, any) {
	v := q.URL.Query()
	since, changes := time.Time{}, v.Get("changes-since")
	switch {
	case changes != "":
		w.lists["changes"]++
		since, _ = time.Parse(time.RFC3339, changes)
	case v.Get("name") == "" && v.Get("tags") == "":
		w.lists["full"]++
	}
	name := regexp.MustCompile(v.Get("name"))
	var found []*twinServer
	for _, s := range w.servers {
		if s.Status == "DELETED" && changes == "" || s.Status == "SOFT_DELETED" && changes == "" ||
			s.Updated.Truncate(time.Second).Before(since) ||
			!name.MatchString(s.Name) || v.Get("tags") != "" && !slices.Contains(s.Tags, v.Get("tags")) {
			continue
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *twinServer) int { return strings.Compare(a.ID, b.ID) })
	if i := slices.IndexFunc(found, func(s *twinServer) bool { return s.ID == v.Get("marker") }); i >= 0 {
		found = found[i+1:]
	}
	page := []any{}
	for _, s := range found[:min(len(found), w.pageSize)] {
		page = append(page, w.render(s))
	}
	out := map[string]any{"servers": page}
	if len(found) > w.pageSize {
		out["servers_links"] = []any{map[string]any{"rel": "next", "href": "http://twin/elsewhere"}}
	}
	return 200, out
}

func (w *twin) makeServer(_ http.ResponseWriter, q *http.Request) (int, any) {
	var body struct {
		Server struct {
			Name     string              `json:"name"`
			Flavor   string              `json:"flavorRef"`
			Metadata map[string]string   `json:"metadata"`
			Tags     []string            `json:"tags"`
			Networks []map[string]string `json:"networks"`
			Disks    []twinMapping       `json:"block_device_mapping_v2"`
		} `json:"server"`
	}
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		return 400, mistake("badRequest", 400, err.Error())
	}
	in := body.Server
	id := w.plant(in.Name, in.Metadata, in.Tags, "")
	w.servers[id].flavor = in.Flavor
	if len(in.Networks) > 0 && in.Networks[0]["port"] != "" {
		p := w.ports[in.Networks[0]["port"]]
		switch {
		case p == nil:
			delete(w.servers, id)
			return 400, mistake("badRequest", 400, "Port "+in.Networks[0]["port"]+" could not be found.")
		case p.Device != "":
			delete(w.servers, id)
			return 409, mistake("conflictingRequest", 409, "Port "+p.ID+" is still in use.")
		}
		w.servers[id].Port = p.ID
	}
	if status, body := w.attach(id, in.Disks); body != nil {
		delete(w.servers, id)
		return status, body
	}
	return 202, map[string]any{"server": map[string]any{"id": id}}
}

// plant makes a server that is being built.
func (w *twin) plant(name string, metadata map[string]string, tags []string, status string) string {
	if metadata == nil {
		metadata = map[string]string{}
	}
	s := &twinServer{
		ID:       uuid.NewString(),
		Name:     name,
		Status:   "BUILD",
		Metadata: metadata,
		Tags:     tags,
		Created:  time.Now(),
		flavor:   "42",
	}
	w.servers[s.ID] = s
	s.record("create", "u")
	s.later(w.boot, "spawning", func() {
		s.Host = w.schedule("")
		s.Status, s.Power, s.Launched, s.boots = "ACTIVE", 1, true, 1
		if status != "" {
			s.Status, s.Launched, s.Power = status, false, 0
			return
		}
		if s.Port == "" {
			s.Port = w.addPort(&twinPort{Network: twinNetwork}).ID
		}
		p := w.ports[s.Port]
		if p == nil || p.Device != "" { // another was faster
			s.Status, s.Launched, s.Power, s.Port = "ERROR", false, 0, ""
			return
		}
		w.touch(p, func() { p.Device = s.ID })
	})
	return s.ID
}

func (w *twin) withServer(
	do func(*twinServer, map[string]any) (int, any),
) func(http.ResponseWriter, *http.Request) (int, any) {
	return func(_ http.ResponseWriter, q *http.Request) (int, any) {
		s := w.servers[q.PathValue("id")]
		if s == nil || s.Status == "DELETED" {
			return 404, mistake("itemNotFound", 404, "Instance "+q.PathValue("id")+" could not be found.")
		}
		body := map[string]any{}
		if q.Body != nil {
			json.NewDecoder(q.Body).Decode(&body)
		}
		return do(s, body)
	}
}

func (w *twin) deleteServer(s *twinServer, _ map[string]any) (int, any) {
	if w.softly && s.Status != "SOFT_DELETED" {
		s.later(time.Second, "soft-deleting", func() { s.Status = "SOFT_DELETED" })
		return 204, nil
	}
	s.later(time.Second, "deleting", func() {
		s.Status, s.DeletedAt, s.Tags = "DELETED", time.Now(), nil
		w.detach(s.ID)
		if p := w.ports[s.Port]; p != nil {
			w.touch(p, func() { p.Device = "" })
		}
	})
	return 204, nil
}

func (w *twin) act(s *twinServer, body map[string]any) (int, any) {
	refuse := func(action string) (int, any) {
		return 409, mistake("conflictingRequest", 409,
			fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", action, s.ID, s.Status))
	}
	for action, how := range body {
		kind, _ := how.(map[string]any)
		from := map[string][]string{
			"os-stop":             {"ACTIVE", "ERROR"},
			"os-start":            {"SHUTOFF"},
			"unpause":             {"PAUSED"},
			"resume":              {"SUSPENDED"},
			"rebuild":             {"ACTIVE", "SHUTOFF", "ERROR"},
			"reboot":              {"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "ERROR", "HARD_REBOOT"},
			"os-getConsoleOutput": {"ACTIVE", "SHUTOFF"},
			"forceDelete":         {"SOFT_DELETED"},
			"restore":             {"SOFT_DELETED"},
			"evacuate":            {"ACTIVE", "SHUTOFF", "ERROR", "PAUSED"},
			"os-migrateLive":      {"ACTIVE", "PAUSED"},
			"rescue":              {"ACTIVE", "SHUTOFF", "ERROR"},
			"unrescue":            {"RESCUE"},
			"resize":              {"ACTIVE", "SHUTOFF"},
			"confirmResize":       {"VERIFY_RESIZE"},
			"createImage":         {"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"},
		}[action]
		if !slices.Contains(from, s.Status) || s.Task != "" && action != "reboot" && action != "os-getConsoleOutput" {
			return refuse(action)
		}
		was := s.Status
		switch action {
		case "os-getConsoleOutput":
			return 200, map[string]any{"output": "FAKE CONSOLE OUTPUT\nANOTHER\nLAST LINE"}
		case "forceDelete":
			w.deleteServer(s, nil)
		case "rescue", "unrescue", "resize", "confirmResize":
			return w.alter(s, action, kind)
		case "createImage":
			return w.createImage(s, kind)
		case "evacuate":
			return w.evacuate(s)
		case "os-migrateLive":
			return w.migrate(s, kind)
		case "os-stop":
			s.record("stop", "u")
			s.later(cmp.Or(w.shutdown, time.Second), "powering-off", func() { s.Status, s.Power = "SHUTOFF", 4 })
		case "os-start", "unpause", "resume", "restore":
			s.record(strings.TrimPrefix(action, "os-"), "u")
			s.later(time.Second, "powering-on", func() {
				if s.Status == "SHUTOFF" {
					s.boots++
				}
				s.Status, s.Power = "ACTIVE", 1
			})
		case "reboot":
			if kind["type"] == "SOFT" && was != "ACTIVE" {
				return refuse(action)
			}
			s.record("reboot", "u")
			s.Status = "HARD_REBOOT"
			s.later(time.Second, "reboot_started_hard", func() { s.Status, s.Power, s.boots = "ACTIVE", 1, s.boots+1 })
		case "rebuild":
			return w.rebuild(s, was, kind["imageRef"])
		}
		return 202, nil
	}
	return 400, mistake("badRequest", 400, "There is no such action")
}

// rebuild puts the image on the server's disk.
func (w *twin) rebuild(s *twinServer, was string, image any) (int, any) {
	boots, there := w.bootsOf(image)
	if !there {
		return 400, mistake("badRequest", 400, "Cannot find image for rebuild")
	}
	s.record("rebuild", "u")
	s.Status = "REBUILD"
	s.later(w.boot, "rebuild_spawning", func() {
		s.Status = "ACTIVE" // for a moment, also when it was off; the guest does not come far
		s.boots = boots
		if was == "ACTIVE" {
			s.boots++
		}
		due := s.at
		s.later(time.Second, "", func() { s.Status = was })
		s.at = due.Add(time.Second)
	})
	return 202, nil
}

// giveInterface binds a port that is there to the server.
func (w *twin) giveInterface(s *twinServer, body map[string]any) (int, any) {
	wanted, _ := body["interfaceAttachment"].(map[string]any)
	id, _ := wanted["port_id"].(string)
	switch p := w.ports[id]; {
	case p == nil:
		return 400, mistake("badRequest", 400, "Port "+id+" could not be found.")
	case p.Device != "":
		return 409, mistake("conflictingRequest", 409, "Port "+id+" is still in use.")
	default:
		s.Port, s.Updated = id, time.Now()
		w.touch(p, func() { p.Device = s.ID })
		return 200, map[string]any{"interfaceAttachment": map[string]any{"port_id": id}}
	}
}

// resize gives the server another flavor, on another hypervisor, or lets go of what it was before. It stays off.
func (w *twin) resize(s *twinServer, action string, how map[string]any) (int, any) {
	s.record(action, "u")
	if action == "confirmResize" {
		s.later(time.Second, "", func() { s.Status = s.was })
		return 204, nil // Nova answers this action so, and no other
	}
	id, _ := how["flavorRef"].(string)
	if _, there := twinFlavors[id]; !there || id == s.flavor {
		return 400, mistake("badRequest", 400, "When resizing, instances must change flavor!")
	}
	s.was, s.Status = s.Status, "RESIZE"
	s.later(time.Second, "resize_migrating", func() {
		s.Status, s.flavor, s.Host = "VERIFY_RESIZE", id, w.schedule(s.Host)
	})
	return 202, nil
}

// alter rescues or resizes the server, or ends that.
func (w *twin) alter(s *twinServer, action string, how map[string]any) (int, any) {
	if action == "resize" || action == "confirmResize" {
		return w.resize(s, action, how)
	}
	return w.rescue(s, action)
}

// rescue has another system run in the server's place, or ends that.
func (w *twin) rescue(s *twinServer, action string) (int, any) {
	s.record(action, "u")
	if action == "unrescue" {
		s.later(time.Second, "unrescuing", func() { s.Status, s.Power, s.boots = "ACTIVE", 1, s.boots+1 })
		return 202, nil
	}
	s.later(time.Second, "rescuing", func() { s.Status, s.Power = cmp.Or(w.rescued, "RESCUE"), 1 })
	return 200, map[string]any{"adminPass": "not-for-hale"}
}

// crash lets the server end by itself; Nova hears of it after a moment, and stops it.
func (w *twin) crash(id string) {
	s := w.servers[id]
	s.Power = 4
	s.record("stop", "")
	s.later(time.Second, "powering-off", func() { s.Status = "SHUTOFF" })
}

func (w *twin) addPort(p *twinPort) *twinPort {
	p.ID, p.Created, p.n = uuid.NewString(), time.Now().UTC().Format(time.RFC3339), len(w.ports)
	if p.MAC == "" {
		p.MAC = fmt.Sprintf("fa:16:3e:ff:%02x:%02x", len(w.ports)/256, len(w.ports)%256)
	}
	w.ports[p.ID] = p
	w.touch(p, func() {})
	return p
}

func (w *twin) touch(p *twinPort, change func()) {
	change()
	p.Revision++
	p.Updated = time.Now().UTC().Format(time.RFC3339)
}

func (w *twin) listPorts(_ http.ResponseWriter, q *http.Request) (int, any) {
	v := q.URL.Query()
	found := []*twinPort{}
	for _, p := range w.ports {
		for key, has := range map[string]string{
			"mac_address": p.MAC,
			"name":        p.Name,
			"network_id":  p.Network,
			"device_id":   p.Device,
			"description": p.Description,
			"id":          p.ID,
		} {
			if v.Has(key) && v.Get(key) != has {
				p = nil
				break
			}
		}
		if p != nil {
			found = append(found, p)
		}
	}
	return 200, map[string]any{"ports": found}
}

func (w *twin) makePort(_ http.ResponseWriter, q *http.Request) (int, any) {
	var body struct {
		Port twinPort `json:"port"`
	}
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		return 400, neutron("HTTPBadRequest", err.Error())
	}
	p := body.Port
	if status, unknown := w.groupsOf(&p); unknown != nil {
		return status, unknown
	}
	if p.MAC != "" {
		if !w.owner {
			return 403, neutron("PolicyNotAuthorized",
				"(rule:create_port and rule:create_port:mac_address) is disallowed by policy")
		}
		for _, other := range w.ports {
			if other.MAC == p.MAC && other.Network == p.Network {
				return 409, neutron("MacAddressInUse", "The mac address is in use.")
			}
		}
	}
	return 201, map[string]any{"port": w.addPort(&p)}
}

func (w *twin) changePort(_ http.ResponseWriter, q *http.Request) (int, any) {
	p := w.ports[q.PathValue("id")]
	if p == nil {
		return 404, neutron("PortNotFound", "no such port")
	}
	if want, ok := strings.CutPrefix(q.Header.Get("If-Match"), "revision_number="); ok &&
		want != strconv.Itoa(p.Revision) {
		return 412, neutron("RevisionNumberConstraintFailed", "Constrained to "+want)
	}
	var body struct {
		Port twinPort `json:"port"`
	}
	body.Port = *p
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		return 400, neutron("HTTPBadRequest", err.Error())
	}
	if status, unknown := w.groupsOf(&body.Port); unknown != nil {
		return status, unknown
	}
	w.touch(p, func() { p.Description, p.Groups = body.Port.Description, body.Port.Groups })
	return 200, map[string]any{"port": p}
}

func (w *twin) deletePort(_ http.ResponseWriter, q *http.Request) (int, any) {
	if w.ports[q.PathValue("id")] == nil {
		return 404, neutron("PortNotFound", "no such port")
	}
	delete(w.ports, q.PathValue("id"))
	w.unbind(q.PathValue("id"))
	return 204, nil
}

// makeTrouble decides what becomes of each request from now on; nil: all is well.
func (w *twin) makeTrouble(what func(*http.Request) effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = what
}

// look lets the test see or change the cloud's inside.
func (w *twin) look(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress()
	do()
}

// living returns the servers that are not deleted.
func (w *twin) living() []*twinServer {
	var out []*twinServer
	w.look(func() {
		for s := range maps.Values(w.servers) {
			if s.Status != "DELETED" {
				out = append(out, s)
			}
		}
	})
	return out
}

var errUnplugged = errors.New("connection refused")
