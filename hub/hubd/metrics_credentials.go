package hubd

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

var (
	credentialsMetric = prometheus.NewDesc("flotilla_member_credentials", "Members of the fleet by how the credentials of their agents stand.", []string{"state"}, nil)
	endMetric         = prometheus.NewDesc("flotilla_member_credentials_first_end_timestamp_seconds",
		"When the first credentials of agents of members of the fleet end, unless they are renewed; absent without any.", nil, nil)
)

// collectCredentials tells of those of agents of members of the fleet that have a record.
func (c fleetCollector) collectCredentials(s *store.Store, gauge func(*prometheus.Desc, float64, ...string)) {
	states, first := map[string]int{}, time.Time{}
	for _, entry := range store.Reads[api.Identity](s.State.As(subjects.Hubd), subjects.Identities).All() {
		record := &entry.Value
		if !record.Admitted {
			continue
		}
		states[enrolment.Credentials(record, s.Now()).State]++
		if ends := record.Ends.Time; !ends.IsZero() && (first.IsZero() || ends.Before(first)) {
			first = ends
		}
	}
	for _, state := range []string{
		api.CredentialsValid, api.CredentialsOverdue, api.CredentialsEnded, api.CredentialsRevoked, api.CredentialsNotEnrolled,
	} {
		gauge(credentialsMetric, float64(states[state]), state)
	}
	if !first.IsZero() {
		gauge(endMetric, float64(first.Unix()))
	}
}
