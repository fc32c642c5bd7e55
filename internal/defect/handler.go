package defect

import "net/http"

// Handler returns the handler as one that does not panic: a request over which it did is answered with 500, as far as
// nothing was answered yet. The panic by which a handler breaks off (http.ErrAbortHandler) is no defect, and goes on.
func Handler(h http.Handler, told Witness, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == http.ErrAbortHandler { //nolint:errorlint // it is compared by identity, as net/http does
				panic(v) // it is for net/http, which knows it
			}
			if p := Of(v); p != nil {
				told.Note(name, r.Method+" "+r.URL.Path, p)
				http.Error(w, p.Error()+"; hale's log has the place", http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	})
}
