package judge

import "hale/internal/sim/script"

// page notes that a person was told: of a machine, or of the whole fleet.
func (j *Judge) page(machine string) {
	now := j.w.Now()
	for i := range j.outages {
		o := &j.outages[i]
		if o.open && !o.paged && (machine == "" || string(j.spec.Name.Machine(i+1)) == machine) {
			o.paged, o.pagedAt = true, now
		}
	}
	if j.options.Operator > 0 {
		j.w.After(j.w.Between(j.options.Operator/2, j.options.Operator*3/2), func() {
			j.visit(machine)
			j.unbrake()
		})
	}
}

// unbrake lets the person who came take hale's own brake off.
func (j *Judge) unbrake() {
	b := j.store.Overall.Brake
	if !j.options.Unbrakes || !b.Engaged || b.By != "" {
		return
	}
	if o, err := (script.Event{Subject: script.Operator, Verb: script.Unbrakes}).Order(j.spec.Name,
		j.options.Hosts); err == nil {
		j.trace.Say(j.w.Now(), "", "! operator "+string(script.Unbrakes))
		j.run.Post(o)
	}
}

// retry lets the person who came have hale build once more what it gave up: there is nothing that they could start.
func (j *Judge) retry(machine string) {
	if !j.options.Unbrakes {
		return
	}
	o, err := (script.Event{Subject: script.Operator, Verb: script.Retries, Arg: machine}).Order(j.spec.Name,
		j.options.Hosts)
	if err == nil {
		j.trace.Say(j.w.Now(), machine, "! operator "+string(script.Retries)+" "+machine)
		j.run.Post(o)
	}
}

// call notes that a person was told of a parent incident: some time later he mends its children.
func (j *Judge) call(parent string) {
	if j.options.Operator <= 0 {
		return
	}
	j.w.After(j.w.Between(j.options.Operator/2, j.options.Operator*3/2), func() {
		for i := range j.store.Beliefs {
			if m := &j.store.Beliefs[i]; m.Incident != nil && m.Incident.Parent == parent {
				j.visit(string(m.Name))
			}
		}
	})
}

// visit lets a person mend what hale left to him: start what is off, reset what hangs, with whatever that needs.
func (j *Judge) visit(machine string) {
	for i := range j.outages {
		name := string(j.spec.Name.Machine(i + 1))
		if !j.outages[i].open || machine != "" && name != machine {
			continue
		}
		m := j.store.Beliefs[i]
		vm := j.w.Current(name)
		if vm == nil && m.Quarantine != nil {
			j.retry(name)
		}
		if vm == nil || m.Repair != nil || j.truth.Personal(name) {
			continue
		}
		j.score.Visits++
		j.outages[i].visited = true
		j.trace.Say(j.w.Now(), name, "! a person mends "+name)
		j.w.PowerOn(vm)
	}
}

// putsInOrder is the operator who leaves one hale and one definition of everything, and has hale believe what there is
// then.
func (j *Judge) putsInOrder(machine string) {
	j.run.EndSecond()
	for _, vm := range j.w.All(machine) {
		if j.w.Undefine(vm.ID) {
			j.trace.Say(j.w.Now(), machine, "! a person removes the definition of "+machine+" that stayed behind")
		}
	}
	if j.toldOlder {
		if o, err := (script.Event{Subject: script.Operator, Verb: script.Believes}).Order(
			j.spec.Name,
			j.options.Hosts,
		); err == nil {
			j.trace.Say(j.w.Now(), "", "! operator "+string(script.Believes))
			j.run.Post(o)
		}
	}
}
