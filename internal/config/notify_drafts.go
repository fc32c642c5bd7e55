package config

import (
	"time"

	"hale/internal/fleet"
	"hale/internal/keys"
)

// targetDraft is one entry of notify: how to tell people.
type targetDraft struct {
	mail     keys.At[mailDraft]
	webhook  keys.At[webhookDraft]
	command  keys.At[commandDraft]
	events   keys.At[[]keys.At[fleet.NotifyEvent]]
	attempts keys.At[keys.Rate]
	timeout  keys.At[time.Duration]
	alive    keys.At[time.Duration]
}

type mailDraft struct {
	server   keys.At[string]
	port     keys.At[int]
	tls      keys.At[MailTLS]
	ca       keys.At[string]
	from     keys.At[string]
	to       keys.At[[]keys.At[string]]
	user     keys.At[string]
	password keys.At[secretDraft]
}

type webhookDraft struct {
	url     keys.At[valueDraft]
	ca      keys.At[string]
	format  keys.At[WebhookFormat]
	headers keys.At[[]keys.Named[valueDraft]]
}

type commandDraft struct {
	command keys.At[[]keys.At[string]]
	env     keys.At[[]keys.Named[valueDraft]]
}

// secretDraft says where a secret is kept.
type secretDraft struct {
	file, env keys.At[string]
}

// valueDraft is a text that may be a secret, and is a reference then.
type valueDraft struct {
	plain  keys.At[string]
	secret secretDraft
}

// notifyDraft names the targets of a fleet's messages: none, a list, or a mapping with more.
type notifyDraft struct {
	none        bool
	to          keys.At[[]keys.At[string]]
	remindEvery keys.At[reminder]
}
