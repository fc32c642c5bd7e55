package redfish_test

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/fencetest"
	"hale/internal/fence/redfish"
	"hale/internal/secret"
	"hale/internal/testbed/lab/bmc"
)

// box is a machine that exists as one bit.
type box struct{ on atomic.Bool }

func (b *box) On() (bool, error)     { return b.on.Load(), nil }
func (b *box) Set(p bmc.Power) error { b.on.Store(p == bmc.On); return nil }

func kept(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func password(t *testing.T, text string) secret.Secret {
	t.Helper()
	s, err := secret.File(kept(t, "password", text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a service, and returns options that reach it.
func serve(t *testing.T, h http.Handler) redfish.Options {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	// a refused certificate is what some tests are about
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := kept(t, "ca.pem",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return redfish.Options{Name: "h1-bmc", URL: server.URL, User: bmc.User, Password: password(t, bmc.Password), CA: ca}
}

func TestRedfishPassesTheExam(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(t *testing.T) fencetest.Bench {
		t.Helper()
		machine := &box{}
		c := bmc.New(machine)
		t.Cleanup(c.Wait)
		return fencetest.Bench{
			Controller: redfish.New(serve(t, c)), Secret: bmc.Password,
			On: machine.on.Load, Turn: func(p fence.Power) { machine.on.Store(p == fence.PowerOn) },
			Break: func(f fencetest.Fault) {
				c.Break(map[fencetest.Fault]bmc.Faults{
					fencetest.WrongPassword: {WrongPassword: true},
					fencetest.Dead:          {Dead: true},
					fencetest.Late:          {Late: 300 * time.Millisecond},
					fencetest.Ignores:       {Ignores: true},
					fencetest.AnswerLost:    {AnswerLost: true},
					fencetest.Slow:          {Slow: 50 * time.Millisecond},
				}[f])
			},
		}
	})
}

// What is wrong with the service, or with what hale was told of it, is said in the kind that says whether to ask again.
func TestWhatGoesWrongIsToldApart(t *testing.T) {
	t.Parallel()
	machine := &box{}
	good := bmc.New(machine)
	elsewhere := http.RedirectHandler("https://198.51.100.7/redfish/v1", http.StatusFound)
	for name, c := range map[string]struct {
		handler http.Handler
		change  func(*redfish.Options)
		kind    fault.Kind
		says    string
	}{
		"a stranger's certificate": {good, func(o *redfish.Options) { o.CA = "" }, fault.Invalid, "certificate"},
		"no authority": {
			good,
			func(o *redfish.Options) { o.CA = "/nonexistent" },
			fault.Invalid,
			"/nonexistent",
		},
		"no such system": {good, func(o *redfish.Options) { o.System = "7" }, fault.Invalid, "no system 7, but 1"},
		"a wrong password": {
			good,
			func(o *redfish.Options) { o.Password = password(t, "battery-staple") },
			fault.Unauthorised,
			"who are you",
		},
		"nothing listens": {
			good,
			func(o *redfish.Options) { o.URL = "https://127.0.0.1:1" },
			fault.Transient,
			"refused",
		},
		"it sends elsewhere": {elsewhere, func(*redfish.Options) {}, fault.Transient, "refusing redirect"},
		"no Redfish at all":  {http.NotFoundHandler(), func(*redfish.Options) {}, fault.NotFound, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serve(t, c.handler)
			c.change(&o)
			state, err := redfish.New(o).Power(t.Context())
			if state != fence.PowerUnknown || !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %v", state, err)
			}
			if strings.Contains(err.Error(), "battery") {
				t.Error("the password is in the error")
			}
		})
	}
}

// With Insecure, a certificate of an unknown issuer is taken.
func TestAnUncheckedCertificateIsTheOperatorsChoice(t *testing.T) {
	t.Parallel()
	machine := &box{}
	o := serve(t, bmc.New(machine))
	o.CA, o.Insecure = "", true
	if state, err := redfish.New(o).Power(t.Context()); state != fence.PowerOff || err != nil {
		t.Errorf("%s, %v", state, err)
	}
}
