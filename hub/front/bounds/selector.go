package bounds

import (
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/fields"

	"flotilla/core/strict"
)

// mostRequired is how many requirements a selector has at most: a watch keeps them as long as it is open, several times.
const mostRequired = 256

// Selectors refuses the query of a request whose selectors are longer than those of the hub's own requests, or have more
// requirements. It leaves what cannot be read to whoever reads it.
func Selectors(query url.Values) error {
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		text := query.Get(name)
		if len(text) > strict.MostSelector {
			return fmt.Errorf("%s: found %d bytes, expected at most %d", name, len(text), strict.MostSelector)
		}
		if n := required(name, text); n > mostRequired {
			return fmt.Errorf("%s: found %d requirements, expected at most %d", name, n, mostRequired)
		}
	}
	return nil
}

func required(name, text string) int {
	if name == "fieldSelector" {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			return 0
		}
		return len(selector.Requirements())
	}
	selector, err := strict.Selector(text)
	if err != nil {
		return 0
	}
	requirements, _ := selector.Requirements()
	return len(requirements)
}
