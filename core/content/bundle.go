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
	// Earlier are works that readers may have, of which the best is built upon.
	Earlier []Earlier
}

const (
	// roomOfManifest is what a manifest takes in a work at most, beside its names, and what sealing adds to its body.
	roomOfManifest = 512
	// worthwhile is from how many bytes on a bundle is built upon an earlier one: below, a member that has none would ask
	// twice for what fits well into one message.
	worthwhile = 4 << 10
)

// Bundles are those that hold manifests, the work last. The work carries all bodies, unless an earlier one has most of
// them, or they do not fit into one message: then those before it carry what does not. Equal manifests give equal bundles
// where there is nothing earlier.
func (p *Plan) Bundles(manifests []api.Manifest) ([]Bundle, error) {
	if base := p.base(manifests); base != nil {
		return p.Upon([]Earlier{*base}, manifests)
	}
	return p.Upon(nil, manifests)
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
	for len(rest) > 0 && head+p.bodies(rest) > p.Limit {
		part := rest[:p.fitting(rest)]
		bundle, err := p.bundle(part, nil)
		if err != nil {
			return nil, err
		}
		out, packs = append(out, bundle), append(packs, Earlier{Work: bundle.Digest, Manifests: part})
		rest = rest[len(part):]
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

// base is the earlier work that saves most, nil when none saves half of what is to be stored, or of a message.
func (p *Plan) base(manifests []api.Manifest) *Earlier {
	var best *Earlier
	all, most := p.bodies(manifests), 0
	for i := range p.Earlier {
		rest := p.bodies(lacking(manifests, &p.Earlier[i]))
		if saved := all - rest; saved >= worthwhile && saved >= min(rest, p.Limit/2) && saved > most {
			best, most = &p.Earlier[i], saved
		}
	}
	return best
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
	return Bundle{Digest: digest, Work: Keyed(work, p.Keys)}, err
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
