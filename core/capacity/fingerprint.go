package capacity

// Fingerprint is what tells whether a pool or its node class changed since a node was made.
type Fingerprint struct {
	Hash      string
	ClassHash string
	// Stamp is the hash that Karpenter wrote on the pool, of the version level; both are empty on a pool
	// that Karpenter does not manage.
	Stamp, HashLevel string
}

// HashChanged compares the hash that a node is stamped with to that of the pool: Flotilla's own, or the one
// that Karpenter wrote on both. Hashes of other versions say nothing.
func (f *Fingerprint) HashChanged(stamped, level string) bool {
	switch {
	case stamped == "" || level == "":
		return false
	case level == PoolHashLevel:
		return stamped != f.Hash
	default:
		return f.Stamp != "" && level == f.HashLevel && stamped != f.Stamp
	}
}

// ClassChanged compares the stamped hash of a node class with what it is now; what is not known is no other.
func (f *Fingerprint) ClassChanged(stamped string) bool {
	return stamped != "" && f.ClassHash != "" && stamped != f.ClassHash
}
