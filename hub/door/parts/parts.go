// Package parts keeps how far a deletion has come that is made in parts, each in a turn of its own: one of namespaces in which much lies. Package
// draft makes the parts.
package parts

import (
	"errors"
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/phrase"
	"flotilla/hub/door/records"
)

// Most is how many records one part changes: others who write wait for it.
const Most = 4500

// ErrMore says that more lies in namespaces by now than one part may take.
var ErrMore = errors.New("more lies in the namespaces than one part takes")

// Parts are those of one deletion; nil is none. One goroutine uses them at a time.
type Parts struct {
	most int
	left records.Inside
	done int
	in   map[string]int // by namespace: how many objects are deleted
	gone []api.Spec     // content
}

// New are the parts of a deletion of what was found in namespaces, of at most so many records each.
func New(most int, found records.Inside) *Parts {
	return &Parts{most: most, left: found, in: map[string]int{}}
}

// More says that more is left than the last part may take.
func (p *Parts) More() bool { return p != nil && len(p.left.Placements)+len(p.left.Objects) > p.most }

// Left is what was found in the namespaces and not yet deleted.
func (p *Parts) Left() records.Inside { return p.left }

// Fits errs where the last part would take much more than a part may: a request of others may have come in between, and no more.
func (p *Parts) Fits(found *records.Inside) error {
	if p != nil && len(found.Placements)+len(found.Objects) > 2*p.most {
		return ErrMore
	}
	return nil
}

// In is how many objects in a namespace earlier parts deleted.
func (p *Parts) In(namespace string) int {
	if p == nil {
		return 0
	}
	return p.in[namespace]
}

// Begun says that something was deleted.
func (p *Parts) Begun() bool { return p != nil && p.done > 0 }

// Before is an index of content in which what earlier parts deleted is about to go, and true where some of it was made again since.
func (p *Parts) Before(now *content.Index) (before *content.Index, again bool) {
	for i := range p.gone {
		if made, found := now.Get(p.gone[i].Object); found && made.Deleted == nil {
			again = true
			continue
		}
		now.Set(p.gone[i])
	}
	before = now.Clone()
	for i := range p.gone {
		before.RemoveKey(content.Key(p.gone[i].Object))
	}
	return before, again
}

// Tell says of a refusal in the middle that something was deleted before.
func (p *Parts) Tell(err error) error {
	failure, refused := errors.AsType[*api.Failure](err)
	if !refused || !p.Begun() {
		return err
	}
	told := *failure
	told.Message = fmt.Sprintf("%s deleted before this: %s", phrase.Count(p.done, "object"), strings.ReplaceAll(failure.Message, "nothing was d", "nothing else was d"))
	return &told
}

// Step is the next part, while it is drafted.
type Step struct {
	most, placements, objects int
	in                        map[string]int
	gone                      []api.Spec
	// Ops and Events are how many there are of the part, once it has ended.
	Ops, Events  int
	begun, ended bool
}

// Step begins the next part.
func (p *Parts) Step() *Step { return &Step{most: p.most, in: map[string]int{}} }

// Begin begins what lies in the namespaces: what goes before it is in the first part, however much it is.
func (s *Step) Begin() {
	if s != nil {
		s.begun = true
	}
}

// Full says that the part takes no more after so many operations.
func (s *Step) Full(ops int) bool { return s != nil && (s.ended || s.begun && ops >= s.most) }

// Placement notes a placement that the part takes, unless it is not there any more.
func (s *Step) Placement(stored *api.Spec, found bool) {
	if s == nil {
		return
	}
	if s.placements++; found {
		s.in[stored.Object.Namespace]++
	}
}

// Object is Placement for content.
func (s *Step) Object(stored *api.Spec, found bool) {
	if s == nil {
		return
	}
	if s.objects++; found {
		s.in[stored.Object.Namespace]++
		s.gone = append(s.gone, *stored)
	}
}

// End ends the part.
func (s *Step) End(ops, events int) {
	if s != nil {
		s.Ops, s.Events, s.ended = ops, events, true
	}
}

// Done notes that a part is stored.
func (p *Parts) Done(s *Step) {
	p.done += s.Ops
	for namespace, n := range s.in {
		p.in[namespace] += n
	}
	p.left.Placements, p.left.Objects = p.left.Placements[s.placements:], p.left.Objects[s.objects:]
	p.gone = append(p.gone, s.gone...)
}
