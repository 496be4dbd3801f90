package api

import "time"

// KindNotification is the kind of the record notification.<name>.
const KindNotification = "NotificationPosition"

// NotificationPosition is the record notification.<name>, written by the notifier alone: how far into
// the audit stream the configured notification of that name has come.
type NotificationPosition struct {
	Header
	Notification string `json:"notification"`
	// Sequence of the last event that needs nothing more, and when the server stored it.
	Sequence uint64    `json:"sequence"`
	Stored   time.Time `json:"stored,omitzero"`
	// Sent counts events that were delivered, GivenUp those that were not, since the first.
	Sent    uint64 `json:"sent"`
	GivenUp uint64 `json:"givenUp,omitempty"`
	// LastError is why the newest event that was given up could not be delivered.
	LastError string `json:"lastError,omitempty"`
}
