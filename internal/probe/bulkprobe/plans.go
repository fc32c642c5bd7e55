package bulkprobe

// planTable gives a shard's plans numbers, so that a target needs no pointer.
type planTable struct {
	plans  []*plan
	users  []int32
	number map[*plan]int32
	free   places
}

func (x *planTable) at(i int32) *plan { return x.plans[i] }

// hold returns the plan's number, and counts one more user.
func (x *planTable) hold(p *plan) int32 {
	i, known := x.number[p]
	if !known {
		i = x.free.get()
		if int(i) == len(x.plans) {
			x.plans, x.users = append(x.plans, nil), append(x.users, 0)
		}
		if x.number == nil {
			x.number = make(map[*plan]int32)
		}
		x.plans[i], x.number[p] = p, i
	}
	x.users[i]++
	return i
}

// drop counts one user less; with the last one the plan is forgotten.
func (x *planTable) drop(i int32) {
	x.users[i]--
	if x.users[i] == 0 {
		delete(x.number, x.plans[i])
		x.plans[i] = nil
		x.free.put(i)
	}
}
