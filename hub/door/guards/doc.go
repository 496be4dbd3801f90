// Package guards answers those who freeze the fleet or a part of it, end that, or let a withdrawal go that is held. What
// follows from it is decided by rooms, which read what is written here.
package guards

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door/records"
)

// Guards answers during one term of leadership.
type Guards struct {
	store   *store.Store
	records *records.Tables
}

// New returns guards on the records of a store.
func New(leader *store.Store, tables *records.Tables) *Guards {
	return &Guards{store: leader, records: tables}
}

func (g *Guards) now() metav1.Time { return metav1.NewTime(g.store.Now()).Rfc3339Copy() }

// write stores a record, and tells of it.
func (g *Guards) write(ctx context.Context, by api.Caller, object, reason, message string, op store.Op) error {
	told := by.Audit(api.Audit{Object: object, Type: "Normal", Reason: reason, Message: message})
	if _, err := g.store.WriteTold(ctx, []api.Audit{told}, op); err != nil {
		return fmt.Errorf("writing about %s: %w", object, err)
	}
	return nil
}
