// Package rest makes calls of functions: each declares beside the types of what it takes and answers which role it
// needs, and all together make the document of the API, in OpenAPI 3.1.
//
// It promises that who may not make a call is refused before the call sees anything, that whatever goes wrong is
// answered with a problem of RFC 9457 (package api), and that what only the log may have stays there.
//
// It is built on huma, and knows nothing of fleets.
package rest
