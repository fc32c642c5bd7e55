package openstack_test

import (
	"net/http"
	"slices"
)

// groups answers as Neutron does of the security group that every project has, and of its tags.
func (w *twin) groups() {
	const id = "5f3f9c1c-0000-4000-8000-00000000005e"
	w.handle("GET /network/v2.0/security-groups", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		if v := q.URL.Query(); v.Get("name") != "default" || v.Get("project_id") != w.project {
			return 200, map[string]any{"security_groups": []any{}}
		}
		return 200, map[string]any{
			"security_groups": []any{map[string]any{"id": id, "name": "default", "tags": slices.Clone(w.groupTags)}},
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
