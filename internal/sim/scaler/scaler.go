package scaler

import (
	"math"
	"time"
)

// Reading is what a rule is shown.
type Reading struct {
	At   time.Duration
	Busy float64 // percent: the mean of the machines that serve
	OK   bool    // there is a value
	// Serving is how many machines that is the mean of, and Size is how many are asked for.
	Serving, Size int
}

// Scaler is a rule with what it remembers.
type Scaler interface {
	// Every is the time between two readings.
	Every() time.Duration
	// Next returns the size to ask for now; that of the reading: no other one.
	Next(r Reading) int
}

// Kind names a rule.
type Kind string

// The rules.
const (
	// HPA is the HorizontalPodAutoscaler of Kubernetes with its default behaviour.
	HPA Kind = "kubernetes-hpa"
	// AWSTarget is target tracking of Amazon EC2 Auto Scaling.
	AWSTarget Kind = "aws-target-tracking"
	// AWSStep is step scaling of the same.
	AWSStep Kind = "aws-step-scaling"
	// Senlin is a scaling policy of OpenStack's clustering service behind alarms of Aodh.
	Senlin Kind = "senlin-policy"
	// Heat is an AutoScalingGroup of OpenStack's orchestration behind the same alarms.
	Heat Kind = "heat-cooldown"
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{HPA, AWSTarget, AWSStep, Senlin, Heat} }

// New returns the rule, which is to keep the use at the target, or below high and above low where it goes by
// thresholds. Nil: there is no such rule.
func New(k Kind, target float64) Scaler {
	switch k {
	case HPA:
		return &hpa{target: target}
	case AWSTarget:
		return newTracking(target)
	case AWSStep:
		return newSteps(target)
	case Senlin:
		return newThreshold(target, time.Minute, 1)
	case Heat:
		return newThreshold(target, time.Minute, 1).slowly()
	}
	return nil
}

// ceil is the smallest whole number that is not below what was meant: what arithmetic adds is taken off again.
func ceil(f float64) int { return int(math.Ceil(f - 1e-9)) }
