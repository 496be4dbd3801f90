package disruptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/explain"
	"flotilla/core/simulate"
	"flotilla/subjects"
)

// answerDelete begins to drain and delete a node (N17).
func (d *Disruptor) answerDelete(ctx context.Context, ask *api.DeleteNodeRequest) (any, error) {
	out := &api.DeleteNodeResponse{Member: ask.Member, Node: ask.Node}
	if _, err := d.admitted(ctx, ask.Member); err != nil {
		return nil, err
	}
	record := d.record(ask.Member)
	i := slices.IndexFunc(record.Disruptions, func(one api.Disruption) bool {
		return one.Running() && one.Method == api.MethodManual && slices.Contains(one.Nodes, ask.Node)
	})
	if i >= 0 {
		out.Already, out.Disruption = record.Disruptions[i].Request != ask.Request, record.Disruptions[i].ID
	}
	if err := d.deletable(ctx, ask, out, i >= 0); err != nil {
		return nil, err
	}
	if ask.DryRun || out.Already || i >= 0 {
		return out, nil
	}
	settle, err := d.store.Audit.Announce(ask.By.Audit(api.Audit{
		Object: subjects.KindNode + "/" + subjects.NodeName(ask.Member, ask.Node), Type: "Normal", Reason: "Asked",
		Message: "delete", Member: ask.Member,
	}))
	if err != nil {
		return nil, err
	}
	begun, err := d.deleteNode(ctx, ask.Member, ask.Node, ask.Request)
	settle(err == nil)
	if err != nil {
		return nil, err
	}
	out.Disruption = begun.ID
	return out, nil
}

// deletable errs for a node that the hub does not delete, and says what becomes of the pods of one that it does; begun
// says that a deletion of it is under way. A node is deleted also where nobody knows in time where its pods go.
func (d *Disruptor) deletable(ctx context.Context, ask *api.DeleteNodeRequest, out *api.DeleteNodeResponse, begun bool) error {
	may := false
	err := d.look(ctx, ask.Member, func(s *simulate.State) error {
		n, found := s.Cluster.Node(ask.Node)
		switch {
		case !found:
			return noSuchNode(ask.Member, ask.Node)
		case !n.Managed:
			return &api.Failure{
				Code:    api.CodeRefused,
				Message: fmt.Sprintf("node %s was made by neither Flotilla nor Karpenter, so that the hub does not delete it", ask.Node),
				Next:    "kubectl --context " + ask.Member + " delete node " + ask.Node,
			}
		}
		may, out.Already = true, out.Already || n.Deleting && !begun
		outlook := explain.DrainOutlook(s, ask.Node)
		out.Pods, out.Notes = outlook.Pods, outlook.Notes
		if s.Stale != "" {
			out.Notes = append(out.Notes, "the hub decides nothing by itself for the member: "+s.Stale)
		}
		return nil
	})
	if may && errors.Is(err, errThought) {
		out.Pods, out.Notes = 0, []string{"where its pods go takes too long to work out"}
		return nil
	}
	return err
}
