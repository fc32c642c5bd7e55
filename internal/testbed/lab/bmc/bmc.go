// Package bmc is a power controller for tests and demonstrations: a small Redfish service, and one of IPMI 2.0, in
// front of anything that can be turned on and off.
//
// It promises to break in each of the ways that hardware does, on demand. It is no controller for real hosts: it has
// one user and one system.
package bmc

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Machine is what the controller switches.
type Machine interface {
	On() (bool, error)
	// Set turns it on or off. What is so already is success.
	Set(p Power) error
}

// Power is a machine's state.
type Power string

// The states.
const (
	On  Power = "On"
	Off Power = "Off"
)

// The credentials that are accepted.
const (
	User     = "fence"
	Password = "correct-horse"
)

// Faults are the ways in which a controller may be broken. The zero value: it works.
type Faults struct {
	WrongPassword bool
	Dead          bool          // it takes connections and does not answer
	Ignores       bool          // it accepts orders and does nothing
	Lies          bool          // it says off, whatever is true
	AnswerLost    bool          // orders take effect, and the connection breaks
	Late          time.Duration // from an accepted order until the machine is off
	Slow          time.Duration // each answer takes so long
}

// Controller is one machine's.
type Controller struct {
	machine Machine
	mu      sync.Mutex
	faults  Faults
	late    sync.WaitGroup
}

// New makes the controller of a machine.
func New(m Machine) *Controller { return &Controller{machine: m} }

// Break has it behave so from now on.
func (c *Controller) Break(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Wait returns when nothing is under way that was asked for.
func (c *Controller) Wait() { c.late.Wait() }

func (c *Controller) now() Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

const (
	root   = "/redfish/v1"
	system = root + "/Systems/1"
	reset  = system + "/Actions/ComputerSystem.Reset"
)

// ServeHTTP implements http.Handler: the part of Redfish that is about power.
func (c *Controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := c.now()
	wait := time.NewTimer(f.Slow)
	defer wait.Stop()
	if f.Dead {
		<-r.Context().Done()
		return
	}
	select {
	case <-wait.C:
	case <-r.Context().Done():
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	user, password, _ := r.BasicAuth()
	if path != root && (user != User || password != Password || f.WrongPassword) {
		w.Header().Set("WWW-Authenticate", "Basic")
		refuse(w, http.StatusUnauthorized, "who are you?")
		return
	}
	switch {
	case r.Method == http.MethodGet && path == root:
		say(w,
			resource(root, "#ServiceRoot.v1_5_0.ServiceRoot", "RootService", map[string]any{
				"RedfishVersion": "1.6.0",
				"Systems":        link(root + "/Systems"),
			}))
	case r.Method == http.MethodGet && path == root+"/Systems":
		say(w, resource(path, "#ComputerSystemCollection.ComputerSystemCollection", "Systems",
			map[string]any{"Members": []any{link(system)}, "Members@odata.count": 1}))
	case r.Method == http.MethodGet && path == system:
		c.show(w, f)
	case r.Method == http.MethodPost && path == reset:
		c.reset(w, r, f)
	default:
		refuse(w, http.StatusNotFound, "there is no "+path)
	}
}

func (c *Controller) show(w http.ResponseWriter, f Faults) {
	on, err := c.machine.On()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	state := Off
	if on && !f.Lies {
		state = On
	}
	say(w, resource(system, "#ComputerSystem.v1_10_0.ComputerSystem", "1", map[string]any{
		"PowerState": state, "SystemType": "Physical",
		"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{"target": reset,
			"ResetType@Redfish.AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}}},
	}))
}

func (c *Controller) reset(w http.ResponseWriter, r *http.Request, f Faults) {
	var order struct{ ResetType string }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil ||
		order.ResetType != "ForceOff" && order.ResetType != string(On) {
		refuse(w, http.StatusBadRequest, "there is no such reset")
		return
	}
	wanted := Off
	if order.ResetType == string(On) {
		wanted = On
	}
	was, err := c.machine.On()
	switch {
	case err != nil:
	case wanted == Off && !was:
		refuse(w, http.StatusConflict, "it is off already") // as much hardware does
		return
	default:
		err = c.order(f, wanted)
	}
	switch {
	case f.AnswerLost:
		panic(http.ErrAbortHandler)
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// order has the machine turned on or off, as far as the faults let it.
func (c *Controller) order(f Faults, wanted Power) error {
	switch {
	case f.Ignores || f.Lies:
	case f.Late > 0:
		c.late.Go(func() {
			<-time.After(f.Late)
			_ = c.machine.Set(wanted) // the client asks whether it worked
		})
	default:
		return c.machine.Set(wanted)
	}
	return nil
}

func link(to string) map[string]string { return map[string]string{"@odata.id": to} }

func resource(path, kind, id string, more map[string]any) map[string]any {
	more["@odata.id"], more["@odata.type"], more["Id"], more["Name"] = path, kind, id, id
	return more
}

func say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("OData-Version", "4.0")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// as above
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
		"code":    "Base.1.0.GeneralError",
		"message": why,
	}})
}
