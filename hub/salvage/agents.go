package salvage

import (
	"encoding/json"
	"strings"

	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

// agents lets no restore give any agent back what was taken from it since the backup: of a member whose agent state
// knows the record stays as it is. Of others, keys that servers refuse are revoked, and tokens of then are good for
// nothing: who used them is not known.
func (s *Salvage) agents(records map[string][]byte) {
	prefix := subjects.Identities.Prefix()
	for key, value := range records {
		var identity api.Identity
		if !strings.HasPrefix(key, prefix) || json.Unmarshal(value, &identity) != nil {
			continue
		}
		refused := s.options.Revoked != nil && identity.Key != "" && s.options.Revoked(subjects.AccountAgents, identity.Key)
		if text, err := json.Marshal(enrolment.Recall(identity, refused, s.store.Now())); err == nil { // always
			records[key] = text
		}
	}
	s.stay(prefix, records)
}
