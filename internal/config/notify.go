package config

import (
	"time"

	"hale/internal/fleet"
	"hale/internal/secret"
)

// Target is one place where people are told: exactly one of Mail, Webhook and Command is there. Which events it wants,
// and how often a message is tried, stands with each fleet (fleet.Recipient).
type Target struct {
	Name    fleet.TargetName
	Timeout time.Duration // of one try
	// AliveEvery is how often it is sent a sign that hale lives and acts; 0: never.
	AliveEvery time.Duration

	Mail    *Mail
	Webhook *Webhook
	Command *Command
}

// Mail is a mailbox, by way of an SMTP server.
type Mail struct {
	Server   string
	Port     int
	TLS      MailTLS
	CA       string // a PEM file; empty: the system's authorities
	From     string
	To       []string
	User     string        // empty: no login
	Password secret.Secret // only with User
}

// MailTLS is how the way to a mail server is protected.
type MailTLS string

// How the way to a mail server is protected.
const (
	MailStartTLS    MailTLS = "starttls"
	MailImplicitTLS MailTLS = "tls"
	MailPlain       MailTLS = "none"
)

// Webhook is an address that takes POST requests.
type Webhook struct {
	URL     Value
	CA      string // a PEM file; empty: the system's authorities
	Format  WebhookFormat
	Headers []NamedValue // sorted by name
}

// WebhookFormat is what a webhook is sent.
type WebhookFormat string

// What a webhook is sent.
const (
	WebhookHale        WebhookFormat = "hale"
	WebhookCloudEvents WebhookFormat = "cloudevents"
	WebhookText        WebhookFormat = "text"
)

// Command is a program on hale's side.
type Command struct {
	Command []string
	Env     []NamedValue // sorted by name
}

// Value is a text, or a secret that is read when it is used.
type Value struct {
	Plain  string
	Secret secret.Secret // where it is not None, Plain is empty
}

// NamedValue is a header or a variable.
type NamedValue struct {
	Name string
	Value
}
