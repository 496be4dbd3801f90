package bus

import (
	"context"

	"flotilla/core/api"
)

// Op is one change of one record.
type Op struct {
	Key string
	// Value is written as JSON; a json.RawMessage as it is. Nil deletes.
	Value any
	// Revision is what the record must still have: 0 means that it must not exist.
	Revision uint64
}

// Put changes or (revision 0) creates a record.
func Put(key string, value any, revision uint64) Op {
	return Op{Key: key, Value: value, Revision: revision}
}

// Delete removes a record; its marker is kept for 24 h.
func Delete(key string, revision uint64) Op { return Op{Key: key, Revision: revision} }

// Writer changes records of bucket state, for the leader alone.
type Writer struct{}

// Write stores all ops or none, and returns their new revisions in order. The cache of State holds
// them when it returns. Errors: ErrConflict when a revision is not current, ErrTooLarge, ErrDeposed.
// After an outcome that stays unknown it fences, relists, and answers by what is stored.
func (w *Writer) Write(ctx context.Context, ops ...Op) ([]uint64, error) { return nil, errUnbuilt }

// Term is the term this writer is fenced by.
func (w *Writer) Term() api.Term { return api.Term{} }
