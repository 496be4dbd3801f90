package capacity

import (
	"encoding/json"
	"fmt"
	"math"
)

// Count is a number of nodes that may be down: Unbounded for no limit, which is null in JSON.
type Count int

// Unbounded is the limit of a pool whose budgets say nothing now.
const Unbounded Count = math.MaxInt32

// String is the number, or "no limit".
func (n Count) String() string {
	if n >= Unbounded {
		return "no limit"
	}
	return fmt.Sprint(int(n))
}

// MarshalJSON writes the number, null for no limit.
func (n Count) MarshalJSON() ([]byte, error) {
	if n >= Unbounded {
		return []byte("null"), nil
	}
	return json.Marshal(int(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Count) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*n = Unbounded
		return nil
	}
	return json.Unmarshal(raw, (*int)(n))
}

// Allowed is what is left of a limit when some nodes are down already: never below 0, and no limit of no
// limit.
func Allowed(limit Count, disrupting int) Count {
	if limit >= Unbounded {
		return Unbounded
	}
	return max(0, limit-Count(disrupting))
}
