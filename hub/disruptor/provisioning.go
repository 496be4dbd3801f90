package disruptor

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// provisioning is what nodes are made from: pools, catalogs and node classes, each revision parsed once for all
// members.
type provisioning struct {
	records *records
	content *streams.Content

	// refs are of the node classes that pools name, and stale says that node classes may not be what they were: whoever
	// notes changes waits for nobody who works with them.
	refs  atomic.Pointer[[]*api.NodeClassRef]
	stale atomic.Bool

	mu      sync.Mutex
	specs   map[string]decoded[*api.NodePool]
	lists   map[string]decoded[*api.InstanceCatalog]
	types   map[string]decoded[*capacity.Catalog]
	parsed  map[poolKey]parsedPool
	classes map[string]string // digests of node classes by pool, since the last change
	// selectors are those of pools and catalogs, since the last change.
	selectors disruption.Selectors
	hashes    map[string]string // of node classes, by digest
}

// decoded is an object as its spec of a revision holds it.
type decoded[T any] struct {
	revision uint64
	object   T
}

// poolKey names a pool as it is on the members that one catalog is for.
type poolKey struct{ pool, catalog string }

type parsedPool struct {
	pool, catalog uint64 // revisions
	class         string // digest
	parsed        *capacity.Pool
}

func newProvisioning(r *records, c *streams.Content) *provisioning {
	return &provisioning{
		records: r, content: c, specs: map[string]decoded[*api.NodePool]{}, lists: map[string]decoded[*api.InstanceCatalog]{},
		types: map[string]decoded[*capacity.Catalog]{}, parsed: map[poolKey]parsedPool{}, classes: map[string]string{}, hashes: map[string]string{},
	}
}

// changed notes that pools, catalogs or node classes may not be what they were.
func (k *provisioning) changed() { k.stale.Store(true) }

// renew forgets what a change may have made wrong; the lock is held.
func (k *provisioning) renew() {
	if k.stale.Swap(false) {
		clear(k.classes)
		k.selectors = disruption.Selectors{}
	}
}

// memberPools are the pools that one member has, and what comes with them.
type memberPools struct {
	specs  []*api.NodePool
	parsed []*capacity.Pool
	// ending are pools that are being deleted and select other members: nodes of theirs go here too.
	ending []*capacity.Pool
	// shared are the fleet-wide budgets of its pools, over all pools of the fleet.
	shared []capacity.SharedBudget
	// mark differs between those that differ.
	mark uint64
	// fault says what of the provisioning cannot be read, "" for nothing: nothing new may begin on the rest.
	fault string
}

// of returns the pools of a member with some labels.
func (k *provisioning) of(ctx context.Context, labels map[string]string) memberPools {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renew()
	specs, fault := k.pools()
	catalog, revision, unread := k.catalogFor(labels)
	out := memberPools{specs: k.selectors.PoolsFor(labels, specs), fault: cmp.Or(fault, unread)}
	mark := fnv.New64a()
	note := func(p *api.NodePool, class string) {
		_, _ = fmt.Fprintf(mark, "%s %d %s;", p.Name, k.specs[p.Name].revision, class)
	}
	if catalog != nil {
		_, _ = fmt.Fprintf(mark, "%s %d;", catalog.Name, revision)
	}
	out.shared = capacity.SharedWith(out.specs, specs)
	for _, p := range out.specs {
		pool, err := k.pool(ctx, p, catalog, revision)
		if err != nil {
			out.fault = cmp.Or(out.fault, err.Error())
		}
		out.parsed = append(out.parsed, pool)
		note(p, k.classOf(p))
	}
	for _, p := range specs {
		if p.DeletionTimestamp != nil && !slices.Contains(out.specs, p) {
			pool, _ := k.pool(ctx, p, catalog, revision) // its node class does not matter any more
			out.ending = append(out.ending, pool)
			note(p, "")
		}
	}
	out.mark = mark.Sum64()
	return out
}

// shared are the fleet-wide budgets; whole says that all pools could be read that may share them.
func (k *provisioning) shared() (budgets []capacity.SharedBudget, whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	specs, fault := k.pools()
	return capacity.SharedBudgets(specs), fault == ""
}

// pools are all NodePools that can be read, by name, and which one cannot: that one may be for any member,
// and share any budget.
func (k *provisioning) pools() ([]*api.NodePool, string) {
	all, faults := k.allPools()
	return all, unreadable(api.KindNodePool, faults, "")
}

// allPools are the NodePools that can be read, and by name why others cannot; the lock is held.
func (k *provisioning) allPools() ([]*api.NodePool, map[string]error) {
	all, faults := decodeAll(k.records.poolSpecs, &k.specs, api.SpecOf[api.NodePool])
	refs := make([]*api.NodeClassRef, 0, len(all))
	for _, p := range all {
		if ref := p.Spec.Template.Spec.NodeClassRef; ref != nil {
			refs = append(refs, ref)
		}
	}
	k.refs.Store(&refs)
	return all, faults
}

// allCatalogs are the InstanceCatalogs that can be read, and by name why others cannot; the lock is held.
func (k *provisioning) allCatalogs() ([]*api.InstanceCatalog, map[string]error) {
	return decodeAll(k.records.catalogs, &k.lists, api.SpecOf[api.InstanceCatalog])
}

// catalogFor is the catalog for a member, nil for none, and its revision; fault names one that may be
// for it instead and that cannot be read.
func (k *provisioning) catalogFor(labels map[string]string) (chosen *api.InstanceCatalog, revision uint64, fault string) {
	all, faults := k.allCatalogs()
	if chosen = k.selectors.CatalogFor(labels, all); chosen != nil {
		revision = k.lists[chosen.Name].revision
	}
	before := ""
	if chosen != nil {
		before = chosen.Name
	}
	return chosen, revision, unreadable(api.KindInstanceCatalog, faults, before)
}

// unreadable names the first object that cannot be read, of those whose names sort before another's if that
// is given, "" for none.
func unreadable(kind string, faults map[string]error, before string) string {
	names := slices.Sorted(maps.Keys(faults))
	if len(names) == 0 || before != "" && names[0] >= before {
		return ""
	}
	return fmt.Sprintf("%s %s cannot be read: %s", kind, names[0], faults[names[0]])
}

// decodeAll decodes the records of a table that held does not have, and returns all objects by name; faults
// are those that cannot be decoded, by name.
func decodeAll[T any](table *store.Table[api.Spec], held *map[string]decoded[T], decode func(*api.Spec) (T, error)) (all []T, faults map[string]error) {
	entries, err := table.FindAll()
	faults = map[string]error{}
	if err != nil {
		entries = table.All()
		if faults = table.Broken(); len(faults) == 0 {
			faults = map[string]error{"": err}
		}
	}
	now := make(map[string]decoded[T], len(entries))
	for _, e := range entries {
		one, ok := (*held)[e.Name]
		if !ok || one.revision != e.Revision {
			if one.object, err = decode(&e.Value); err != nil {
				faults[e.Name] = err
				continue
			}
			one.revision = e.Revision
		}
		now[e.Name] = one
		all = append(all, one.object)
	}
	*held = now
	return all, faults
}

// typesOf parses a catalog, nil has no types.
func (k *provisioning) typesOf(c *api.InstanceCatalog, revision uint64) *capacity.Catalog {
	name := ""
	if c != nil {
		name = c.Name
	}
	if held, ok := k.types[name]; ok && held.revision == revision {
		return held.object
	}
	parsed := capacity.NewCatalog(c)
	k.types[name] = decoded[*capacity.Catalog]{revision, parsed}
	return parsed
}

// pool parses a pool for those that a catalog is for. When its node class cannot be read, it errs and the
// pool lacks that.
func (k *provisioning) pool(ctx context.Context, p *api.NodePool, c *api.InstanceCatalog, catalog uint64) (*capacity.Pool, error) {
	key := poolKey{pool: p.Name}
	if c != nil {
		key.catalog = c.Name
	}
	want := parsedPool{pool: k.specs[p.Name].revision, catalog: catalog, class: k.classOf(p)}
	if held, ok := k.parsed[key]; ok && held.pool == want.pool && held.catalog == want.catalog && held.class == want.class {
		return held.parsed, nil
	}
	hash, err := k.classHash(ctx, want.class)
	want.parsed = capacity.NewPool(p, k.typesOf(c, catalog), capacity.PoolOptions{ClassHash: hash, Zones: time.LoadLocation})
	if err != nil {
		return want.parsed, fmt.Errorf("reading the node class of NodePool %s: %w", p.Name, err)
	}
	k.parsed[key] = want
	return want.parsed, nil
}

// classOf is the digest of the node class that a pool names, "" when there is none on the hub.
func (k *provisioning) classOf(p *api.NodePool) string {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return ""
	}
	if digest, known := k.classes[p.Name]; known {
		return digest
	}
	digest := k.digestOf(ref)
	k.classes[p.Name] = digest
	return digest
}

// digestOf is the digest of a node class, "" when there is none on the hub.
func (k *provisioning) digestOf(ref *api.NodeClassRef) string {
	for _, e := range k.records.objects.All() {
		if ref.Names(e.Value.Object) {
			return e.Value.Digest
		}
	}
	return ""
}

func (k *provisioning) classHash(ctx context.Context, digest string) (string, error) {
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
	hash, err := capacity.ClassHash(body)
	if err == nil {
		k.hashes[digest] = hash
	}
	return hash, err
}

// noteObject takes in that an object of users changed, by its name "group|kind|namespace|name"; it says
// whether some pool names it as its node class.
func (k *provisioning) noteObject(name string) bool {
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

func (k *provisioning) names(object api.ObjectRef) bool {
	refs := k.refs.Load()
	return refs != nil && slices.ContainsFunc(*refs, func(ref *api.NodeClassRef) bool { return ref.Names(object) })
}
