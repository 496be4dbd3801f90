package content

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/seal"
)

// Earlier is a work that is stored, with the manifests whose bodies its bundle carries, in their order; empty ones stand for
// bodies of which nothing is known.
type Earlier struct {
	Work      string
	Manifests []api.Manifest
}

// Bundle is a work as it is stored: in one message with the bodies that it carries.
type Bundle struct {
	// Digest is of names and digests alone: a rotation of secrets does not change it.
	Digest string
	Work   api.Work
}

// Plan is what bundles are cut by.
type Plan struct {
	Keys *seal.Keyring
	// Limit is how many bytes a message takes.
	Limit int
	// Size is how long a body is at most.
	Size func(api.Manifest) int
	// Earlier are bundles that readers may have: of each snapshot of before those that carry what it held, none of which names
	// others. Those of the snapshot that saves most are built upon.
	Earlier [][]Earlier
	// Apart is from how many bytes on what a work carries, which names other bundles, lies in bundles of its own: what is cut
	// next is built upon them, and works that carry the same share them. 0 is never.
	Apart int
	// Shared says of a body that other works carry it too: such bodies lie in bundles of their own from Apart bytes on.
	Shared func(digest string) bool
	// Spare is how many bytes may be carried anew so that works name fewer bundles. What is carried so is taken off.
	Spare int
	// Unkeyed leaves out of works what their readers open them with: it is half the effort, and Keyed adds it.
	Unkeyed bool
}

const (
	// roomOfManifest is what a manifest takes in a work at most, beside its names, and what sealing adds to its body.
	roomOfManifest = 512
	// worthwhile is from how many bytes on a bundle is built upon an earlier one: below, a member that has none would ask
	// twice for what fits well into one message.
	worthwhile = 4 << 10
	// mostUpon is how many bundles a work is built upon at most, beside those that its bodies need in any case; beyond it those
	// that save least are left out, down to fewUpon, as far as there is Spare.
	mostUpon = 8
	fewUpon  = 4
)

// Bundles are those that hold manifests, the work last. The work carries all bodies, unless an earlier one has most of
// them, or they do not fit into one message: then those before it carry what does not. Equal manifests give equal bundles
// where there is nothing earlier.
func (p *Plan) Bundles(manifests []api.Manifest) ([]Bundle, error) {
	return p.Upon(p.base(manifests), manifests)
}

// Upon are the bundles that hold manifests and carry what those of earlier works do not, the work last.
func (p *Plan) Upon(earlier []Earlier, manifests []api.Manifest) ([]Bundle, error) {
	var out []Bundle
	packs, rest := slices.Clone(earlier), manifests
	for i := range earlier {
		rest = lacking(rest, &earlier[i])
	}
	head := 0
	for i := range manifests {
		head += room(&manifests[i])
	}
	shared, rest := p.shared(rest)
	for len(shared) > 0 || p.heavy(head, rest, packs) {
		from := &shared
		if len(shared) == 0 {
			from = &rest
		}
		part := (*from)[:p.fitting(*from)]
		bundle, err := p.bundle(part, nil)
		if err != nil {
			return nil, err
		}
		out, packs = append(out, bundle), append(packs, Earlier{Work: bundle.Digest, Manifests: part})
		*from = (*from)[len(part):]
	}
	work, err := p.bundle(manifests, packs)
	return append(out, work), err
}

// Carriers are a work that is stored and those that it names, with what the bundle of each carries of its manifests: what is
// built upon all of them carries nothing of it again.
func Carriers(digest string, work *api.Work) []Earlier {
	out := []Earlier{{Work: digest}}
	for i := range work.Packs {
		out = append(out, Earlier{Work: work.Packs[i].Digest})
	}
	for i := range work.Manifests {
		m := &work.Manifests[i]
		if m.Pack < 0 || m.Pack >= len(out) || m.Frame < 0 {
			continue // it lies on its own too
		}
		held := &out[m.Pack].Manifests
		if lacks := m.Frame + 1 - len(*held); lacks > 0 {
			*held = append(*held, make([]api.Manifest, lacks)...)
		}
		(*held)[m.Frame] = m.Manifest
	}
	return out
}

// heavy says that a work is not to carry what is left: that does not fit, or lies apart.
func (p *Plan) heavy(head int, rest []api.Manifest, packs []Earlier) bool {
	if len(rest) == 0 {
		return false
	}
	bytes := p.bodies(rest)
	return head+bytes > p.Limit || p.Apart > 0 && len(packs) > 0 && bytes >= p.Apart
}

// shared splits manifests into those whose bodies lie apart because other works carry them too, and the others.
func (p *Plan) shared(manifests []api.Manifest) (shared, others []api.Manifest) {
	if p.Shared == nil {
		return nil, manifests
	}
	for i := range manifests {
		if p.Shared(manifests[i].Digest) {
			shared = append(shared, manifests[i])
		} else {
			others = append(others, manifests[i])
		}
	}
	if p.bodies(shared) < p.Apart {
		return nil, manifests
	}
	return shared, others
}

func (p *Plan) bodies(manifests []api.Manifest) (bytes int) {
	for i := range manifests {
		bytes += p.Size(manifests[i])
	}
	return bytes
}

// fitting is how many of the first manifests go into one bundle, at least one.
func (p *Plan) fitting(manifests []api.Manifest) int {
	bytes := 0
	for i := range manifests {
		bytes += room(&manifests[i]) + p.Size(manifests[i])
		if bytes > p.Limit {
			return max(i, 1)
		}
	}
	return len(manifests)
}

func room(m *api.Manifest) int {
	return roomOfManifest + len(m.APIVersion) + len(m.Namespace) + len(m.Name)
}

// lacking are the manifests whose bodies an earlier work does not have.
func lacking(manifests []api.Manifest, earlier *Earlier) []api.Manifest {
	has := make(map[string]bool, len(earlier.Manifests))
	for i := range earlier.Manifests {
		has[earlier.Manifests[i].Digest] = true
	}
	return slices.DeleteFunc(slices.Clone(manifests), func(m api.Manifest) bool { return has[m.Digest] })
}

// bundle is the work of manifests, of which it carries those that are in none of packs.
func (p *Plan) bundle(manifests []api.Manifest, packs []Earlier) (Bundle, error) {
	work := api.Work{Header: api.NewHeader(api.KindWork), Manifests: make([]api.WorkManifest, len(manifests))}
	places := map[string]api.Carried{}
	for i := range packs {
		work.Packs = append(work.Packs, api.Pack{Digest: packs[i].Work})
		for frame, m := range packs[i].Manifests {
			if _, known := places[m.Digest]; !known {
				places[m.Digest] = api.Carried{Pack: i + 1, Frame: frame}
			}
		}
	}
	own := 0
	for i, m := range manifests {
		work.Manifests[i].Manifest = m
		place, elsewhere := places[m.Digest]
		if !elsewhere {
			place = api.Carried{Frame: own}
			own++
		}
		work.Manifests[i].Carried = place
	}
	digest, err := workDigest(&work, p.Keys)
	if !p.Unkeyed {
		work = Keyed(work, p.Keys)
	}
	return Bundle{Digest: digest, Work: work}, err
}

// Keyed is a work with what its readers open it with now.
func Keyed(work api.Work, keys *seal.Keyring) api.Work {
	work.Manifests, work.Packs = slices.Clone(work.Manifests), slices.Clone(work.Packs)
	for i := range work.Manifests {
		work.Manifests[i].Piece = keys.Piece(work.Manifests[i].Digest)
	}
	for i := range work.Packs {
		work.Packs[i].At = keys.Piece(work.Packs[i].Digest).At
	}
	return work
}

// workDigest is of what a work names: where the bodies lie follows from that.
func workDigest(work *api.Work, keys *seal.Keyring) (string, error) {
	named := struct {
		Manifests []api.Manifest
		Packs     []string
	}{Manifests: make([]api.Manifest, len(work.Manifests))}
	for i := range work.Manifests {
		named.Manifests[i] = work.Manifests[i].Manifest
	}
	for i := range work.Packs {
		named.Packs = append(named.Packs, work.Packs[i].Digest)
	}
	text, err := Canonical(named)
	if err != nil {
		return "", fmt.Errorf("encoding work: %w", err)
	}
	return keys.Digest(text), nil
}
