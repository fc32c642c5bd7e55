package openstack_test

import (
	"maps"
	"net/http"
	"slices"
)

// twinGroups are the project's security groups.
var twinGroups = map[string]string{
	"default": "5f3f9c1c-0000-4000-8000-00000000005e",
	"web":     "5f3f9c1c-0000-4000-8000-00000000005f",
	"db":      "5f3f9c1c-0000-4000-8000-000000000060",
}

// groupsOf gives a port without security groups that of the project, and finds those that are not there.
func (w *twin) groupsOf(p *twinPort) (int, any) {
	if p.Groups == nil {
		p.Groups = []string{twinGroups["default"]}
	}
	for _, id := range p.Groups {
		if !slices.Contains(slices.Collect(maps.Values(twinGroups)), id) {
			return 404, neutron("SecurityGroupNotFound", "Security group "+id+" does not exist")
		}
	}
	return 0, nil
}

// groups answers as Neutron does of security groups, and of the tags of the one that every project has.
func (w *twin) groups() {
	id := twinGroups["default"]
	w.handle("GET /network/v2.0/security-groups", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		name := q.URL.Query().Get("name")
		of, there := twinGroups[name]
		if !there || q.URL.Query().Get("project_id") != w.project {
			return 200, map[string]any{"security_groups": []any{}}
		}
		return 200, map[string]any{
			"security_groups": []any{map[string]any{"id": of, "name": name, "tags": slices.Clone(w.groupTags)}},
		}
	})
	w.handle("PUT /network/v2.0/security-groups/"+id+"/tags/{tag}",
		func(_ http.ResponseWriter, q *http.Request) (int, any) {
			tag := q.PathValue("tag")
			if len(tag) > 60 {
				return 400, neutron("InvalidInput", "Invalid input for operation: tag is longer than 60.")
			}
			if !slices.Contains(w.groupTags, tag) {
				w.groupTags = append(w.groupTags, tag)
			}
			return 201, nil
		})
	w.handle("DELETE /network/v2.0/security-groups/"+id+"/tags/{tag}",
		func(_ http.ResponseWriter, q *http.Request) (int, any) {
			at := slices.Index(w.groupTags, q.PathValue("tag"))
			if at < 0 {
				return 404, neutron("TagNotFound", "Tag could not be found.")
			}
			w.groupTags = slices.Delete(w.groupTags, at, at+1)
			return 204, nil
		})
}
