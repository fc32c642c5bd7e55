package repair

import "hale/internal/core/fleet"

// starting is the operation of the steps start and resume.
type starting struct{ onTheSpot }

func (starting) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }
