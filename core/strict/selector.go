package strict

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// MostSelector is how long a label selector of a request may be, in bytes. One of megabytes, which packs to kilobytes, takes
// seconds to read, and hundreds of megabytes, whether anybody waits or not.
const MostSelector = 8192

// Selector reads a label selector that somebody asks with.
func Selector(text string) (labels.Selector, error) {
	if len(text) > MostSelector {
		return nil, fmt.Errorf("it has %d bytes, of at most %d", len(text), MostSelector)
	}
	return labels.Parse(text)
}
