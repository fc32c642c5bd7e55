// Package api is the narrow seam between a running controller and its clients: HTTP with JSON over a unix socket,
// the server for it and the client.
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
// It promises structures of its own with stable names (snake_case; times in RFC 3339; durations in nanoseconds, in
// names that end in _ns), the raw reason beside each sentence, a socket that only its owner may open, and that the
// server ends with its context, streams included. An error is {"error": {"code", "message", "near"}}.
//
// It acts on no machine: it stores an order in the inbox of its fleet, and the fleet's owner decides what follows. It
// names as the giver the user that the kernel reports for the other end of the socket.
package api
