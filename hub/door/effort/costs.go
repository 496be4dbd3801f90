package effort

import (
	"fmt"

	"flotilla/core/api"
)

// Cost is what selecting costs: how many objects selectors look at, each once for each of their requirements, and how many they take.
type Cost struct{ Looked, Taken int }

// Plus is both together.
func (c Cost) Plus(other Cost) Cost { return Cost{c.Looked + other.Looked, c.Taken + other.Taken} }

// Add counts what placements that a request writes cost more, and errs where that is too much in all: of a plan where it is for plans.
func (c *Cost) Add(plan *Bound, more Cost) error {
	if plan != nil {
		return plan.Selected(more.Looked, more.Taken)
	}
	*c = c.Plus(more)
	return Written(*c)
}

// mostWritten is what the placements that one request writes may cost: others who write wait for it. A processor looks
// fifteen million times a second, and cuts snapshots of thirty thousand.
var mostWritten = Cost{5_000_000, 30_000}

// Written errs where the placements of one request cost too much.
func Written(all Cost) error {
	what := ""
	switch {
	case all.Taken > mostWritten.Taken:
		what = fmt.Sprintf("select more than %d objects", mostWritten.Taken)
	case all.Looked > mostWritten.Looked:
		what = fmt.Sprintf("look at objects more than %d times", mostWritten.Looked)
	default:
		return nil
	}
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla apply --help",
		Message: "the placements of the request " + what + " in all, and nobody else could write meanwhile: apply fewer at a time",
	}
}
