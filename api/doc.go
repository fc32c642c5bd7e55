// Package api is the narrow seam between a running controller and its clients: HTTP with JSON over a unix socket, as
// what lies on the wire and the client for it. Package server answers, and package view has what it answers with.
//
//	GET /v1/status                                  Status
//	GET /v1/machines/{name}/why                     Why; 404 carries the names that are near
//	GET /v1/events?fleet=web&last=20&follow=true    one Event a line (NDJSON); with follow, until the client hangs up
//	GET /v1/state                                   State: what is believed, for a plan
//	GET /v1/backup                                  all that is stored, as package backup writes it
//	POST /v1/orders                                 OrderRequest to Orders: a person's order, and what became of it
//	GET /v1/fleets/{name}/world                     World: what believing the world would mean for a fleet
//	POST /v1/take-over                              TakeOverRequest to TakeOver: this store becomes another installation
//
// It promises structures of its own with stable names (snake_case; times in RFC 3339; durations as "1h30m"), and the raw reason beside each sentence. An error is {"error": {"code", "message", "near"}}.
package api
