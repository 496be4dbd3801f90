package disruptor

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/validate"
	"flotilla/core/validate/budgets"
)

// followPool writes the record of a pool over all members, or removes it with its spec.
func (d *Disruptor) followPool(ctx context.Context, name string) (time.Time, error) {
	spec, _, found, err := d.records.poolSpecs.Find(name)
	if err != nil {
		return time.Time{}, err
	}
	old, revision, kept, err := d.records.pools.Find(name)
	if err != nil {
		return time.Time{}, err
	}
	switch {
	case !found && !kept:
		return time.Time{}, nil
	case !found:
		d.written.Delete(name)
		_, err := d.store.Writer.Write(ctx, d.records.pools.Delete(name, revision))
		return time.Time{}, err
	case !d.feed.Synced():
		return d.options.Now().Add(behind), nil
	}
	pool, err := api.SpecOf[api.NodePool](&spec)
	if err != nil {
		return time.Time{}, err
	}
	record, recheck, err := d.recordOf(pool)
	if err != nil {
		return time.Time{}, fmt.Errorf("counting the nodes of NodePool %s: %w", name, err)
	}
	if kept && reflect.DeepEqual(&old, record) {
		return recheck, nil
	}
	if _, err := d.store.Writer.Write(ctx, d.records.pools.Put(name, record, revision)); err != nil {
		return time.Time{}, fmt.Errorf("writing the record of NodePool %s: %w", name, err)
	}
	d.written.Store(name, d.options.Now())
	return recheck, nil
}

// recordOf is a pool over the members that have it, and those that have nodes of it still.
func (d *Disruptor) recordOf(p *api.NodePool) (*api.PoolRecord, time.Time, error) {
	r := &api.PoolRecord{
		Header: api.NewHeader(api.KindPoolRecord), Pool: p.Name, UID: string(p.UID), Deleting: p.DeletionTimestamp != nil,
		Lint: budgets.Lint(p),
	}
	members, err := d.records.members.FindAll()
	if err != nil {
		return nil, time.Time{}, err
	}
	budgets := capacity.ParseBudgets(p.Spec.Budgets(), time.LoadLocation)
	now := d.options.Now()
	left, err := d.leftFor(p)
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, e := range members {
		labels, _, found, err := d.records.labels(e.Name)
		if err != nil {
			return nil, time.Time{}, err
		}
		counted := d.countOf(e.Name)
		share := counted.pools[p.Name]
		if r.Deleting && counted.unknown == "" && d.replacing(e.Name, p.Name) {
			counted.unknown = stillComing
		}
		if !found || share.Nodes == 0 && !waited(counted.unknown) && len(disruption.PoolsFor(labels, []*api.NodePool{p})) == 0 {
			continue
		}
		r.Members = append(r.Members, api.PoolMember{
			Member: e.Name, Nodes: share.Nodes, Disrupting: share.Disrupting, Unknown: counted.unknown,
			NotInCatalog: share.Unlisted.Nodes, Example: share.Unlisted.Example, Catalog: share.Catalog,
			Allowed: allowed(budgets, share.FleetCount, left, now, d.options.Rules),
		})
	}
	slices.SortFunc(r.Members, func(a, b api.PoolMember) int { return strings.Compare(a.Member, b.Member) })
	next := budgets.NextChange(now)
	if next.IsZero() {
		return r, time.Time{}, nil
	}
	return r, next, nil
}

// Why the nodes of a member cannot be told though it told of some, or is to get some.
const (
	notCounted  = "its nodes are not counted yet"
	stillComing = "a replacement is on its way, or being taken back"
)

func waited(unknown string) bool { return unknown == notCounted || unknown == stillComing }

// replacing reports whether a disruption of a member that has not ended has replacements of a pool.
func (d *Disruptor) replacing(member, pool string) bool {
	record := d.record(member)
	return slices.ContainsFunc(record.Disruptions, func(one api.Disruption) bool {
		return one.Ended.IsZero() && slices.ContainsFunc(one.Replacements, func(r api.NodeReplacement) bool { return r.Pool == pool })
	})
}

// countOf are the nodes of a member by pool; one that never told of any has none.
func (d *Disruptor) countOf(member string) census {
	counted, known := d.fleet.of(member)
	if !known && len(d.feed.Nodes(member)) > 0 {
		counted.unknown = notCounted
	}
	return counted
}

// leftFor is what the fleet-wide budget of a pool leaves, nil when it shares none; nothing while a pool
// cannot be read that may share it.
func (d *Disruptor) leftFor(p *api.NodePool) (*int, error) {
	name, _, ok := validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
	if !ok {
		return nil, nil
	}
	shared, whole := d.provisioning.shared()
	left, _, err := d.fleet.left(shared, "", nil)
	n := left[name]
	if !whole {
		n = 0
	}
	return &n, err
}

// allowed is how many more nodes may go, by reason; a reason without limit is left out.
func allowed(b capacity.Budgets, c disruption.FleetCount, left *int, now time.Time, rules capacity.Rules) map[string]int {
	out := map[string]int{}
	for _, reason := range api.DisruptionReasons {
		limit := b.Limit(now, c.Total, reason, rules)
		n := capacity.Allowed(limit, c.Disrupting)
		if left != nil {
			n = min(n, capacity.Count(*left))
		}
		if n < capacity.Unbounded {
			out[reason] = int(n)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
