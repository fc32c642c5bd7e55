package config

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/fleet"
)

func checkShape() object[checkDraft] {
	return object[checkDraft]{
		fields: slices.Concat([]field[checkDraft]{
			may("ping", "One ICMP echo. A check asks in one way: one of "+wayNames+".", object[struct{}]{},
				func(c *checkDraft) *at[struct{}] { return &c.ping }),
			may("tcp", "Connect to a port.", object[tcpDraft]{fields: []field[tcpDraft]{
				must("port", "22", "The port.", integer(1, 65535), func(t *tcpDraft) *at[int] { return &t.port }),
				or("full", false, "Complete the connection, so that the program behind the port gets to see it; otherwise the system behind it answers alone, where that is cheaper.",
					boolean(), func(t *tcpDraft) *at[bool] { return &t.full }),
			}}, func(c *checkDraft) *at[tcpDraft] { return &c.tcp }),
			may("http", "Ask for a page.", httpShape(), func(c *checkDraft) *at[httpDraft] { return &c.http }),
			may("exec", "Run a program on hale's side: a script of your own, or a monitoring plugin. Exit code 0 is a success; 3, and what a shell says "+
				"that cannot run it (126, 127), count neither way; every other one is a failure.", execShape(),
				func(c *checkDraft) *at[execDraft] { return &c.exec }),
			may("agent", "Ask the guest agent (QEMU's) inside the machine, by way of the provider: no network comes into it. An instance that has no "+
				"channel to its agent is unknown, not down.", object[struct{}]{}, func(c *checkDraft) *at[struct{}] { return &c.agent }),
			may("heartbeat", "Ask nobody: the machine reports by itself, at least once in every `every`, and has `timeout` more; see heartbeats. Until its first report it is unknown, for "+
				"as long as would make it down. Here timeout is half of every by default, and 3s at least.", heartbeatShape(), func(c *checkDraft) *at[heartbeatDraft] { return &c.heartbeat }),
		}, serviceFields(), []field[checkDraft]{
			or("every", defaultEvery, "The time from one probe to the next.", duration(100*time.Millisecond, 24*time.Hour),
				func(c *checkDraft) *at[time.Duration] { return &c.every }),
			may("timeout", "When no answer is a failure; shorter than every.", duration(10*time.Millisecond, time.Hour),
				func(c *checkDraft) *at[time.Duration] { return &c.timeout }).
				said(formatDuration(defaultTimeout) + ", or half of every when that is shorter"),
			or("down_after", defaultDownAfter, "So many failures in a row make the check down.", integer(1, 1000),
				func(c *checkDraft) *at[int] { return &c.downAfter }),
			or("up_after", defaultUpAfter, "So many successes in a row make it up again.", integer(1, 1000),
				func(c *checkDraft) *at[int] { return &c.upAfter }),
			may("down", "Instead of down_after: so many failures within so many results make the check down, as `3 in 5`, though they need not follow each "+
				"other. A look before a repair asks as often, too.", shareOfResults(), func(c *checkDraft) *at[share] { return &c.down }),
			may("up", "Instead of up_after: so many successes within so many results make it up again.", shareOfResults(),
				func(c *checkDraft) *at[share] { return &c.up }),
			may("not_every", "Times of the day at which its failures count for nothing, as `\"02:00-04:00\"`, and until it had the time to speak afresh. It is asked all "+
				"the same, and its success counts. What the provider says counts, too.", list[hoursDraft]{noun: "one time", each: hoursShape()},
				func(c *checkDraft) *at[[]at[hoursDraft]] { return &c.notEvery }),
			may("depends_on", "Checks that explain its failures: while one of them fails, or one on which that depends, this one is unknown, and only that "+
				"one speaks.", list[string]{noun: "one check", each: name()}, func(c *checkDraft) *at[[]at[string]] { return &c.dependsOn }),
		}),
		later: map[string]string{
			"from": "take it out; checks run where hale runs", "agree": "take it out; checks run where hale runs",
		},
	}
}

// headerNames are those of RFC 9110.
var headerNames = keyForm{noun: "the name of a header", pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"}

func httpShape() object[httpDraft] {
	return object[httpDraft]{fields: append([]field[httpDraft]{
		may("port", "The port.", integer(1, 65535), func(h *httpDraft) *at[int] { return &h.port }).said("80, with https 443"),
		or("path", defaultHTTPPath, "The path, with the query if there is one.", text("a path", "/healthz"),
			func(h *httpDraft) *at[string] { return &h.path }),
		or("scheme", defaultHTTPScheme, "`https` verifies the certificate.", choice(nil, "http", "https"),
			func(h *httpDraft) *at[string] { return &h.scheme }),
		may("host", "The Host header, and the name in the certificate.", text("a host name", "www.example.org"),
			func(h *httpDraft) *at[string] { return &h.host }).said("the machine's address"),
		or("method", http.MethodGet, "How to ask. Nothing that may change something.", choice(nil, http.MethodGet, http.MethodHead, http.MethodOptions),
			func(h *httpDraft) *at[string] { return &h.method }),
		may("headers", "Further lines of the request's head: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.", mapping[valueDraft]{
			key: "HEADER", names: headerNames, each: valueShape("the header's value", "application/json"),
		}, func(h *httpDraft) *at[[]named[valueDraft]] { return &h.headers }),
		may("status", "The status codes of a good answer: codes, ranges and classes, as `[200, 300-303, 4xx]`. Any other one is a failure.",
			list[fleet.StatusRange]{noun: "one status", each: status()},
			func(h *httpDraft) *at[[]at[fleet.StatusRange]] { return &h.status }).said("[2xx]"),
		may("body", "A regular expression (RE2) that the first 64 KiB of the page must match, else it is a failure. `(?i)` in front: in capitals or not.",
			text("a regular expression", "'\"status\": *\"passing\"'"), func(h *httpDraft) *at[string] { return &h.body }),
		or("redirects", 0, "So many redirects are followed, and only those that lead to the same host by the same port, or from http to https. "+
			"Any other one is a failure, unless status has it.", integer(0, 5), func(h *httpDraft) *at[int] { return &h.redirects }),
		or("no_connection", fleet.NoConnectionFails, "What it means that no connection comes about at all. `fail`: a failure. `ignore`: it counts neither way; "+
			"when nothing else is heard for long, the check is unknown.", choice(nil, fleet.NoConnectionFails, fleet.NoConnectionIgnore),
			func(h *httpDraft) *at[fleet.NoConnection] { return &h.noConnection }),
		or("keep_alive", false, "Ask over a connection that stays open between probes, as far as the machine lets it: a fifth of the cost, but whether anybody new could "+
			"connect is not asked. A connection that ended is no failure: a fresh one is tried first. For pages by plain http of which only the status counts.",
			boolean(), func(h *httpDraft) *at[bool] { return &h.keepAlive }),
	}, tlsFields()...)}
}

func tlsFields() []field[httpDraft] {
	return []field[httpDraft]{
		may("ca", "https only: a file with the certificates, in PEM form, that are trusted instead of the system's: of an authority of your own, or of the server "+
			"itself. Relative paths begin at the folder of this file.", text("a path", "ca.pem"), func(h *httpDraft) *at[string] { return &h.ca }),
		or("certificate_days", 0, "https only: it is a failure when the certificate, or one that it rests on, ends within so many days. No repair brings a new one: "+
			"make it a check of its own that unhealthy_when does not name, and its machines are suspect and not repaired.",
			integer(0, 3650), func(h *httpDraft) *at[int] { return &h.certificateDays }),
		or("insecure", false, "https only: take any certificate. Better is ca with that of the server.", boolean(),
			func(h *httpDraft) *at[bool] { return &h.insecure }),
	}
}

// status is a code, a class or a range of HTTP status codes.
func status() scalar[fleet.StatusRange] {
	return scalar[fleet.StatusRange]{
		noun: "a status", example: "200", forms: []form{formText, formNumber}, parse: parseStatus,
		format: func(r fleet.StatusRange) any { return fmt.Sprintf("%d-%d", r.First, r.Last) },
		json: schema{
			Type: []string{"integer", "string"}, Pattern: `^([2-5]xx|[2-5][0-9]{2}(-[2-5][0-9]{2})?)$`, Minimum: &lowestStatus, Maximum: &highestStatus,
			noun: "status", bounds: span(lowestStatus, highestStatus, strconv.Itoa),
		},
	}
}

var lowestStatus, highestStatus = 200, 599

func parseStatus(text string) (fleet.StatusRange, *flaw) {
	wrong := flawf("write for example 200, 2xx or 200-204", "%q is not a status", text)
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		n, bad := parseInteger(class)
		if bad != nil || n < 2 || n > 5 {
			return fleet.StatusRange{}, wrong
		}
		return fleet.StatusRange{First: n * 100, Last: n*100 + 99}, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	a, bad := parseInteger(strings.TrimSpace(first))
	b, bad2 := parseInteger(strings.TrimSpace(last))
	switch {
	case bad != nil || bad2 != nil || b < a:
		return fleet.StatusRange{}, wrong
	case a < lowestStatus || b > highestStatus:
		return fleet.StatusRange{}, flawf("choose 200 to 599", "%s is out of range", text)
	}
	return fleet.StatusRange{First: a, Last: b}, nil
}

// variableNames are those that every shell can name.
var variableNames = keyForm{noun: "the name of a variable", pattern: "^[A-Za-z_][A-Za-z0-9_]*$"}

// What is said of the programs of checks and of run steps.
var placeholdersSaid = "`" + strings.Join(fleet.Placeholders(), "`, `") + "` are replaced, and `{meta.KEY}` by what the instance bears under the key. "

const envSaid = "Its environment, beside a PATH: a text, in which the same is replaced, or `{file: PATH}` or `{env: NAME}` for what is secret: that is read " +
	"anew each time, and hidden in what the program says."

func execShape() object[execDraft] {
	return object[execDraft]{fields: []field[execDraft]{
		must("command", "[/usr/lib/hale/probe, \"{ip}\"]", "The program and its arguments, without a shell. "+
			placeholdersSaid+"When its time is over, it is killed with everything that it started. "+
			"The first line that it says is kept with the result. Put no secrets here: everybody on the server can read them.",
			list[string]{noun: "the program", each: text("a word of the command", "/usr/lib/hale/probe")},
			func(e *execDraft) *at[[]at[string]] { return &e.command }),
		may("env", envSaid,
			mapping[valueDraft]{
				key: "VARIABLE", names: variableNames, each: valueShape("the variable's value", "production"),
			}, func(e *execDraft) *at[[]named[valueDraft]] { return &e.env }),
		or("warning", fleet.WarningFails, "What exit code 1 means. `fail`: a failure, as with most programs. `ok`: a success, as fits monitoring plugins, for which it "+
			"is a warning.", choice(nil, fleet.WarningFails, fleet.WarningOK), func(e *execDraft) *at[fleet.Warning] { return &e.warning }),
	}}
}

// share is so many of the last results.
type share struct{ n, of int }

// mostResults is how far back a check can look.
const mostResults = 64

func shareOfResults() scalar[share] {
	return scalar[share]{
		noun: "a number of results", example: "3 in 5", forms: []form{formText}, parse: parseShare,
		format: func(s share) any { return fmt.Sprintf("%d in %d", s.n, s.of) },
		json:   schema{Type: "string", Pattern: `^[0-9]+ +in +[0-9]+$`, noun: "number of results", bounds: fmt.Sprintf("1 in 1 to %d in %d", mostResults, mostResults)},
	}
}

func parseShare(text string) (share, *flaw) {
	words := strings.Fields(text)
	if len(words) != 3 || words[1] != "in" {
		return share{}, flawf("write for example 3 in 5", "%q is not a number of results", text)
	}
	n, bad := parseInteger(words[0])
	of, bad2 := parseInteger(words[2])
	switch {
	case bad != nil || bad2 != nil:
		return share{}, flawf("write for example 3 in 5", "%q is not a number of results", text)
	case of < 1 || of > mostResults:
		return share{}, flawf(fmt.Sprintf("look back on 1 to %d results", mostResults), "%d is out of range", of)
	case n < 1 || n > of:
		return share{}, flawf(fmt.Sprintf("choose 1 to %d", of), "%d in %d can never be", n, of)
	}
	return share{n, of}, nil
}
