package rollout

import (
	"fmt"
	"strings"
	"time"
)

// String renders the plan for logs and golden files, one line a kind of step; "nothing" when there
// is none.
func (p Plan) String() string {
	var b strings.Builder
	line := func(verb string, members []string) {
		if len(members) > 0 {
			fmt.Fprintf(&b, "%s %s\n", verb, strings.Join(members, " "))
		}
	}
	line("advance", p.Advance)
	line("back", p.Back)
	line("withdraw", p.Withdraw)
	line("confirmed", p.Confirmed)
	line("dropped", p.Dropped)
	for _, h := range p.Hold {
		fmt.Fprintf(&b, "hold %s: %s\n", h.Member, h.Reason)
	}
	if !p.Recheck.IsZero() {
		fmt.Fprintf(&b, "recheck %s\n", p.Recheck.UTC().Format(time.RFC3339Nano))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
