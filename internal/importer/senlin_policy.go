package importer

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// What Senlin takes where nothing is written.
const (
	senlinInterval      = 60
	senlinRetryLimit    = 3
	senlinRetryInterval = 3
	senlinDeleteTimeout = 20
)

// detection returns the time between two listings, the checks, and when a machine is unhealthy.
func (s *senlin) detection() (poll string, checks yaml.MapSlice, condition any) {
	d := s.policy.get("properties", "detection")
	interval, modes := d.get("interval"), d.get("detection_modes").list()
	if len(modes) == 0 && d.has("type") { // version 1.0
		modes = []*value{d}
		if interval == nil {
			interval = d.get("options", "interval")
		}
	}
	every := max(s.number(interval, senlinInterval), 1)
	if every > 3600 {
		s.note(Differs, interval, "the servers are listed once an hour at least")
		every = 3600
	}
	terms := []string{}
	for _, mode := range modes {
		mode.read = true
		switch kind := mode.get("type"); kind.str() {
		case "NODE_STATUS_POLLING":
			terms = append(terms, "provider")
		case "LIFECYCLE_EVENTS":
			terms = append(terms, "provider")
			s.note(Differs, kind, "LIFECYCLE_EVENTS: hale lists the servers every poll in any case, and an event only "+
				"makes it look earlier")
		case "HYPERVISOR_STATUS_POLLING":
			terms = append(terms, "provider")
			s.note(Lost, kind, "HYPERVISOR_STATUS_POLLING: name the hypervisors in providers.cloud.hosts, with "+
				"credentials that may see them; without that, a host that is down is seen by what becomes of "+
				"its servers")
		case "NODE_STATUS_POLL_URL":
			name := fmt.Sprintf("url%s", strings.Repeat("-again", len(checks)))
			checks = append(checks, yaml.MapItem{Key: name, Value: s.urlCheck(mode.get("options"))})
			terms = append(terms, name)
		default:
			s.note(Lost, kind, "the detection mode %s", kind.str())
		}
	}
	conditional := d.get("recovery_conditional").str()
	if len(checks) > 0 && len(terms) > 1 {
		word := "any"
		if conditional == "ALL_FAILED" {
			word = "all"
		}
		condition = mapOf(word, terms)
	}
	if len(checks) > 0 && len(terms) == len(checks) {
		s.note(Differs, d, "what the cloud itself says of a server (off, gone, error) counts, too: Senlin was told "+
			"to look at the page alone")
	}
	return seconds(every), checks, condition
}

// urlCheck makes an http check of a poll URL.
func (s *senlin) urlCheck(o *value) yaml.MapSlice {
	http := s.target(o.get("poll_url"))
	if v := o.get("poll_url_ssl_verify"); v != nil && !v.isTrue() {
		http = append(http, yaml.MapItem{Key: "insecure", Value: true})
	}
	if v := o.get("poll_url_conn_error_as_unhealthy"); v != nil && !v.isTrue() {
		http = append(http, yaml.MapItem{Key: "no_connection", Value: "ignore"})
	}
	if v := o.get("poll_url_healthy_response"); v.str() != "" {
		if _, err := regexp.Compile(v.str()); err != nil {
			s.note(Lost, v,
				"%s: hale's regular expressions are RE2, which cannot read this one: the text is taken as it stands",
				v.path)
			http = append(http, yaml.MapItem{Key: "body", Value: regexp.QuoteMeta(v.str())})
		} else {
			http = append(http, yaml.MapItem{Key: "body", Value: v.str()})
		}
	}
	every := max(s.number(o.get("poll_url_retry_interval"), senlinRetryInterval), 1)
	limit := max(s.number(o.get("poll_url_retry_limit"), senlinRetryLimit), 1)
	s.note(Differs, o,
		"the page is asked for every poll_url_retry_interval (%ds), and down after poll_url_retry_limit (%d) "+
			"failures in a row; Senlin asked so only once it had failed",
		every, limit)
	return mapOf("http", http, "every", seconds(every), "down_after", limit)
}

// target reads a poll URL, with Senlin's placeholders in it.
func (s *senlin) target(v *value) yaml.MapSlice {
	text := v.str()
	plain := strings.NewReplacer("{nodename}", "node.invalid", "{", "", "}", "").Replace(text)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		s.note(Missing, v, "poll_url is no plain web address: fill in port and path")
		return yaml.MapSlice{}
	}
	if strings.Contains(strings.ReplaceAll(text, "{nodename}", ""), "{") {
		s.note(Lost, v, "%s: of Senlin's placeholders only {nodename} means something to hale", v.path)
	}
	s.note(Differs, v,
		"hale asks each machine at the address that the cloud names; the host in the URL is not looked up")
	out := yaml.MapSlice{}
	if u.Scheme == "https" {
		out = append(out, yaml.MapItem{Key: "scheme", Value: "https"})
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		out = append(out, yaml.MapItem{Key: "port", Value: port})
	}
	if path := u.RequestURI(); path != "/" {
		out = append(out, yaml.MapItem{Key: "path", Value: path})
	}
	return out
}

// recovery returns the ladder and the fence.
func (s *senlin) recovery() (steps []yaml.MapSlice, fence yaml.MapSlice) {
	r := s.policy.get("properties", "recovery")
	may := s.profile != nil
	steps = []yaml.MapSlice{{{Key: "start", Value: yaml.MapSlice{}}}}
	s.note(Differs, r, "a server that is off is started first: Senlin rebooted, rebuilt or recreated it at once")
	timeout, force := r.get("node_delete_timeout"), r.get("node_force_recreate")
	for i, action := range r.get("actions").list() {
		name := action.get("name")
		if i > 0 {
			s.note(Differs, action,
				"Senlin carried out the first action only; hale tries the next one when the machine is not healthy "+
					"after it")
		}
		step := strings.ToLower(name.str())
		switch {
		case step == "reboot":
			mode := strings.ToLower(action.get("params", "type").str())
			if mode != "soft" {
				mode = "hard"
			}
			steps = append(steps, mapOf("reboot", mapOf("mode", mode)))
		case (step == "rebuild" || step == "recreate") && !may:
			s.note(Missing, name, "%s: it needs a template, and adopt: {replaceable: true}", name.str())
		case step == "rebuild":
			steps = append(steps, mapOf("rebuild", yaml.MapSlice{}))
		case step == "recreate":
			steps = append(steps, mapOf("recreate", s.recreate(timeout, force)))
		default:
			s.note(Lost, name, "the action %s: use a run step with a program of your own", name.str())
		}
	}
	for _, word := range r.get("fencing").list() {
		if strings.EqualFold(word.text, "compute") {
			word.read = true
			fence = mapOf("proof", "confirmed-off")
		}
	}
	if len(steps) == 1 {
		steps = append(steps, mapOf("page", yaml.MapSlice{}))
	}
	return steps, fence
}

func (s *senlin) recreate(timeout, force *value) yaml.MapSlice {
	limit := s.number(timeout, senlinDeleteTimeout)
	if timeout != nil && limit > 0 {
		s.note(Differs, timeout, "the limit of a delete is the limit of each call of the step, at least two minutes")
	}
	if force.isTrue() {
		s.note(Differs, force,
			"node_force_recreate: hale goes on when the old server cannot be deleted, and only with the proof that "+
				"it is off")
		return mapOf("timeout", seconds(max(limit, 120)), "on_delete_failure", "continue")
	}
	return mapOf("timeout", seconds(max(limit, 120)))
}

func seconds(n int) string {
	if n >= 60 && n%60 == 0 {
		return strconv.Itoa(n/60) + "m"
	}
	return strconv.Itoa(n) + "s"
}
