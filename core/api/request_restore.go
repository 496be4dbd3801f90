package api

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs about state as a whole.
const (
	VerbBackup  = "backup"
	VerbRestore = "restore"
)

// ReasonStateDamaged is the reason of the problem that records of state are gone.
const ReasonStateDamaged = "StateDamaged"

// BackupVersion is the version of backups that this build reads and writes.
const BackupVersion = 4

// BackupHead says what a backup is of.
type BackupHead struct {
	Kind    string      `json:"kind"`    // KindBackup
	Version int         `json:"version"` // BackupVersion of the hub that wrote it
	Fleet   string      `json:"fleet"`
	At      metav1.Time `json:"at"`
	Epoch   uint64      `json:"epoch"`
	Term    uint64      `json:"term"`
	// Sealing names the secrets that the bodies are sealed with; the first of Content seals the pages too.
	Sealing Sealing `json:"sealing"`
	// Salt makes the key of each backup another one.
	Salt []byte `json:"salt"`
	// Records of state, Contents of the bucket of bodies.
	Records  int `json:"records"`
	Contents int `json:"contents"`
}

// Secret is the name of the one that the pages are sealed with.
func (h *BackupHead) Secret() string {
	if len(h.Sealing.Content) == 0 {
		return ""
	}
	return h.Sealing.Content[0]
}

// Readable refuses versions that this build does not read.
func (h *BackupHead) Readable() error {
	switch {
	case h.Version > BackupVersion:
		return fmt.Errorf("the backup has version %d, of a newer build; this one reads version %d", h.Version, BackupVersion)
	case h.Version < BackupVersion:
		return fmt.Errorf("the backup has version %d, of an older build, which stored content otherwise; this one reads version %d", h.Version, BackupVersion)
	}
	return nil
}

// KindBackup is the kind of a BackupHead.
const KindBackup = "FlotillaBackup"

// BackupEntry is one record of state, by key, or one sealed body, by place.
type BackupEntry struct {
	Record  string `json:"record,omitempty"`
	Content string `json:"content,omitempty"`
	// Value is the JSON of a record, or the body as it is stored.
	Value []byte `json:"value"`
}

// BackupRequest asks for one page of a backup. All pages of one session are of one moment.
type BackupRequest struct {
	Session string `json:"session"` // chosen by the client
	From    int    `json:"from"`    // entry to begin with
}

// BackupPage is a part of a backup: entries From and on, until Next, which is 0 when this is the last. A body that is
// not in use any more may be missing, so that there can be fewer than the head says.
type BackupPage struct {
	From int `json:"from"`
	Next int `json:"next,omitempty"`
	// Sealed is a list of BackupEntry, for a hub that holds the secret: it vouches for the head and for From and Next.
	Sealed []byte `json:"sealed"`
}

// BackupResponse is one page, and the head of all.
type BackupResponse struct {
	Head BackupHead `json:"head"`
	Page BackupPage `json:"page"`
}

// Steps of a restore, in their order.
const (
	RestoreBegin  = "begin"
	RestorePage   = "page"
	RestoreCommit = "commit"
)

// RestoreRequest puts a backup in the place of state, in steps, or goes on with what is left of it.
type RestoreRequest struct {
	// AcceptLoss goes on with what is left of a damaged state; nothing else is said then.
	AcceptLoss bool `json:"acceptLoss,omitempty"`

	Session string `json:"session,omitempty"` // chosen by the client
	Step    string `json:"step,omitempty"`
	// Replace lets a state that is whole and holds objects be replaced.
	Replace bool        `json:"replace,omitempty"`
	Head    *BackupHead `json:"head,omitempty"` // with RestoreBegin
	Page    *BackupPage `json:"page,omitempty"` // with RestorePage; with RestoreBegin the first, which shows that the backup can be opened
}

// RestoreResponse says what was done.
type RestoreResponse struct {
	// Damage is what state had lost, one line for people.
	Damage string `json:"damage,omitempty"`
	// Records are those that are there now, or came so far.
	Records int `json:"records"`
	// Epoch that begins.
	Epoch uint64 `json:"epoch,omitempty"`
}
