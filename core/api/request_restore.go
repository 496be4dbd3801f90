package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Verbs about state as a whole.
const (
	VerbBackup  = "backup"
	VerbRestore = "restore"
)

// ReasonStateDamaged is the reason of the problem that records of state are gone.
const ReasonStateDamaged = "StateDamaged"

// BackupVersion is the version of backups that this build reads and writes.
const BackupVersion = 2

// BackupHead says what a backup is of.
type BackupHead struct {
	Kind    string      `json:"kind"`    // KindBackup
	Version int         `json:"version"` // BackupVersion of the hub that wrote it
	Fleet   string      `json:"fleet"`
	At      metav1.Time `json:"at"`
	Epoch   uint64      `json:"epoch"`
	Term    uint64      `json:"term"`
	// Sealing names the secrets that the bodies are sealed with.
	Sealing Sealing `json:"sealing"`
	// Records of state, Contents of the bucket of bodies.
	Records  int `json:"records"`
	Contents int `json:"contents"`
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

// BackupPage is a part of a backup. Next is where the next one begins, 0 when this is the last. A body that is not
// in use any more may be missing, so that there can be fewer than the head says.
type BackupPage struct {
	Head    BackupHead    `json:"head"`
	Entries []BackupEntry `json:"entries"`
	Next    int           `json:"next,omitempty"`
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
	Replace bool          `json:"replace,omitempty"`
	Head    *BackupHead   `json:"head,omitempty"`    // with RestoreBegin
	From    int           `json:"from,omitempty"`    // number of the first entry of a page
	Entries []BackupEntry `json:"entries,omitempty"` // with RestorePage
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
