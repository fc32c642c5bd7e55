package guest

import "time"

// Ailment is what can be wrong inside a machine that its provider calls running.
type Ailment struct {
	Symptom Symptom
	Cure    Cure          // default: ByReboot; of SlowBoot ByRecreate
	Share   float64       // of Lossy: how many of the probes are lost, 0 to 1
	Check   string        // of CheckFails: the one
	Status  int           // of AppError: the code; default 503
	Delay   time.Duration // of SlowBoot: by how much
}

// Cure is what makes a machine well again.
type Cure string

// The cures. A new instance is well, unless builds are spoilt.
const (
	ByReboot   Cure = "reboot"   // the next boot
	ByRecreate Cure = "recreate" // nothing but a new instance, or a new disk
	ByCommand  Cure = "command"  // a command that applies its configuration again, or a new instance
)

// lasting reports whether the ailment survives a reset.
func (a *Ailment) lasting() bool {
	return a.Cure != ByReboot && (a.Cure != "" || a.Symptom == SlowBoot)
}

// Symptom is how an ailing machine looks from outside.
type Symptom string

// The symptoms.
const (
	Hung       Symptom = "hung"        // answers nothing
	Halted     Symptom = "halts"       // answers nothing, and its processors stand still
	Unplugged  Symptom = "no-network"  // lives, and cannot be reached
	AppDead    Symptom = "app-dead"    // answers pings, refuses connections
	AppError   Symptom = "app-error"   // answers requests with a status, Ailment.Status
	AppHangs   Symptom = "app-hangs"   // takes requests, and answers none
	Slow       Symptom = "slow"        // answers everything too late
	NoBoot     Symptom = "no-boot"     // comes up no more once it is down or reset
	NoAddress  Symptom = "no-address"  // has none, so that nothing reaches it
	SlowBoot   Symptom = "slow-boot"   // its boots, and its addresses, take Ailment.Delay longer
	BadPage    Symptom = "bad-page"    // answers requests with a page that says something else
	CheckFails Symptom = "check-fails" // one of its checks fails, Ailment.Check
	AgentMute  Symptom = "agent-mute"  // its agent answers nothing, and all else is well
	AgentLies  Symptom = "agent-lies"  // its agent answers as long as the machine is on, whatever else is wrong
	Lossy      Symptom = "lossy"       // loses some of the probes and serves its users all the same
)
