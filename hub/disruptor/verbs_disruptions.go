package disruptor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

func (d *Disruptor) answerDisruptions(ctx context.Context, ask *api.DisruptionsRequest) (any, error) {
	members, err := d.asked(ctx, ask.Member, ask.Continue)
	if err != nil {
		return nil, err
	}
	out := &page{Items: []json.RawMessage{}, limit: ask.Limit}
	_, after, _ := strings.Cut(ask.Continue, "/")
	for i, member := range members {
		if ask.ID == "" {
			stale, err := d.undecided(ctx, member)
			if isBusy(err) {
				stale, err = "a decision is being made, which takes long", nil
			}
			if err != nil {
				return nil, err
			}
			out.note(member, stale, ask.Continue)
		}
		rows := d.disruptionsOf(member)
		if at := slices.IndexFunc(rows, func(r api.NodeDisruption) bool { return r.Name == after }); i == 0 && at >= 0 {
			rows = rows[at+1:]
		}
		for j := range rows {
			if ask.ID != "" && rows[j].Name != ask.ID {
				continue
			}
			if more, err := out.add(member+"/"+rows[j].Name, &rows[j]); err != nil || !more {
				return out, err
			}
		}
	}
	out.Continue = ""
	return out, nil
}

// undecided says why nothing is decided for a member; nothing of one that left meanwhile.
func (d *Disruptor) undecided(ctx context.Context, member string) (stale string, err error) {
	err = d.look(ctx, member, func(s *simulate.State) error {
		stale = s.Stale
		return nil
	})
	if isGone(err) {
		return "", nil
	}
	return stale, err
}

// disruptionsOf are those of a member, the oldest first, those last that are chosen and wait.
func (d *Disruptor) disruptionsOf(member string) []api.NodeDisruption {
	record := d.record(member)
	var rows []api.NodeDisruption
	for i := range record.Disruptions {
		rows = append(rows, rowOf(member, &record.Disruptions[i]))
	}
	slices.SortStableFunc(rows, func(a, b api.NodeDisruption) int {
		return cmp.Or(a.Status.Decided.Compare(b.Status.Decided.Time), cmp.Compare(a.Name, b.Name))
	})
	waiting := d.waitingOn(member)
	for i := range waiting {
		rows = append(rows, d.waitingRow(member, i, &waiting[i]))
	}
	return rows
}

func rowOf(member string, one *api.Disruption) api.NodeDisruption {
	return api.NodeDisruption{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindNodeDisruption},
		ObjectMeta: metav1.ObjectMeta{Name: one.ID, CreationTimestamp: one.Decided},
		Spec:       api.NodeDisruptionSpec{Member: member}, Status: *one,
	}
}

// waitingRow shows a command that was chosen; it has no id before it begins.
func (d *Disruptor) waitingRow(member string, i int, w *orchestration.Waiting) api.NodeDisruption {
	one := orchestration.Begin(&w.Command, fmt.Sprintf("waiting-%d", i), w.Since, 1)
	one.Phase, one.Deadline, one.Message = api.PhaseWaiting, metav1.Time{}, d.beginsAt(w)
	return rowOf(member, &one)
}

// beginsAt says when a command that was chosen is checked again.
func (d *Disruptor) beginsAt(w *orchestration.Waiting) string {
	return "begins at " + w.Since.Add(d.options.ValidationWait).UTC().Format(time.RFC3339) + ", if it still holds then"
}
