package config

import (
	"time"

	"hale/internal/fleet"
)

type checkDraft struct {
	ping      at[struct{}]
	tcp       at[tcpDraft]
	http      at[httpDraft]
	exec      at[execDraft]
	agent     at[struct{}]
	ssh       at[sshDraft]
	tls       at[certificateDraft]
	udp       at[udpDraft]
	dns       at[dnsDraft]
	grpc      at[grpcDraft]
	heartbeat at[heartbeatDraft]
	every     at[time.Duration]
	timeout   at[time.Duration]
	downAfter at[int]
	upAfter   at[int]
	down, up  at[share]
	notEvery  at[[]at[hoursDraft]]
	dependsOn at[[]at[string]]
}

// hoursDraft is a time of the day: a text, or with days and a zone.
type hoursDraft struct {
	times at[clock]
	days  at[[]at[time.Weekday]]
	zone  at[string]
}

type tcpDraft struct {
	port at[int]
	full at[bool]
}

type httpDraft struct {
	port               at[int]
	scheme, path, host at[string]
	method             at[string]
	headers            at[[]named[valueDraft]]
	status             at[[]at[fleet.StatusRange]]
	body               at[string]
	redirects          at[int]
	noConnection       at[fleet.NoConnection]
	ca                 at[string]
	certificateDays    at[int]
	insecure           at[bool]
	keepAlive          at[bool]
}

type execDraft struct {
	command at[[]at[string]]
	env     at[[]named[valueDraft]]
	warning at[fleet.Warning]
}
