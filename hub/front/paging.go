package front

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/hub/front/extent"
	"flotilla/hub/front/forms"
	"flotilla/hub/front/selected"
	"flotilla/hub/front/shelf"
)

// paging is how a list of objects that are kept becomes a page.
type paging struct {
	o      *metainternalversion.ListOptions
	choose func(*unstructured.Unstructured) bool
	limit  int   // how many objects belong on a page; 0: all
	most   int64 // how many bytes
	form   *forms.Form
}

func (s *storage) paging(ctx context.Context, o *metainternalversion.ListOptions) *paging {
	if o == nil {
		o = &metainternalversion.ListOptions{}
	}
	p := &paging{o: o, choose: selected.By(o), limit: int(max(o.Limit, 0)), most: s.front.Bounds.List, form: forms.Of(ctx)}
	if p.limit > 0 {
		p.most = s.front.Bounds.Page
	}
	return p
}

// candidates are the objects behind a key that names and labels do not rule out.
func (p *paging) candidates(found []*shelf.Item, after string) (all []*shelf.Item) {
	may := selected.May(p.o)
	for _, one := range shelf.Behind(found, after) {
		if may(one.Name, one.Labels) {
			all = append(all, one)
		}
	}
	return all
}

// needs is how much memory a page takes at most, and its form: where texts are decoded, until there is no room for more. One finds room, however large.
func (p *paging) needs(candidates []*shelf.Item) (sum int64) {
	count, decoded, most := 0, int64(0), p.most
	var all, largest extent.Extent
	for _, one := range candidates {
		switch {
		case one.Object == nil:
			decoded += one.Weight()
			most = max(most, one.Weight())
		case p.choose(one.Object):
			sum += one.Weight()
			count++
		default:
			continue
		}
		if one.Object != nil || decoded <= most {
			all, largest = all.Plus(one.Extent), largest.Or(one.Extent)
		}
		if p.limit > 0 && count == p.limit {
			break
		}
	}
	return sum + min(decoded, most) + p.form.Takes(all, largest)
}

// page are the candidates that are chosen, as many as belong on one page, and how many candidates are left behind it. False where they are too
// large for a page, and all are to be on it.
func (p *paging) page(candidates []*shelf.Item) (page []*shelf.Item, left int64, fits bool) {
	size := int64(0)
	for i, one := range candidates {
		takes := max(one.Extent.Text, one.Decoded())
		if p.limit > 0 && len(page) > 0 && (len(page) == p.limit || size+takes > p.most) {
			return page, int64(len(candidates) - i), true
		}
		if one = one.Whole(); !p.choose(one.Object) {
			continue
		}
		if size += takes; p.limit == 0 && size > p.most {
			return nil, 0, false
		}
		page = append(page, one)
	}
	return page, 0, true
}
