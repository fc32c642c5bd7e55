package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"hale/internal/access"
	"hale/internal/config/fleets"
	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/secret"
)

// API is where hale's API listens beside the socket, and for whom. The zero value: nowhere.
type API struct {
	Listen           string // host:port
	Certificate, Key string // files in PEM form, by absolute paths; empty: no TLS is spoken, which only loopback may
	ClientCA         string // who signs the certificates of clients, as a file in PEM form; empty: none is asked for
	Names            []string
	Certificates     []CertificateRole
	OpenID           *OpenID // nil: none
	SecondPerson     []access.Risk
	Limits           APILimits
}

// CertificateRole is what the bearer of a client certificate may do.
type CertificateRole struct {
	Name  string // of the certificate: a URI or DNS name among its alternative names
	Grant access.Grant
}

// OpenID is who says who people are.
type OpenID struct {
	Issuer, ClientID string
	ClientSecret     secret.Secret
	Audience         string // of access tokens; empty: the client id
	GroupsClaim      string
	Roles            []OpenIDRole
}

// OpenIDRole is what a member of a group, or the owner of an address, may do. One of the two is set.
type OpenIDRole struct {
	Group, Email string
	Grant        access.Grant
}

// APILimits bound what callers may take.
type APILimits struct {
	Requests    int // of one caller in a second
	Strangers   int // requests of one address in a second that show nothing good
	Connections int
	Streams     int // requests under way
}

type apiDraft struct {
	listen       keys.At[string]
	tls          keys.At[keyPairDraft]
	clientCA     keys.At[string]
	names        keys.At[[]keys.At[string]]
	certificates keys.At[[]keys.At[grantDraft]]
	openID       keys.At[openIDDraft]
	second       keys.At[[]keys.At[access.Risk]]
	limits       keys.At[apiLimitsDraft]
}

// grantDraft says who may do what: one of name, group and email.
type grantDraft struct {
	name, group, email keys.At[string]
	role               keys.At[string]
	fleets             keys.At[[]keys.At[string]]
}

type openIDDraft struct {
	issuer, client, audience, groups keys.At[string]
	secret                           keys.At[keys.SecretRef]
	roles                            keys.At[[]keys.At[grantDraft]]
}

type apiLimitsDraft struct{ requests, strangers, connections, streams keys.At[int] }

// The defaults of api.
const (
	defaultListen      = "127.0.0.1:7117"
	defaultGroups      = "groups"
	defaultRequests    = 50
	defaultStrangers   = 10
	defaultConnections = 4096
	defaultStreams     = 4096
)

func apiShape() keys.Object[apiDraft] {
	return keys.Object[apiDraft]{Fields: []keys.Field[apiDraft]{
		keys.Or("listen", defaultListen,
			"The address and port. Other machines reach any but 127.0.0.1 and its like, and "+
				"there TLS is demanded. Where hale cannot listen it goes on without, and tries again.",
			keys.Text("an address and port", defaultListen),
			func(a *apiDraft) *keys.At[string] { return &a.listen }),
		keys.May("tls", "Speak TLS.", keyPairShape(), func(a *apiDraft) *keys.At[keyPairDraft] { return &a.tls }),
		keys.May("client_ca",
			"The file with the certificates of those who sign clients' certificates, in PEM form. It "+
				"is read again when it changes.", keys.Text("a path", "clients.pem"),
			func(a *apiDraft) *keys.At[string] { return &a.clientCA }),
		keys.May("names", "The host names by which clients ask. A request by another name is refused, so that no page "+
			"that a browser shows from elsewhere reaches hale by a name of its own (DNS rebinding). Addresses and "+
			"localhost are always good.", keys.List[string]{Noun: "one name",
			Each: keys.Text("a host name", "hale.example.org")},
			func(a *apiDraft) *keys.At[[]keys.At[string]] { return &a.names }).Said("those of the certificate"),
		keys.May("certificates", "What machines may do that show a client certificate.",
			keys.List[grantDraft]{Noun: "one certificate", Each: certificateShape()},
			func(a *apiDraft) *keys.At[[]keys.At[grantDraft]] { return &a.certificates }),
		keys.May("openid", "An OpenID Connect provider, by which people sign in.", openIDShape(),
			func(a *apiDraft) *keys.At[openIDDraft] { return &a.openID }),
		keys.May("second_person",
			"Acts that wait until a second person agrees. `fence`: cut a host's power. `delete`: "+
				"remove a machine. `confirm`: carry out a plan that destroys. `brake-off`: let go what the brake holds.",
			keys.List[access.Risk]{Noun: "one act", Each: keys.Choice(nil, access.Risks()...)},
			func(a *apiDraft) *keys.At[[]keys.At[access.Risk]] { return &a.second }).Said("none"),
		keys.Part("limits", "How much callers may take.", apiLimitsShape(),
			func(a *apiDraft) *keys.At[apiLimitsDraft] { return &a.limits }),
	}}
}

func openIDShape() keys.Object[openIDDraft] {
	return keys.Object[openIDDraft]{Fields: []keys.Field[openIDDraft]{
		keys.Must("issuer", "https://id.example.org", "Its address, as its tokens name it.",
			keys.Text("an address", "https://id.example.org"),
			func(o *openIDDraft) *keys.At[string] { return &o.issuer }),
		keys.Must("client_id", "hale", "What it knows hale as.", keys.Text("a client id", "hale"),
			func(o *openIDDraft) *keys.At[string] { return &o.client }),
		keys.May("client_secret", "By which hale proves that to it. Without one, hale is a public client, and PKCE "+
			"alone binds a sign-in to who began it.", keys.Secret(),
			func(o *openIDDraft) *keys.At[keys.SecretRef] { return &o.secret }),
		keys.May("audience", "The audience that an access token must name. hale takes no other access token.",
			keys.Text("an audience", "hale-api"),
			func(o *openIDDraft) *keys.At[string] { return &o.audience }).Said("only ID tokens are taken"),
		keys.Or("groups_claim", defaultGroups, "The claim of its tokens that lists a person's groups.",
			keys.Text("the name of a claim", defaultGroups),
			func(o *openIDDraft) *keys.At[string] { return &o.groups }),
		keys.Must("roles", "[{group: operators, role: operator}]", "What people may do. Who is in none of these may "+
			"do nothing.", keys.List[grantDraft]{Noun: "one role", Each: personShape()},
			func(o *openIDDraft) *keys.At[[]keys.At[grantDraft]] { return &o.roles }),
	}}
}

func certificateShape() keys.Object[grantDraft] {
	return keys.Object[grantDraft]{Fields: append([]keys.Field[grantDraft]{
		keys.Must("name", "spiffe://example.org/ci", "A URI or DNS name among the certificate's alternative names; "+
			"the common name is not looked at.", keys.Text("a URI or DNS name", "spiffe://example.org/ci"),
			func(g *grantDraft) *keys.At[string] { return &g.name }),
	}, grantFields()...)}
}

func personShape() keys.Object[grantDraft] {
	return keys.Object[grantDraft]{Fields: append([]keys.Field[grantDraft]{
		keys.May("group", "The members of this group.", keys.Text("a group", "operators"),
			func(g *grantDraft) *keys.At[string] { return &g.group }),
		keys.May("email", "Or the owner of this address, as far as the provider verified it.",
			keys.Text("an address", "ana@example.org"), func(g *grantDraft) *keys.At[string] { return &g.email }),
	}, grantFields()...)}
}

func grantFields() []keys.Field[grantDraft] {
	return []keys.Field[grantDraft]{
		keys.Must("role", "viewer", "`viewer` reads, `holder` places holds with names and ends its own, `operator` "+
			"gives orders, `admin` does everything.",
			keys.Choice(nil, access.Viewer.String(), access.Holder.String(), access.Operator.String(),
				access.Admin.String()),
			func(g *grantDraft) *keys.At[string] { return &g.role }),
		keys.May("fleets", "In these fleets only.", keys.List[string]{Noun: "one fleet",
			Each: keys.Text("a fleet", "web")},
			func(g *grantDraft) *keys.At[[]keys.At[string]] { return &g.fleets }).Said("in all of them"),
	}
}

func apiLimitsShape() keys.Object[apiLimitsDraft] {
	return keys.Object[apiLimitsDraft]{Fields: []keys.Field[apiLimitsDraft]{
		keys.Or("requests", defaultRequests, "Requests of one caller in a second; twice as many may come at once.",
			keys.Integer(1, 100_000), func(l *apiLimitsDraft) *keys.At[int] { return &l.requests }),
		keys.Or("strangers", defaultStrangers, "Requests from one address in a second that show nothing good; five "+
			"times as many may come at once.", keys.Integer(1, 10_000),
			func(l *apiLimitsDraft) *keys.At[int] { return &l.strangers }),
		keys.Or("connections", defaultConnections, "Connections at once, half of them for callers that are known.",
			keys.Integer(16, 100_000), func(l *apiLimitsDraft) *keys.At[int] { return &l.connections }),
		keys.Or("streams", defaultStreams,
			"Requests under way at once, streams among them, half of them for one caller.",
			keys.Integer(16, 100_000), func(l *apiLimitsDraft) *keys.At[int] { return &l.streams }),
	}}
}

func compileAPI(a keys.At[apiDraft], known []string, f *keys.Finder) API {
	if !a.Known() {
		return API{}
	}
	d := a.Value
	l := d.limits.Value
	out := API{
		Listen: d.listen.Value, Certificate: keys.Path(d.tls.Value.certificate), Key: keys.Path(d.tls.Value.key),
		ClientCA: keys.Path(d.clientCA), Names: compileNames(d.names, f),
		SecondPerson: keys.Values(d.second), OpenID: compileOpenID(d.openID, known, f),
		Limits: APILimits{l.requests.Value, l.strangers.Value, l.connections.Value, l.streams.Value},
	}
	switch {
	case d.listen.Known() && !hasPort(d.listen.Value):
		f.Add(d.listen.Spot, fmt.Sprintf("%q is not an address and port", d.listen.Value),
			"write for example \""+defaultListen+"\"")
	case d.listen.Known() && !isLoopback(d.listen.Value) && !d.tls.Written():
		f.Add(d.listen.Spot, "is reached from other machines, and tokens would go there in the clear",
			"add tls: {certificate: PATH, key: PATH}, or listen at "+defaultListen)
	}
	if d.clientCA.Written() && !d.tls.Written() {
		f.Add(d.clientCA.Spot, "certificates are shown over TLS only", "add tls: {certificate: PATH, key: PATH}")
	}
	if d.certificates.Written() && !d.clientCA.Written() {
		f.Add(d.certificates.Spot, "nothing says who signs them", "add client_ca: PATH")
	}
	for _, g := range d.certificates.Value {
		name := g.Value.name
		if slices.ContainsFunc(out.Certificates, func(c CertificateRole) bool { return c.Name == name.Value }) {
			f.Add(name.Spot, fmt.Sprintf("%s is named twice", name.Value), "keep one of the two")
		}
		out.Certificates = append(out.Certificates, CertificateRole{name.Value, g.Value.grant(known, f)})
	}
	return out
}

func compileNames(names keys.At[[]keys.At[string]], f *keys.Finder) []string {
	for _, n := range names.Value {
		if n.Known() && strings.ContainsAny(n.Value, ":/* \t") {
			f.Add(n.Spot, fmt.Sprintf("%q is not a host name", n.Value), "write it as hale.example.org, without a port")
		}
	}
	return keys.Values(names)
}

func compileOpenID(o keys.At[openIDDraft], known []string, f *keys.Finder) *OpenID {
	if !o.Written() {
		return nil
	}
	d := o.Value
	out := &OpenID{
		Issuer: d.issuer.Value, ClientID: d.client.Value, ClientSecret: f.Secret(d.secret),
		Audience: d.audience.Value, GroupsClaim: d.groups.Value,
	}
	if d.issuer.Given() && !isIssuer(d.issuer.Value) {
		f.Add(d.issuer.Spot, fmt.Sprintf("%q is not the address of a provider that is to be trusted", d.issuer.Value),
			"write it as https://id.example.org")
	}
	for _, r := range d.roles.Value {
		switch g := r.Value; {
		case g.group.Written() && g.email.Written():
			f.Add(r.Spot, "names both a group and an address", "make it two roles")
		case !g.group.Written() && !g.email.Written():
			f.Add(r.Spot, "does not say who has it", "add group: NAME, or email: ADDRESS")
		}
		out.Roles = append(out.Roles,
			OpenIDRole{Group: r.Value.group.Value, Email: r.Value.email.Value, Grant: r.Value.grant(known, f)})
	}
	return out
}

// grant makes what the draft says of role and fleets.
func (g grantDraft) grant(known []string, f *keys.Finder) access.Grant {
	role, err := access.ParseRole(g.role.Value)
	if err != nil { // it is reported already
		return access.Grant{}
	}
	out := access.Grant{Role: role}
	for _, name := range g.fleets.Value {
		if name.Known() && !slices.Contains(known, name.Value) {
			f.Add(name.Spot, "there is no fleet "+name.Value, keys.DidYouMean(name.Value, known))
		}
		out.Fleets = append(out.Fleets, fleet.Name(name.Value))
	}
	return out
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// isIssuer reports whether the address is one of https, or on this very machine.
func isIssuer(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && isLoopback(net.JoinHostPort(u.Hostname(), "0")))
}

// fleetNames are those of the drafts.
func fleetNames(drafts []keys.Named[fleets.Draft]) []string {
	names := make([]string, 0, len(drafts))
	for _, n := range drafts {
		names = append(names, n.Name)
	}
	return names
}
