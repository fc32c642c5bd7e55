package weather

import ("math";"math/rand/v2";"time")

type Weibull struct{ Shape float64; Scale time.Duration }
func (w Weibull) Draw(r *rand.Rand) time.Duration { return time.Duration(float64(w.Scale)*math.Pow(-math.Log(1-r.Float64()),1/w.Shape)) }
func (w Weibull) Scaled(mean time.Duration) Weibull { return Weibull{w.Shape, time.Duration(float64(mean)/math.Gamma(1+1/w.Shape))} }
type Fit struct{ Gap, Outage Weibull }
func Grid5000() Fit { return Fit{Gap: Weibull{0.48, 14*time.Hour}} }
