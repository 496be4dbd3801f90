package memory

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/api"
	"flotilla/core/apply"
)

// historyLimit bounds the operations a member remembers; the oldest go first.
const historyLimit = 20000

// Operation is one write that an agent made. What SetFaults refused is not among them.
type Operation struct {
	// Sequence counts operations from 1, without gaps.
	Sequence int64
	At       time.Time
	Verb     apply.Verb // create, replace, disown or delete
	api.ObjectRef
	UID string
	// Digest of the manifest it was made from.
	Digest string
	// Content is the metadata.generation of the object after the write: equal content, equal number.
	Content int64
	Origin  target.Origin
}

// String is one line, "3 replace Deployment/shop/web by web/u1 generation 2".
func (o Operation) String() string {
	return fmt.Sprintf("%d %s %s by %s generation %d", o.Sequence, o.Verb, o.ObjectRef, o.Origin.Owner, o.Origin.Generation)
}

type history struct {
	operations []Operation
	sequence   int64
}

func (m *Member) record(verb apply.Verb, object *unstructured.Unstructured, ref api.ObjectRef, from target.Origin) {
	h := &m.history
	h.sequence++
	if len(h.operations) == historyLimit {
		h.operations = h.operations[1:]
	}
	h.operations = append(h.operations, Operation{
		Sequence: h.sequence, At: m.clock.Now(), Verb: verb, ObjectRef: ref, UID: string(object.GetUID()),
		Digest: apply.DigestOf(object), Content: object.GetGeneration(), Origin: from,
	})
}

// History lists the operations since and without sequence after, oldest first; 0 lists all that are
// remembered.
func (m *Member) History(after int64) []Operation {
	m.mu.Lock()
	defer m.unlock()
	var out []Operation
	for i := range m.history.operations {
		if m.history.operations[i].Sequence > after {
			out = append(out, m.history.operations[i])
		}
	}
	return out
}
