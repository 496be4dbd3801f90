package api

// NodePoolStatus is the status of a NodePool over all its members, as the hub shows it.
type NodePoolStatus struct {
	Nodes      int `json:"nodes"`
	Disrupting int `json:"disrupting"`
	// Members are sorted by name.
	Members []PoolMember `json:"members,omitempty"`
	// Lint says what its budgets cannot mean (N3).
	Lint []string `json:"lint,omitempty"`
	// Unconfirmed says what the deletion of the pool waits for, "berlin: 3 nodes".
	Unconfirmed []string `json:"unconfirmed,omitempty"`
}
