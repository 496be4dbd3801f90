package orchestration

// What tests need of the bounds of a record.
const (
	KeptEnded = keptEnded
	KeptMoves = keptMoves
	KeptNodes = keptNodes
	MostMoves = mostMoves
)

// CloneRecord is cloneRecord.
var CloneRecord = cloneRecord
