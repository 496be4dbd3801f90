package overview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// MemberTable holds members as the command line reads them, those of that names, in their order.
func MemberTable(name string, bodies []json.RawMessage, names []string) (*Table, error) {
	return objectTable(name, bodies, names, (*api.MemberCluster).GetName, memberCells,
		"name", "state", "message", "created", "version", "nodes", "cpu-free", "mem-free", "placed", "taints", "agent", "heartbeat", "credentials", "labels")
}

// memberCells are the values of a member, as read from the hub: quantities and times as they are, RFC 3339 in UTC.
func memberCells(m *api.MemberCluster) []string {
	status := cmp.Or(m.Status, &api.MemberClusterStatus{})
	free := cmp.Or(status.ResourceUsage, &api.ResourceUsage{}).Available
	credentials := cmp.Or(status.Credentials, &api.AgentCredentials{})
	state, labels := status.State, status.Labels
	if m.DeletionTimestamp != nil {
		state = api.MemberLeaving
	}
	if labels == nil {
		labels = m.Labels
	}
	var taints []string
	for i := range m.Spec.Taints {
		taints = append(taints, m.Spec.Taints[i].String())
	}
	var heard metav1.Time
	for _, agent := range status.AgentStatus {
		if agent.Type == api.AgentTypeMember {
			heard = agent.LastReceivedHeartbeat
		}
	}
	return []string{
		m.Name, string(state), status.Message, Written(m.CreationTimestamp), status.KubernetesVersion,
		cmp.Or(status.Properties[api.PropertyNodeCount].Value, strconv.Itoa(status.Nodes)), free["cpu"], free["memory"], strconv.Itoa(status.Placed),
		strings.Join(taints, ","), status.AgentVersion, Written(heard), credentials.State, strings.Join(Pairs(labels), ","),
	}
}

// PlacementTable holds placements as the command line reads them, those of that keys, in their order.
func PlacementTable(name string, bodies []json.RawMessage, keys []string) (*Table, error) {
	return objectTable(name, bodies, keys, (*api.Placement).Key, placementCells,
		"placement", "type", "generation", "snapshot", "state", "want", "picked", "current", "applied", "available", "failed", "drifted", "created", "waits for", "marks")
}

// placementCells are the values of a placement, as read from the hub.
func placementCells(p *api.Placement) []string {
	status := cmp.Or(p.Status, &api.PlacementStatus{})
	row := PlacementOf(p, status)
	c := &row.Counts
	cells := []string{row.Key, row.Type, strconv.FormatInt(row.Generation, 10), status.ObservedSnapshot, row.State, row.Wanted()}
	for _, n := range []int{c.Picked, c.Current, c.Applied, c.Available, c.Failed, c.Drifted} {
		cells = append(cells, strconv.Itoa(n))
	}
	return append(cells, Written(row.Created), row.Waits, row.Marks())
}

// EntryTable holds a placement as the command line reads it, with a row for each of its members, then for each that has not
// confirmed that it gave it up.
func EntryTable(name string, body json.RawMessage) (*Table, error) {
	var p api.Placement
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("reading a placement: %w", err)
	}
	t, status := &Table{Name: name, Value: body, Columns: []string{"member", "snapshot", "state", "since", "message"}}, cmp.Or(p.Status, &api.PlacementStatus{})
	for i := range status.PlacementStatuses {
		e := &status.PlacementStatuses[i]
		t.Rows = append(t.Rows, []string{e.ClusterName, e.ObservedResourceIndex, e.State, Written(e.Since), e.Message})
	}
	for i := range status.Withdrawals {
		w := &status.Withdrawals[i]
		t.Rows = append(t.Rows, []string{w.ClusterName, "", api.EntryWithdrawing, Written(w.Since), w.Message})
	}
	return t, nil
}

// Written is a time as machines read it, RFC 3339 in UTC; empty for none.
func Written(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Pairs are labels as "key=value", in order, without the one that only repeats the name of a member.
func Pairs(labels map[string]string) []string {
	var out []string
	for key, value := range labels {
		if key != api.LabelMemberName {
			out = append(out, key+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// Wanted is how many members a placement wants, "all" where that is every one that fits.
func (p *Placement) Wanted() string {
	if p.Counts.Want < 0 {
		return "all"
	}
	return strconv.Itoa(p.Counts.Want)
}

// WhatOf says in a few words what a revision is: "3 objects, 1 added, back to revision 2".
func WhatOf(r *api.Revision) string {
	if r.Error != "" {
		return "the selectors could not be followed: " + r.Error
	}
	parts := []string{phrase.Count(r.Objects, "object")}
	for _, change := range []struct {
		what    string
		objects []api.ObjectRef
	}{{"added", r.Added}, {"changed", r.Changed}, {"removed", r.Removed}} {
		if n := len(change.objects); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, change.what))
		}
	}
	if r.UndoneTo != 0 {
		parts = append(parts, fmt.Sprintf("back to revision %d", r.UndoneTo))
	}
	if r.Pinned {
		parts = append(parts, "pinned")
	}
	return strings.Join(parts, ", ")
}
