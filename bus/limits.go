package bus

// Limits of values, in bytes.
const (
	// GzipAbove is the size from which values of records and commands are stored compressed.
	GzipAbove = 32 << 10
	// MaxValue is the largest stored value of a record.
	MaxValue = 900 << 10
	// MaxContent is the largest body or work document.
	MaxContent = 4 << 20
	// MaxCommand is the longest command, unpacked.
	MaxCommand = 8 << 20
	// MaxHeartbeat is the largest heartbeat.
	MaxHeartbeat = 64 << 10
	// MaxResult is the largest result of an agent.
	MaxResult = 16 << 10
	// MaxResultBatch is the largest stored batch of results that a share can be set to, MinResultBatch the
	// smallest.
	MaxResultBatch = 512 << 10
	MinResultBatch = 32 << 10
	// MaxInventory is the largest inventory of a member.
	MaxInventory = 256 << 10
	// MaxNodeEvent is the largest stored state of a node, and the largest stored inventory of nodes.
	MaxNodeEvent = 900 << 10
	// MaxPodsOfANode is how many pods the state of a node may list.
	MaxPodsOfANode = 1000
	// MaxBuffered is how many bytes wait to be stored in one stream of an embedded server, at most; more is
	// refused. It is a request of the largest size with what comes beside it: what one member sends without
	// waiting for answers takes no more of the hub, and nobody else waits behind more.
	MaxBuffered = 24 << 20
	// MaxAudit is the largest audit event.
	MaxAudit = 1 << 10
	// MaxResultsOfABatch is how many results one slot of a member may hold.
	MaxResultsOfABatch = 1024
	// MaxResultName bounds the names of results: "<namespace>/<name>" is the longest.
	MaxResultName = 512
	// MaxEventMessage is the largest message of stream EVENTS.
	MaxEventMessage = 1 << 20
	// MessageOverhead is what a stored message takes beside its subject and text.
	MessageOverhead = 64
)
