// Package effort bounds what is worked out for people who only want to know: it is nobody's change, and costs the hub what a
// change does.
package effort

import (
	"errors"
	"fmt"

	"flotilla/core/api"
)

// Of what the placements of a plan select: how many objects their selectors look at, each once for each of their requirements, and how many
// they take, in all.
const (
	mostLooked = 20_000_000
	mostTaken  = 200_000
)

// ErrEnded says that nobody waits for a plan any more.
var ErrEnded = errors.New("nobody waits for this plan any more")

// Bound is what a plan may take, nil for what is no plan. One goroutine uses it at a time.
type Bound struct {
	ended         func() bool
	looked, taken int
}

// Until is a bound for a plan; ended tells that nobody waits for it any more.
func Until(ended func() bool) *Bound { return &Bound{ended: ended} }

// GoOn errs where nobody waits for a plan any more.
func (b *Bound) GoOn() error {
	if b != nil && b.ended() {
		return ErrEnded
	}
	return nil
}

// Selected counts what the selectors of one placement looked at and took; it errs where those of a plan take too much.
func (b *Bound) Selected(looked, taken int) error {
	if b == nil {
		return nil
	}
	b.looked, b.taken = b.looked+looked, b.taken+taken
	what := ""
	switch {
	case b.taken > mostTaken:
		what = fmt.Sprintf("select more than %d objects", mostTaken)
	case b.looked > mostLooked:
		what = fmt.Sprintf("look at objects more than %d times", mostLooked)
	default:
		return nil
	}
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla plan --help",
		Message: "the placements of the plan " + what + " in all: plan fewer at a time",
	}
}
