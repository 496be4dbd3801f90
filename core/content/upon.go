package content

import (
	"cmp"
	"slices"

	"flotilla/core/api"
)

// layer is a bundle that may be built upon, and how many bytes and bodies it saves.
type layer struct {
	Earlier
	saves, bodies int
}

// sparse says that most of what it carries nobody needs any more.
func (l *layer) sparse() bool { return 4*l.bodies < len(l.Manifests) }

// base are the earlier bundles to build upon: of the snapshot that saves most, none where none saves half of what is to be
// stored, or of a message.
func (p *Plan) base(manifests []api.Manifest) []Earlier {
	sizes, all := make(map[string]int, len(manifests)), 0
	for i := range manifests {
		if m := &manifests[i]; p.Shared == nil || !p.Shared(m.Digest) {
			size := p.Size(*m)
			sizes[m.Digest] += size
			all += size
		}
	}
	var best []layer
	most := 0
	for _, stack := range p.Earlier {
		layers, saved := layersOf(stack, sizes)
		if saved >= worthwhile && saved >= min(all-saved, p.Limit/2) && saved > most {
			best, most = layers, saved
		}
	}
	return p.worth(best, all)
}

// layersOf are bundles that save something, and what they save together; sizes are of the bodies that are needed.
func layersOf(stack []Earlier, sizes map[string]int) (layers []layer, saved int) {
	seen := make(map[string]bool, len(sizes))
	for i := range stack {
		one := layer{Earlier: stack[i]}
		for j := range stack[i].Manifests {
			digest := stack[i].Manifests[j].Digest
			if size, needed := sizes[digest]; needed && !seen[digest] {
				seen[digest] = true
				one.saves += size
				one.bodies++
			}
		}
		if one.saves > 0 {
			layers = append(layers, one)
			saved += one.saves
		}
	}
	return layers, saved
}

// worth are the layers that are kept: those that save little or are sparse are carried anew, and the smallest where there are too many,
// as far as there is Spare. So a change costs what changed, and now and then what the smallest of those before did.
func (p *Plan) worth(layers []layer, all int) []Earlier {
	needed := 0
	if p.Limit > 0 {
		needed = 2 * all / p.Limit
	}
	few := len(layers)
	if few > needed+mostUpon {
		few = needed + fewUpon
	}
	left := len(layers)
	order := slices.SortedStableFunc(slices.Values(layers), func(a, b layer) int { return cmp.Compare(a.saves, b.saves) })
	dropped := map[string]bool{}
	for i := range order {
		one := &order[i]
		if one.saves > p.Spare {
			break
		}
		if one.saves >= worthwhile && left <= few && !one.sparse() {
			continue
		}
		p.Spare -= one.saves
		dropped[one.Work] = true
		left--
	}
	var out []Earlier
	for i := range layers {
		if !dropped[layers[i].Work] {
			out = append(out, layers[i].Earlier)
		}
	}
	return out
}
