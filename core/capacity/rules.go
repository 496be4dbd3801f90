package capacity

// Rules are the settings of the whole member. The zero value is Flotilla's default.
type Rules struct {
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes.
	SpotToSpot bool
	// IgnorePreferences drops soft constraints of pods from the start.
	IgnorePreferences bool
	// Off switches decisions of ours off, for comparisons with Karpenter.
	Off Departures
	// MultiNodeMax is how many nodes one command may take beyond the first, 100 when 0.
	MultiNodeMax int
}

// Departures are the rules N1 to N26 by which a decision differs from Karpenter's.
type Departures struct {
	// NeverMatching is N4: a schedule without any date never counts.
	NeverMatching bool
	// WorthlessPods is N5: a node whose pods cost nothing to move is not empty.
	WorthlessPods bool
	// SpotPin is N6: of a replacement that is pinned to spot only the types are left that are sold as spot.
	SpotPin bool
	// OnlySold is N26: a replacement that nobody sells as spot is restricted to how it is sold, and its savings
	// are of that price.
	OnlySold bool
	// LostPods is N24: a pod that nothing makes again is told as lost.
	LostPods bool
	// ExceededBudgets is N9: a PodDisruptionBudget must let all its pods of a node go.
	ExceededBudgets bool
	// MissingLabels is N19: a label that the provider sets and that a node lacks is unknown, not wrong.
	MissingLabels bool
	// PendingPods is N23: what goes leaves a place for each pod without a node that has one.
	PendingPods bool
}
