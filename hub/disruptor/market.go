package disruptor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/disruption"
)

// market is what nodes are made from: pools, catalogs and node classes, each revision parsed once for all
// members.
type market struct {
	records *records
	content *bus.Content

	mu      sync.Mutex
	version uint64
	specs   map[string]decoded[*api.NodePool]
	lists   map[string]decoded[*api.InstanceCatalog]
	types   map[string]decoded[*disruption.Catalog]
	parsed  map[poolKey]parsedPool
	classes map[string]string // digests of node classes by pool, since the last change
	hashes  map[string]string // of node classes, by digest
}

// decoded is an object as its spec of a revision holds it.
type decoded[T any] struct {
	revision uint64
	object   T
}

// poolKey names a pool as it is on the members that buy from one catalog.
type poolKey struct{ pool, catalog string }

type parsedPool struct {
	pool, catalog uint64 // revisions
	class         string // digest
	parsed        *disruption.Pool
}

func newMarket(r *records, c *bus.Content) *market {
	return &market{
		records: r, content: c, specs: map[string]decoded[*api.NodePool]{}, lists: map[string]decoded[*api.InstanceCatalog]{},
		types: map[string]decoded[*disruption.Catalog]{}, parsed: map[poolKey]parsedPool{}, classes: map[string]string{}, hashes: map[string]string{},
	}
}

// changed notes that something in it is not what it was.
func (k *market) changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	clear(k.classes)
}

// offer is the market as one member finds it.
type offer struct {
	specs []*api.NodePool
	pools []*disruption.Pool
	// shared are the fleet-wide budgets of its pools, over all pools of the fleet.
	shared  []sharedBudget
	version uint64
}

// offerTo returns what a member with some labels may have.
func (k *market) offerTo(ctx context.Context, labels map[string]string) (offer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	specs, err := k.pools()
	if err != nil {
		return offer{}, err
	}
	catalog, revision, err := k.catalogFor(labels)
	if err != nil {
		return offer{}, err
	}
	out := offer{specs: disruption.PoolsFor(labels, specs), version: k.version}
	own := sharedBudgets(out.specs)
	for _, b := range sharedBudgets(specs) {
		if slices.ContainsFunc(own, func(o sharedBudget) bool { return o.name == b.name }) {
			out.shared = append(out.shared, b)
		}
	}
	for _, p := range out.specs {
		pool, err := k.pool(ctx, p, catalog, revision)
		if err != nil {
			return offer{}, err
		}
		out.pools = append(out.pools, pool)
	}
	return out, nil
}

// shared are the fleet-wide budgets.
func (k *market) shared() ([]sharedBudget, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	specs, err := k.pools()
	return sharedBudgets(specs), err
}

// pools are all NodePools, by name.
func (k *market) pools() ([]*api.NodePool, error) {
	entries, err := k.records.poolSpecs.FindAll()
	if err != nil {
		return nil, err
	}
	out := make([]*api.NodePool, 0, len(entries))
	now := make(map[string]decoded[*api.NodePool], len(entries))
	for _, e := range entries {
		held, ok := k.specs[e.Name]
		if !ok || held.revision != e.Revision {
			if held.object, err = e.Value.DecodePool(); err != nil {
				return nil, err
			}
			held.revision = e.Revision
		}
		now[e.Name] = held
		out = append(out, held.object)
	}
	k.specs = now
	return out, nil
}

// catalogFor is the catalog that a member buys from, nil for none, and its revision.
func (k *market) catalogFor(labels map[string]string) (*api.InstanceCatalog, uint64, error) {
	entries, err := k.records.catalogs.FindAll()
	if err != nil {
		return nil, 0, err
	}
	all := make([]*api.InstanceCatalog, 0, len(entries))
	now := make(map[string]decoded[*api.InstanceCatalog], len(entries))
	for _, e := range entries {
		held, ok := k.lists[e.Name]
		if !ok || held.revision != e.Revision {
			if held.object, err = e.Value.DecodeInstances(); err != nil {
				return nil, 0, err
			}
			held.revision = e.Revision
		}
		now[e.Name] = held
		all = append(all, held.object)
	}
	k.lists = now
	chosen := disruption.CatalogFor(labels, all)
	if chosen == nil {
		return nil, 0, nil
	}
	return chosen, now[chosen.Name].revision, nil
}

// typesOf parses a catalog, nil has no types.
func (k *market) typesOf(c *api.InstanceCatalog, revision uint64) *disruption.Catalog {
	name := ""
	if c != nil {
		name = c.Name
	}
	if held, ok := k.types[name]; ok && held.revision == revision {
		return held.object
	}
	parsed := disruption.NewCatalog(c)
	k.types[name] = decoded[*disruption.Catalog]{revision, parsed}
	return parsed
}

func (k *market) pool(ctx context.Context, p *api.NodePool, c *api.InstanceCatalog, catalog uint64) (*disruption.Pool, error) {
	key := poolKey{pool: p.Name}
	if c != nil {
		key.catalog = c.Name
	}
	want := parsedPool{pool: k.specs[p.Name].revision, catalog: catalog, class: k.classOf(p)}
	if held, ok := k.parsed[key]; ok && held.pool == want.pool && held.catalog == want.catalog && held.class == want.class {
		return held.parsed, nil
	}
	hash, err := k.classHash(ctx, want.class)
	if err != nil {
		return nil, fmt.Errorf("node class of NodePool %s: %w", p.Name, err)
	}
	want.parsed = disruption.NewPool(p, k.typesOf(c, catalog), disruption.PoolOptions{ClassHash: hash, Zones: time.LoadLocation})
	k.parsed[key] = want
	return want.parsed, nil
}

// classOf is the digest of the node class that a pool names, "" when there is none on the hub.
func (k *market) classOf(p *api.NodePool) string {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return ""
	}
	if digest, known := k.classes[p.Name]; known {
		return digest
	}
	digest := ""
	for _, e := range k.records.objects.All() {
		if ref.Names(e.Value.Object) {
			digest = e.Value.Digest
			break
		}
	}
	k.classes[p.Name] = digest
	return digest
}

func (k *market) classHash(ctx context.Context, digest string) (string, error) {
	if digest == "" {
		return "", nil
	}
	if hash, ok := k.hashes[digest]; ok {
		return hash, nil
	}
	body, err := k.content.Get(ctx, digest)
	if err != nil {
		return "", err
	}
	hash, err := disruption.ClassHash(body)
	if err == nil {
		k.hashes[digest] = hash
	}
	return hash, err
}

// noteObject takes in that an object of users changed, by its name "group|kind|namespace|name"; it says
// whether some pool names it as its node class.
func (k *market) noteObject(name string) bool {
	parts := strings.Split(name, "|")
	if len(parts) != 4 {
		return false
	}
	object := api.ObjectRef{APIVersion: parts[0] + "/v1", Kind: parts[1], Namespace: parts[2], Name: parts[3]}
	if !k.names(object) {
		return false
	}
	k.changed()
	return true
}

func (k *market) names(object api.ObjectRef) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, held := range k.specs {
		if held.object.Spec.Template.Spec.NodeClassRef.Names(object) {
			return true
		}
	}
	return false
}
