package api

// Verbs about state as a whole.
const (
	VerbRestore = "restore"
)

// ReasonStateDamaged is the reason of the problem that records of state are gone.
const ReasonStateDamaged = "StateDamaged"

// RestoreRequest says how to go on when state is damaged.
type RestoreRequest struct {
	// AcceptLoss goes on with what is left.
	AcceptLoss bool `json:"acceptLoss,omitempty"`
}

// RestoreResponse says what was done.
type RestoreResponse struct {
	// Damage is what was given up, one line for people.
	Damage string `json:"damage,omitempty"`
	// Records are those that are there now.
	Records int `json:"records"`
}
