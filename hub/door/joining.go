package door

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// expected refuses to admit a member that is another than somebody saw, and says what is another since. What the same
// request did already is no other.
func (d *Door) expected(request *api.AdmitRequest) error {
	want := request.Expect
	stored, _, found := d.records.Members.Get(request.Name)
	if want == nil || found && stored.Request == request.Request {
		return nil
	}
	var changed []string
	if want.New && found {
		changed = append(changed, "it is part of the fleet since "+stored.Created.UTC().Format(time.RFC3339))
	}
	if key := d.view.AgentKey(request.Name); key != want.Key {
		changed = append(changed, fmt.Sprintf("its agent holds %s, expected %s", keyOf(key), keyOf(want.Key)))
	}
	if len(changed) == 0 {
		return nil
	}
	return &api.Failure{
		Code: api.CodePrecondition, Next: "flotilla describe member " + request.Name,
		Message: fmt.Sprintf("nothing was done: %s is not as you saw it: %s", request.Name, phrase.Enumerate(changed)),
	}
}

func keyOf(key string) string {
	if key == "" {
		return "no key"
	}
	return "key " + key
}
