package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

const gib = 1 << 30

// storing returns an order of a machine with a disk that outlives its instances.
func (s *scene) storing() provider.Blueprint {
	o := s.order(1)
	o.Template.Disks = append(o.Template.Disks, policy.Disk{Name: "data", Size: 2 * gib})
	return o
}

// successor returns the order of the machine's next instance.
func successor(o provider.Blueprint, made ...string) provider.Blueprint {
	o.Mark.Generation++
	o.ID = fleet.InstanceID(fmt.Sprintf("00000000-0000-4000-8000-0000000f%04d", o.Mark.Generation))
	o.Mark.Instance = o.ID
	o.Made = made
	return o
}

// stored returns the volumes that are not on their way out.
func (s *scene) stored() []*twinVolume {
	var found []*twinVolume
	s.look(func() {
		for _, v := range s.volumes {
			if !v.going {
				found = append(found, v)
			}
		}
	})
	return found
}

// only returns the one volume that there is, if it is the server's that runs.
func (s *scene) only() *twinVolume {
	s.Helper()
	found, servers := s.stored(), s.living()
	if len(found) != 1 || len(servers) != 1 || found[0].server != servers[0].ID {
		s.Fatalf("there are %d volumes and %d servers", len(found), len(servers))
	}
	return found[0]
}

// removed turns the order's server off and deletes it.
func (s *scene) removed(o provider.Blueprint) {
	s.Helper()
	s.must("power off", s.p.PowerOff(s.Context(), o.Ref))
	s.must("delete", s.p.Delete(s.Context(), o.Ref))
}

// planted puts a volume for the machine's disk into the cloud.
func (s *scene) planted(metadata ...string) *twinVolume {
	v := twinVolume{
		Name:     "web-1-data",
		Size:     2,
		Metadata: map[string]string{"hale_installation": "inst", "hale_machine": "web-1", "hale_disk": "data"},
	}
	for i := 0; i < len(metadata); i += 2 {
		v.Metadata[metadata[i]] = metadata[i+1]
	}
	var made *twinVolume
	s.look(func() { made = s.addVolume(v) })
	s.pass(2 * time.Second)
	return made
}

// TestAVolumeGoesFromInstanceToInstance: it is made once, goes with no server, and is its machine's alone.
func TestAVolumeGoesFromInstanceToInstance(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		s.look(func() { s.ignoresFilter = true })
		s.look(func() {
			for _, change := range [][2]string{
				{"hale_installation", "another"},
				{"hale_machine", "web-7"},
				{"hale_disk", "logs"},
			} {
				v := s.addVolume(twinVolume{
					Metadata: map[string]string{
						"hale_installation": "inst",
						"hale_machine":      "web-1",
						"hale_disk":         "data",
					},
					odd: "maintenance",
				})
				v.Metadata[change[0]] = change[1]
			}
		})
		order, first := s.storing(), ""
		for range 3 {
			s.must("create", s.p.Create(s.Context(), order))
			s.pass(5 * time.Second)
			for _, v := range s.stored() {
				if v.server == "" {
					continue
				}
				if first == "" {
					first = v.ID
				}
				if v.ID != first || v.Size != 2 || v.goes || v.Metadata["hale_used"] == "" || v.Name != "web-1-data" {
					s.Errorf("generation %d has %+v, and the first had %s", order.Mark.Generation, v, first)
				}
			}
			s.removed(order)
			order = successor(order, "data")
		}
		if found := s.stored(); len(found) != 4 {
			s.Errorf("there are %d volumes", len(found))
		}
	})
}

// TestEachLostAnswerOfACreateWithAVolume: whichever request it was, there is one server in the end, and one volume,
// which is that server's and the next one's.
func TestEachLostAnswerOfACreateWithAVolume(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprint("request ", n), func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				order := s.storing()
				s.lose(n)
				ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
				err := s.p.Create(ctx, order)
				cancel()
				s.makeTrouble(nil)
				s.pass(5 * time.Second)
				built := s.living()
				if len(built) > 1 || fault.Is(err, fault.Transient) && len(built) > 0 {
					s.Fatalf("after %v there are %d servers", err, len(built))
				}
				if n == 2 && len(s.stored()) > 0 {
					s.Errorf("the volume of the lost answer is still there")
				}
				s.next(order, len(built))
				first := s.only()
				last := order
				if len(built) == 0 {
					last = successor(order)
					last.ID = "00000000-0000-4000-8000-00000000ffff"
				}
				s.removed(last)
				next := successor(last, "data")
				s.must("the next create", s.p.Create(s.Context(), next))
				s.pass(5 * time.Second)
				if v := s.only(); v != first {
					s.Errorf("the next one has volume %s, and the first had %s", v.ID, first.ID)
				}
			})
		})
	}
}

// TestWhatIsLeftOfAnOrderIsTakenOver: hale dies, or the cloud is away, when a volume was made and before anything could
// be put in order.
func TestWhatIsLeftOfAnOrderIsTakenOver(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		order, away := s.storing(), false
		s.makeTrouble(func(q *http.Request) effect {
			made := q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/volumes")
			away = away || made
			return effect{unsaid: made, hang: away && !made}
		})
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		s.want("create", s.p.Create(ctx, order), fault.Transient)
		cancel()
		s.makeTrouble(nil)
		left := s.stored()
		if len(left) != 1 {
			s.Fatalf("there are %d volumes", len(left))
		}
		s.pass(30 * time.Second) // the port's claim is old by then
		s.must("the next create", s.p.Create(s.Context(), successor(order)))
		s.pass(5 * time.Second)
		if v := s.only(); v != left[0] {
			s.Errorf("it has %+v, and %+v was left", v, left[0])
		}
	})
}

// TestALateVolumeIsNotTheMachinesDisk: an order that was taken for lost makes a volume after all. The volume that a
// server had before is the machine's disk, also where the other one seems older. hale removes only volumes of its own
// that no server used.
func TestALateVolumeIsNotTheMachinesDisk(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		order := s.storing()
		s.must("create", s.p.Create(s.Context(), order))
		s.pass(5 * time.Second)
		data := s.only()
		s.removed(order)
		late, own := s.planted("hale_order", "x"), s.planted()
		s.look(func() { late.Created, own.Created = data.Created.Add(-time.Hour), data.Created.Add(-time.Hour) })
		s.must("the next create", s.p.Create(s.Context(), successor(order, "data")))
		s.pass(5 * time.Second)
		found := s.stored()
		if len(found) != 2 || data.server == "" || late.server != "" || !late.going || own.going {
			s.Errorf("of %d volumes the data is %+v, the late one %+v", len(found), data, late)
		}
	})
}

// TestOfTwoOrdersAtOnceOneVolumeStays: another order's volume is seen only after ours was made. The older one counts,
// also where the list does not show ours yet.
func TestOfTwoOrdersAtOnceOneVolumeStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age    time.Duration // of the other one
		hidden string
	}{
		"the other is older":    {age: time.Minute},
		"ours is older":         {age: -time.Minute},
		"ours is not shown yet": {age: -time.Minute, hidden: "web-1-data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				s.look(func() { s.hidden = c.hidden })
				var other *twinVolume
				s.makeTrouble(func(q *http.Request) effect {
					if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/volumes") {
						other = s.addVolume(twinVolume{Metadata: map[string]string{
							"hale_installation": "inst",
							"hale_machine":      "web-1",
							"hale_disk":         "data",
							"hale_order":        "x",
						}})
						other.Created = other.Created.Add(-c.age)
					}
					return effect{}
				})
				s.must("create", s.p.Create(s.Context(), s.storing()))
				s.makeTrouble(nil)
				s.pass(5 * time.Second)
				theirs := c.age > 0
				if found := s.stored(); theirs != (other.server != "") || theirs != (len(found) == 1) {
					s.Errorf("there are %d volumes, and the other's is %+v", len(found), other)
				}
			})
		})
	}
}

// TestAFailedCreateLeavesNoVolume: it removes the volume that it made, also when the answer to the removal is lost, and
// keeps one that was there.
func TestAFailedCreateLeavesNoVolume(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ there, unheard bool }{
		"it made it":         {},
		"the answer is lost": {unheard: true},
		"it was there":       {there: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				if c.there {
					s.planted()
				}
				s.makeTrouble(func(q *http.Request) effect {
					switch {
					case q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/servers"):
						return effect{status: 403, body: quotaReached}
					case q.Method == http.MethodDelete && strings.Contains(q.URL.Path, "/volumes/"):
						return effect{unsaid: c.unheard}
					}
					return effect{}
				})
				s.want("create", s.p.Create(s.Context(), s.storing()), fault.Quota)
				if found := s.stored(); c.there != (len(found) == 1) {
					s.Errorf("there are %d volumes", len(found))
				}
				s.look(func() {
					if len(s.ports) > 0 {
						s.Errorf("there are %d ports", len(s.ports))
					}
				})
			})
		})
	}
}

// TestVolumesThatCannotBeHad: each has a kind of its own, nothing is built, and nothing is left but what was there.
func TestVolumesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shape  func(s *scene, o *provider.Blueprint)
		kind   fault.Kind
		says   string
		before int // volumes
	}{
		"the quota is reached": {func(s *scene, _ *provider.Blueprint) { s.look(func() { s.most = 0 }) }, fault.Quota,
			"VolumeLimitExceeded", 0},
		"there is no such type": {func(_ *scene, o *provider.Blueprint) { o.Template.Disks[1].Type = "slow" },
			fault.Invalid, "slow", 0},
		"it cannot be made": {func(s *scene, _ *provider.Blueprint) {
			s.makeTrouble(func(*http.Request) effect {
				for _, v := range s.volumes {
					v.fails = true
				}
				return effect{}
			})
		}, fault.Permanent, "could not make", 0},
		"it is in error": {func(s *scene, _ *provider.Blueprint) { s.planted().odd = "error_restoring" }, fault.Invalid,
			"error_restoring", 1},
		"a server has it": {func(s *scene, _ *provider.Blueprint) {
			v := s.planted()
			s.look(func() { v.server = s.plant("other", nil, nil, "") })
			s.pass(5 * time.Second)
			s.look(func() { s.servers[v.server].Status = "DELETED" }) // whatever Nova says of the server
		}, fault.Conflict, "attached to server", 1},
		"it is reserved": {func(s *scene, _ *provider.Blueprint) { s.planted().odd = "reserved" }, fault.Conflict,
			"is reserved", 1},
		"it is backed up": {func(s *scene, _ *provider.Blueprint) { s.planted().odd = "backing-up" }, fault.Transient,
			"backing-up", 1},
		"it detaches for ever": {func(s *scene, _ *provider.Blueprint) { s.planted().odd = "detaching" },
			fault.Transient,
			"still detaching", 1},
		"it is missing": {func(_ *scene, o *provider.Blueprint) { o.Made = []string{"data"} }, fault.Invalid,
			"hale_disk=data", 0},
		"there are two": {func(s *scene, o *provider.Blueprint) {
			s.planted()
			s.planted()
			o.Made = []string{"data"}
		}, fault.Invalid, "there are 2 volumes", 2},
		"there are two with data": {func(s *scene, _ *provider.Blueprint) {
			s.planted("hale_used", "true")
			s.planted("hale_used", "true")
		}, fault.Invalid, "there are 2 volumes", 2},
		"the catalogue has none": {func(s *scene, _ *provider.Blueprint) { s.look(func() { s.noStorage = true }) },
			fault.Unsupported, "no block storage", 0},
		"a proxy answers": {func(s *scene, _ *provider.Blueprint) { s.answer("/volume/", 404, nginx) },
			fault.Transient, "not the service's own", 0},
		"the list is none": {func(s *scene, _ *provider.Blueprint) { s.answer("/volumes/detail", 200, "{}") },
			fault.Transient, "no list of volumes", 0},
		"another project's": {func(s *scene, _ *provider.Blueprint) {
			s.answer("/volumes/detail", 200, `{"volumes": [{"id": "v", "os-vol-tenant-attr:tenant_id": "another"}]}`)
		}, fault.Transient, "another", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				order := s.storing()
				c.shape(s, &order)
				err := s.p.Create(s.Context(), order)
				s.want("create", err, c.kind)
				if err != nil && !strings.Contains(err.Error(), c.says) {
					s.Errorf("it says %v", err)
				}
				s.makeTrouble(nil)
				if found := s.stored(); len(found) != c.before {
					s.Errorf("there are %d volumes, and %d were", len(found), c.before)
				}
				s.look(func() {
					for _, server := range s.servers {
						if server.Name == order.Name {
							s.Error("a server was asked for")
						}
					}
					for _, p := range s.ports {
						if p.Device == "" {
							s.Errorf("a port is left: %q", p.Description)
						}
					}
				})
			})
		})
	}
}

// answer gives one answer to every request that has the text in its path.
func (s *scene) answer(path string, status int, body string) {
	s.makeTrouble(func(q *http.Request) effect {
		if strings.Contains(q.URL.Path, path) {
			return effect{status: status, body: body}
		}
		return effect{}
	})
}

func TestACloudWithoutVolumesServesMachinesWithoutKeptDisks(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		s.look(func() { s.noStorage = true })
		order := s.order(1)
		s.must("create", s.p.Create(s.Context(), order))
		s.pass(5 * time.Second)
		s.removed(order)
	})
}

// TestAVolumeIsWaitedFor: the last instance lets go of it late.
func TestAVolumeIsWaitedFor(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		v, asked := s.planted(), 0
		v.odd = "detaching"
		s.makeTrouble(func(q *http.Request) effect {
			if strings.HasSuffix(q.URL.Path, v.ID) {
				if asked++; asked == 5 {
					v.odd = ""
				}
				return effect{status: map[bool]int{true: 503}[asked == 2]} // a moment of trouble is none
			}
			return effect{}
		})
		s.must("create", s.p.Create(s.Context(), s.storing()))
		s.makeTrouble(nil)
		s.pass(5 * time.Second)
		if s.only() != v {
			s.Error("it has another one")
		}
	})
}

// ordered lets the story see what Nova is asked to build.
func (s *scene) ordered(into *[]map[string]any) {
	s.makeTrouble(func(q *http.Request) effect {
		if q.Method != http.MethodPost || !strings.HasSuffix(q.URL.Path, "/servers") {
			return effect{}
		}
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(strings.NewReader(string(body)))
		var got struct {
			Server struct {
				Image string           `json:"imageRef"`
				Disks []map[string]any `json:"block_device_mapping_v2"`
			} `json:"server"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			s.Error(err)
		}
		got.Server.Disks = append(got.Server.Disks, map[string]any{"imageRef": got.Server.Image})
		*into = got.Server.Disks
		return effect{}
	})
}

// TestAServerBootsFromAVolume of the size and type that the template says, which goes with it, as does a disk that is
// not kept.
func TestAServerBootsFromAVolume(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		order := s.storing()
		order.Template.Disks = append(order.Template.Disks, policy.Disk{Name: "scratch", Size: gib + 1,
			Ephemeral: true})
		order.Template.Disks[1].Type = "fast"
		order.Template.Server = &policy.Server{
			Flavor:     "m1.nano",
			VolumeZone: "west",
			BootVolume: policy.BootVolume{Size: 3 * gib, Type: "fast"},
		}
		var disks []map[string]any
		s.ordered(&disks)
		s.must("create", s.p.Create(s.Context(), order))
		s.makeTrouble(nil)
		s.pass(5 * time.Second)
		var data *twinVolume
		for _, v := range s.stored() {
			if v.Name == "web-1-data" {
				data = v
			}
		}
		if data == nil || data.Type != "fast" || data.Zone != "west" {
			s.Fatalf("the data is on %+v", data)
		}
		want := fmt.Sprint([]map[string]any{
			{"boot_index": 0, "source_type": "image", "destination_type": "volume", "uuid": twinImage,
				"delete_on_termination": true, "volume_size": 3, "volume_type": "fast"},
			{"boot_index": -1, "source_type": "volume", "destination_type": "volume", "uuid": data.ID,
				"delete_on_termination": false},
			{"boot_index": -1, "source_type": "blank", "destination_type": "volume", "delete_on_termination": true,
				"volume_size": 2},
			{"imageRef": ""},
		})
		if got := fmt.Sprint(disks); got != want {
			s.Errorf("Nova was asked for\n%s, want\n%s", got, want)
		}
		s.removed(order)
		if found := s.stored(); len(found) != 1 || found[0] != data {
			s.Errorf("%d volumes stay", len(found))
		}
	})
}

// TestTheFlavorsDiskStaysTheFirst where a server with an image has volumes besides.
func TestTheFlavorsDiskStaysTheFirst(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		var disks []map[string]any
		s.ordered(&disks)
		s.must("create", s.p.Create(s.Context(), s.storing()))
		s.makeTrouble(nil)
		if len(disks) != 3 || disks[0]["destination_type"] != "local" || disks[0]["uuid"] != twinImage ||
			disks[1]["source_type"] != "volume" || disks[2]["imageRef"] != twinImage {
			s.Errorf("Nova was asked for %v", disks)
		}
	})
}

// TestAnOlderNovaIsNotAskedForWhatItDoesNotKnow.
func TestAnOlderNovaIsNotAskedForWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for minor, kind := range map[string]fault.Kind{"2.66": fault.Unsupported, "2.67": ""} {
		play(t, 0, func(s *scene) {
			s.look(func() { s.newest = minor })
			order := s.order(1)
			order.Template.Server = &policy.Server{
				Flavor:     "m1.nano",
				BootVolume: policy.BootVolume{Size: gib, Type: "fast"},
			}
			err := s.p.Create(s.Context(), order)
			if kind == "" {
				s.must("create", err)
				return
			}
			s.want("create", err, kind)
			if len(s.living()) > 0 {
				s.Error("a server was asked for")
			}
		})
	}
}

// TestARebuildOnAVolumeNeedsBoth: a Nova that writes the image on the volume anew, and a Cinder that does. With less
// the server keeps what it has, and is told so.
func TestARebuildOnAVolumeNeedsBoth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nova, cinder, says string
	}{
		"both can":           {"2.93", "3.68", ""},
		"an older Nova":      {"2.92", "3.70", "this one speaks 2.92"},
		"an older Cinder":    {"2.96", "3.67", "this one speaks 3.67"},
		"no Cinder any more": {"2.96", "", "no block storage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, 0, func(s *scene) {
				s.look(func() { s.newest, s.speaks, s.noStorage = c.nova, c.cinder, c.cinder == "" })
				order := s.order(1)
				order.Template.Server = &policy.Server{Flavor: "m1.nano", BootVolume: policy.BootVolume{Size: gib}}
				s.must("create", s.p.Create(s.Context(), order))
				s.pass(5 * time.Second)
				s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
				spoken := ""
				s.makeTrouble(func(q *http.Request) effect {
					if strings.HasSuffix(q.URL.Path, "/action") {
						spoken = q.Header.Get("OpenStack-API-Version")
					}
					return effect{}
				})
				err := s.p.(provider.Rebuilder).Rebuild(s.Context(), order)
				s.makeTrouble(nil)
				switch {
				case c.says == "" && (err != nil || spoken != "compute 2.93"):
					s.Errorf("rebuild: %v, in %q", err, spoken)
				case c.says != "" &&
					(!fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), c.says) || spoken != ""):
					s.Errorf("rebuild: %v, and Nova was asked in %q", err, spoken)
				}
			})
		})
	}
}

// TestNoCopyIsTakenForWhole that lacks a disk which goes with the server; what is kept need not be in it.
func TestNoCopyIsTakenForWhole(t *testing.T) {
	t.Parallel()
	for _, ephemeral := range []bool{true, false} {
		play(t, 0, func(s *scene) {
			order := s.order(1)
			order.Template.Disks = append(order.Template.Disks, policy.Disk{
				Name:      "data",
				Size:      gib,
				Ephemeral: ephemeral,
			})
			s.must("create", s.p.Create(s.Context(), order))
			s.pass(5 * time.Second)
			_, err := s.p.(provider.Snapshotter).Snapshot(s.Context(), order.Ref, fleet.SnapshotName{
				Installation: "inst",
				Machine:      "web-1",
				ID:           "s1",
			})
			if !ephemeral {
				s.must("snapshot", err)
				return
			}
			s.want("snapshot", err, fault.Unsupported)
		})
	}
}

// TestNoServerIsDeletedWhileItsVolumeCannotBeLetGo: Nova would leave the volume attached to a server that is gone.
func TestNoServerIsDeletedWhileItsVolumeCannotBeLetGo(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		order := s.storing()
		s.must("create", s.p.Create(s.Context(), order))
		s.pass(5 * time.Second)
		s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method == http.MethodDelete {
				s.Errorf("%s was deleted", q.URL.Path)
			}
			return effect{err: map[bool]error{true: errUnplugged}[strings.Contains(q.URL.Path, "/volume/")]}
		})
		s.want("delete", s.p.Delete(s.Context(), order.Ref), fault.Transient)
		s.makeTrouble(nil)
		s.must("delete", s.p.Delete(s.Context(), order.Ref))
	})
}

// TestAServerWithoutItsVolumeIsDeleted: the volume is gone, or belongs to another project.
func TestAServerWithoutItsVolumeIsDeleted(t *testing.T) {
	t.Parallel()
	for _, status := range []int{403, 404} {
		play(t, 0, func(s *scene) {
			order := s.storing()
			s.must("create", s.p.Create(s.Context(), order))
			s.pass(5 * time.Second)
			s.must("power off", s.p.PowerOff(s.Context(), order.Ref))
			s.makeTrouble(func(q *http.Request) effect {
				if strings.Contains(q.URL.Path, "/volumes/") {
					return effect{
						status: status,
						body:   `{"itemNotFound": {"code": 404, "message": "Volume could not be found."}}`,
					}
				}
				return effect{}
			})
			s.must("delete", s.p.Delete(s.Context(), order.Ref))
		})
	}
}
