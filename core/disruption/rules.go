package disruption

// Rules are the settings of the whole member. The zero value is Flotilla's default.
type Rules struct {
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes (section 8.1).
	SpotToSpot bool
	// IgnorePreferences drops soft constraints of pods from the start (section 7.3).
	IgnorePreferences bool
	// Peer switches the decisions N4, N5, N6 and N9 off: Karpenter's own answers, for comparisons.
	Peer bool
	// MultiNodeMax is how many nodes one command may take beyond the first, 100 when 0.
	MultiNodeMax int
}
