package disruptor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/window"
)

// supposed are NodePools, InstanceCatalogs and node classes that a question puts in place of the hub's own
// of the same names. None of them is stored.
type supposed struct {
	pools    map[string]*api.NodePool
	catalogs map[string]*api.InstanceCatalog
	classes  map[api.ObjectRef]string // hashes
	// notes name them, and say what is remarkable about them.
	notes []string
}

// suppose reads the documents of a question, nil for none; all faults come back at once.
func suppose(documents []json.RawMessage) (*supposed, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	s := &supposed{pools: map[string]*api.NodePool{}, catalogs: map[string]*api.InstanceCatalog{}, classes: map[api.ObjectRef]string{}}
	var faults strict.Faults
	var names, notes []string
	faulty := 0
	seen := map[api.ObjectRef]bool{}
	for i, body := range documents {
		read, wrong := validate.Decode(body)
		wrong = append(wrong, validate.NodePoolZones(validate.As[api.NodePool](&read), window.Zones(time.LoadLocation).Known)...)
		object := read.Object
		object.APIVersion = ""
		if len(wrong) == 0 {
			wrong = s.take(&read, seen[object])
		}
		if len(wrong) > 0 {
			faulty++
		}
		for _, fault := range wrong {
			if fault.Object == "" {
				fault.Object = fmt.Sprintf("document %d", i+1)
			}
			faults = append(faults, fault)
		}
		seen[object] = true
		names = append(names, read.Object.String())
		for _, text := range read.Notes {
			notes = append(notes, read.Object.String()+": "+text)
		}
	}
	if len(faults) > 0 {
		return nil, &api.Failure{
			Code: api.CodeInvalid, Faults: faults,
			Message: fmt.Sprintf("nothing was planned: %d of %d documents with faults", faulty, len(documents)),
		}
	}
	slices.Sort(names)
	s.notes = append([]string{"planned as if " + strings.Join(names, ", ") + " of the files were applied; nothing is stored"}, notes...)
	return s, nil
}

// take adds a document that has no fault of its own.
func (s *supposed) take(read *validate.Decoded, twice bool) strict.Faults {
	fault := func(path, found, expected string) strict.Faults {
		return strict.Faults{{Object: read.Object.String(), Path: path, Found: found, Expected: expected}}
	}
	pool, instances := validate.As[api.NodePool](read), validate.As[api.InstanceCatalog](read)
	switch {
	case twice:
		return fault("metadata.name", fmt.Sprintf("%q for the second time", read.Object.Name), "each object once")
	case pool != nil:
		s.pools[pool.Name] = pool
	case instances != nil:
		s.catalogs[instances.Name] = instances
	case strings.HasSuffix(read.Object.Kind, "NodeClass"):
		hash, err := capacity.ClassHash(read.Body)
		if err != nil {
			return fault("spec", err.Error(), "the spec of a node class")
		}
		s.classes[read.Object] = hash
	default:
		return fault("kind", read.Object.Kind, "NodePool, InstanceCatalog or a node class: the rest says nothing about nodes")
	}
	return nil
}

// suppose puts what is supposed in place of what a member finds. Its waiting commands were chosen with the
// hub's own pools, so that they are left out, which the notes say.
func (d *Disruptor) suppose(ctx context.Context, m *memberState, s *situation, as *supposed) (notes []string, err error) {
	labels, _, _, err := d.records.labels(m.name)
	if err != nil {
		return nil, err
	}
	pools, err := d.provisioning.supposing(ctx, labels, as)
	if err != nil {
		return nil, err
	}
	if s.in.Hold == s.pools.fault {
		s.in.Hold = pools.fault
	}
	s.pools = pools
	s.in.State.Pools = slices.Concat(pools.parsed, d.endingOn(m, &pools))
	for i := range s.in.Waiting {
		c := &s.in.Waiting[i].Command
		notes = append(notes, fmt.Sprintf("member %s: left out, chosen with the hub's own pools and about to begin: %s of %s", m.name, c.Reason, phrase.Names(c.Nodes, shownNodes)))
	}
	s.in.Waiting = nil
	return notes, nil
}

// supposing is of with some of the provisioning supposed to be something else. Others wait while what is stored is read,
// and for nothing of what is worked out with what is supposed.
func (k *provisioning) supposing(ctx context.Context, labels map[string]string, as *supposed) (memberPools, error) {
	stored, broken, lists, unread := k.stored()
	specs := replaced(stored, as.pools, (*api.NodePool).GetName)
	for _, p := range stored {
		if now := as.pools[p.Name]; now != nil && p.DeletionTimestamp != nil {
			now.DeletionTimestamp = p.DeletionTimestamp // applying it does not bring it back
		}
	}
	catalog := disruption.CatalogFor(labels, replaced(lists, as.catalogs, (*api.InstanceCatalog).GetName))
	first := ""
	if catalog != nil {
		first = catalog.Name
	}
	out := memberPools{specs: disruption.PoolsFor(labels, specs)}
	out.shared = capacity.SharedWith(out.specs, specs)
	maps.DeleteFunc(broken, func(name string, _ error) bool { return as.pools[name] != nil })
	maps.DeleteFunc(unread, func(name string, _ error) bool { return as.catalogs[name] != nil })
	if out.fault = unreadable(api.KindNodePool, broken, ""); out.fault == "" {
		out.fault = unreadable(api.KindInstanceCatalog, unread, first)
	}
	types := capacity.NewCatalog(catalog)
	for _, p := range specs {
		if err := ctx.Err(); err != nil {
			return memberPools{}, err
		}
		options := capacity.PoolOptions{Zones: time.LoadLocation}
		var err error
		if options.ClassHash, err = k.supposedClass(ctx, p, as); err != nil && out.fault == "" {
			out.fault = fmt.Sprintf("reading the node class of NodePool %s: %s", p.Name, err)
		}
		switch pool := capacity.NewPool(p, types, options); {
		case slices.Contains(out.specs, p):
			out.parsed = append(out.parsed, pool)
		case p.DeletionTimestamp != nil:
			out.ending = append(out.ending, pool)
		}
	}
	return out, nil
}

// stored are all NodePools and InstanceCatalogs that can be read, and by name why others cannot.
func (k *provisioning) stored() (pools []*api.NodePool, broken map[string]error, catalogs []*api.InstanceCatalog, unread map[string]error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pools, broken = k.allPools()
	catalogs, unread = k.allCatalogs()
	return pools, broken, catalogs, unread
}

// supposedClass is the hash of the node class that a pool names.
func (k *provisioning) supposedClass(ctx context.Context, p *api.NodePool, as *supposed) (string, error) {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref == nil {
		return "", nil
	}
	for object, hash := range as.classes {
		if ref.Names(object) {
			return hash, nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.classHash(ctx, k.digestOf(ref))
}

// replaced are objects with others in place of those of the same names, and added to them.
func replaced[T any](stored []*T, by map[string]*T, name func(*T) string) []*T {
	out := slices.Collect(maps.Values(by))
	for _, one := range stored {
		if by[name(one)] == nil {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b *T) int { return strings.Compare(name(a), name(b)) })
	return out
}
