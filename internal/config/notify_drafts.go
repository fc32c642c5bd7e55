package config

import (
	"time"

	"hale/internal/fleet"
)

// targetDraft is one entry of notify: whom to tell, and how.
type targetDraft struct {
	mail     at[mailDraft]
	webhook  at[webhookDraft]
	command  at[commandDraft]
	events   at[[]at[fleet.NotifyEvent]]
	attempts at[rate]
	timeout  at[time.Duration]
	alive    at[time.Duration]
}

type mailDraft struct {
	server   at[string]
	port     at[int]
	tls      at[MailTLS]
	ca       at[string]
	from     at[string]
	to       at[[]at[string]]
	user     at[string]
	password at[secretDraft]
}

type webhookDraft struct {
	url     at[valueDraft]
	ca      at[string]
	format  at[WebhookFormat]
	headers at[[]named[valueDraft]]
}

type commandDraft struct {
	command at[[]at[string]]
	env     at[[]named[valueDraft]]
}

// secretDraft says where a secret is kept.
type secretDraft struct {
	file, env at[string]
}

// valueDraft is a text that may be a secret, and is a reference then.
type valueDraft struct {
	plain  at[string]
	secret secretDraft
}

// notifyDraft is whom a fleet's messages go to: none, a list, or a mapping with more.
type notifyDraft struct {
	none        bool
	to          at[[]at[string]]
	remindEvery at[reminder]
}
